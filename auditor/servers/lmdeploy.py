"""LMDeploy: what it says of itself. Its counters have vLLM's meaning, but for drafted tokens, which are nominal."""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, Details, absent, exact, nominal
from auditor.core.counting.counters import Counters, read_counters
from auditor.core.facts import Fact, FactName, known, unknown
from auditor.core.observed import dig, launch_facts, public_path, resolved, told, whole
from auditor.core.probing import Answers
from auditor.core.wire.prometheus import Sample, samples

_SERIES = "lmdeploy:"
_DRAFTS = "lmdeploy:spec_decode_num_drafts_total"
_POSITIONS = "lmdeploy:spec_decode_num_accepted_tokens_per_pos_total"
_CONFIG = "lmdeploy:backend_config_info"
_LABELS: dict[FactName, str] = {
    "tensor_parallel": "tp",
    "data_parallel": "dp",
    "expert_parallel": "ep",
    "context_length": "session_len",
    "streams_max": "max_batch_size",
    "quantisation": "model_format",
    "prefix_cache": "enable_prefix_caching",
}


def recognise(answers: Answers) -> str | None:
    """By the owner of its models or its metric names."""
    signs = []
    if any(card.get("owned_by") == "lmdeploy" for card in answers.model_cards()):
        signs.append("GET /v1/models owned_by lmdeploy")
    if _SERIES in (answers.text("/metrics") or ""):
        signs.append(f"GET /metrics {_SERIES}")
    return ", ".join(signs) or None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What the series tell; what the launch tells goes first."""
    rows = _rows(answers)
    config = next((row.labels for row in rows if row.name == _CONFIG), {})
    nothing = f"GET /metrics has no {_CONFIG} that tells it" if rows else answers.why_not("/metrics")
    card = next(iter(answers.model_cards()), {})
    found: dict[FactName, Fact] = {
        name: resolved(_typed(config.get(label)), f"GET /metrics {_CONFIG} {label}", nothing)
        for name, label in _LABELS.items()
    }
    found["model_path"] = told(public_path(card.get("root")), "GET /v1/models root", answers.why_not("/v1/models"))
    return found | _speculation(rows, nothing) | launch_facts(launched)


def _rows(answers: Answers) -> list[Sample]:
    try:
        return list(samples(answers.text("/metrics") or "", _SERIES))
    except ValueError:
        return []


def _typed(text: str | None) -> str | int | bool | None:
    if text in ("True", "False"):
        return text == "True"
    return int(text) if text is not None and text.isdecimal() else text


def _speculation(rows: list[Sample], nothing: str) -> dict[FactName, Fact]:
    """Steps that verified a draft show speculation; none of them yet shows nothing."""
    if not sum(row.value for row in rows if row.name == _DRAFTS):
        reason = f"no draft was counted so far in {_DRAFTS}" if rows else nothing
        return {name: unknown(reason) for name in ("speculation", "draft_tokens", "speculation_method")}
    positions = len({row.labels.get("position") for row in rows if row.name == _POSITIONS})
    return {
        "speculation": known(True, f"GET /metrics {_DRAFTS}"),
        "draft_tokens": told(positions or None, f"GET /metrics positions of {_POSITIONS}", "no positions listed"),
        "speculation_method": unknown("no series of LMDeploy names it"),
    }


def counters(text: str) -> Counters:
    """The counters; drafted tokens are steps times the configured width."""
    return read_counters(text, _COUNTERS, positions=_POSITIONS)


_COUNTERS = {
    "delivered": ("lmdeploy:generation_tokens_total",),
    "prompt_tokens": ("lmdeploy:prompt_tokens_total",),
    "cached_tokens": ("lmdeploy:cached_tokens_total",),
    "drafted": ("lmdeploy:spec_decode_num_draft_tokens_total",),
    "accepted": ("lmdeploy:spec_decode_num_accepted_tokens_total",),
    "verify_steps": (_DRAFTS,),
}


def details(event: Mapping[str, Any]) -> Details | None:
    """Ids of the tokens of this event, under a name of its own."""
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        ids = dig(choice, "output_ids") or dig(choice, "delta", "output_ids")
        numbers = [whole(one) for one in ids] if isinstance(ids, list) else []
        if numbers and None not in numbers:
            return Details(token_ids=tuple(number or 0 for number in numbers))
    return None


ADAPTER = Adapter(
    name="lmdeploy",
    title="LMDeploy",
    paths=(),
    recognise=recognise,
    facts=facts,
    request_fields={"return_token_ids": True},
    length_fields={"ignore_eos": True},
    metrics_paths=("/metrics",),
    counters=counters,
    details=details,
    counts_at_end=False,
    notes={
        "delivered": exact("final usage; lmdeploy:generation_tokens_total, live"),
        "token_ids": exact("output_ids of each event, with return_token_ids"),
        "steps": absent("steps without a draft are not counted"),
        "verify_steps": exact("lmdeploy:spec_decode_num_drafts_total"),
        "drafted": nominal("lmdeploy:spec_decode_num_draft_tokens_total is verify steps times num_speculative_tokens"),
        "accepted": exact("lmdeploy:spec_decode_num_accepted_tokens_total"),
        "rejected": nominal("drafted, which is nominal, less accepted"),
        "speculation": exact("that it speculates, and k, by the counters after the first draft; never the method"),
        "gpu": absent("no endpoint names it"),
        "acceptance_mode": absent("no endpoint tells it"),
    },
    switches="nothing: metrics are on unless --disable-metrics is given",
    source="lmdeploy/metrics/loggers.py, metrics/stats.py, pytorch/engine/engine_loop.py @1263d5cd (v0.16.0 + 5)",
)
"""LMDeploy."""
