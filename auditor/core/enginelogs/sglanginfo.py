"""What SGLang says of itself when it starts, and what its accept rate means by release."""

import re
from collections.abc import Iterator
from fractions import Fraction

from auditor.core.enginelogs.printed import Span
from auditor.core.facts import Fact, FactName, known
from auditor.core.observed import public_path, resolved, told

DEFAULT_PASSES = 40
"""Decode passes from one line to the next, unless `--decode-log-interval` says otherwise."""
PASSES = "decode_log_interval"
STEPS = "tokens of a verify step over its steps plus one, the bonus token included"
DRAFT = "tokens of a verify step over the draft tokens, the bonus token included"
STRICT = "accepted over drafted"


def rate_definition(release: str | None) -> str | None:
    """What the accept rate of a release means; None without a release, or between two whose code was read."""
    parts = tuple(int(part) for part in re.findall(r"\d+", release or "")[:3])
    if len(parts) < 3 or parts < (0, 5, 0):
        return None
    if parts <= (0, 5, 3):
        return STEPS
    if (0, 5, 6) <= parts <= (0, 5, 9):
        return DRAFT
    return STRICT if parts >= (0, 5, 12) else None


def strict_acceptance(length: Span, draft_tokens: int) -> Span | None:
    """Accepted over nominally drafted: (accept length - 1) / (draft tokens - 1); None for a width of one."""
    if draft_tokens < 2:
        return None
    return Span(*(max(Fraction(0), end - 1) / (draft_tokens - 1) for end in (length.low, length.high)))


_ARGUMENTS = re.compile(r"server_args=(?:ServerArgs\()?")
_TEXTS: tuple[tuple[FactName, str], ...] = (
    ("model", "model_path"),
    ("quantisation", "quantization"),
    ("kv_cache_dtype", "kv_cache_dtype"),
    ("attention_backend", "attention_backend"),
    ("moe_backend", "moe_runner_backend"),
    ("speculation_method", "speculative_algorithm"),
)
_SIZES: tuple[tuple[FactName, str], ...] = (
    ("tensor_parallel", "tp_size"),
    ("pipeline_parallel", "pp_size"),
    ("data_parallel", "dp_size"),
    ("expert_parallel", "ep_size"),
    ("context_length", "context_length"),
    ("draft_tokens", "speculative_num_draft_tokens"),
)


def facts(text: str) -> Iterator[tuple[FactName, Fact]]:
    """From the server arguments; only named values, for they may hold a key."""
    if not _ARGUMENTS.search(text):
        return
    for name, key in _TEXTS:
        if match := _value(text, key, r"['\"]([^'\"]{0,300})['\"]"):
            value = public_path(match) if name == "model" else match
            yield name, resolved(value, f"server arguments, {key}", "SGLang chose and does not tell")
    for name, key in _SIZES:
        if match := _value(text, key, r"(\d{1,12})"):
            yield name, known(int(match), f"server arguments, {key}")
    if (algorithm := _value(text, "speculative_algorithm", r"(None|['\"]\w+['\"])")) is not None:
        yield "speculation", known(algorithm != "None", "server arguments, speculative_algorithm")
        thresholds = [_value(text, f"speculative_accept_threshold_{which}", r"([\d.]+)") for which in ("single", "acc")]
        if algorithm != "None" and all(thresholds):
            lossy = any(float(value or 1) < 1 for value in thresholds)
            source = "server arguments, speculative_accept_threshold"
            yield "acceptance_mode", told("lossy" if lossy else "standard", source, "")


def signs(text: str) -> Iterator[tuple[str, str, bool]]:
    """How often the decode line is printed, and how many steps a draft has."""
    if not _ARGUMENTS.search(text):
        return
    for key in (PASSES, "speculative_num_steps"):
        if number := _value(text, key, r"(\d{1,12})"):
            yield key, number, False


def _value(text: str, key: str, pattern: str) -> str | None:
    match = re.search(rf"\b{key}['\"]?(?:=|: ){pattern}", text)
    return match[1] if match else None
