"""MLC-LLM: what it says of itself. `/metrics` is `key<TAB>value`; the counts of drafts are in a JSON form alone."""

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from auditor.core.adapter import Adapter, Details, absent, exact, nominal
from auditor.core.counting.counters import Counters
from auditor.core.facts import Fact, FactName, known, unknown
from auditor.core.observed import dig, figures, launch_facts, whole
from auditor.core.probing import Answers

_SIGN = "completion_tokens_sum"


def recognise(answers: Answers) -> str | None:
    """By the lines of its metrics."""
    lines = _lines(answers.text("/metrics") or "")
    return f"GET /metrics {_SIGN}, separated by tabs" if _SIGN in lines else None


def _lines(text: str) -> dict[str, float]:
    """Keys and values; lines of another shape are passed over."""
    found = {}
    for line in text.splitlines():
        key, tab, value = line.partition("\t")
        try:
            number = float(value)
        except ValueError:
            continue
        if tab and abs(number) < float("inf"):
            found[key.strip()] = number
    return found


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """Whether drafts were verified so far; what the launch tells goes first."""
    lines = _lines(answers.text("/metrics") or "")
    steps = [key for key in lines if key.startswith("accept_prob{step=") and not key.startswith("accept_prob{step=0")]
    names: tuple[FactName, ...] = ("speculation", "draft_tokens")
    if steps:
        source = "GET /metrics accept_prob"
        found: dict[FactName, Fact] = {
            "speculation": known(True, source),
            "draft_tokens": known(len(steps), f"{source}, its steps without the base token's"),
        }
    else:
        reason = "GET /metrics shows no verified draft so far" if lines else answers.why_not("/metrics")
        found = {name: unknown(reason) for name in names}
    return found | launch_facts(launched)


def counters(text: str) -> Counters:
    """The counters, of the text or of the JSON form; raises ValueError when it is neither.

    Index 0 of the arrays is the base model's own token: as many as verify steps, and no draft.
    """
    if not text.lstrip().startswith("{"):
        lines = _lines(text)
        if text.strip() and not lines:
            raise ValueError(f"no lines of key and value: {text[:60]!r}")
        return _counted(lines, None, None)
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not JSON: {text[:60]!r}") from error
    flat = {key: value for part in _objects(document) for key, value in figures(part).items()}
    arrays = next((part for part in _objects(document) if "draft_count" in part and "accept_count" in part), {})
    return _counted(flat, _array(arrays.get("draft_count")), _array(arrays.get("accept_count")))


def _counted(numbers: Mapping[str, float], drafts: list[int] | None, accepts: list[int] | None) -> Counters:
    why = "the text form gives ratios by position, and no counts"
    has_ratios = any(key.startswith("accept_prob{") for key in numbers)
    return Counters(
        delivered=whole(numbers.get("completion_tokens_sum")),
        prompt_tokens=whole(numbers.get("prompt_tokens_sum")),
        verify_steps=drafts[0] if drafts else None,
        drafted=sum(drafts[1:]) if drafts else None,
        accepted=sum(accepts[1:]) if accepts else None,
        reasons=dict.fromkeys(("drafted", "accepted", "verify_steps"), why) if has_ratios and not drafts else {},
    )


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    """Every object within a document."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from _objects(item)
    elif isinstance(value, list):
        for item in value:
            yield from _objects(item)


def _array(value: Any) -> list[int] | None:
    counts = [whole(item) for item in value] if isinstance(value, list) else [None]
    return None if None in counts else [count or 0 for count in counts]


def details(event: Mapping[str, Any]) -> Details | None:
    """The rates in `usage.extra`, which a server with debugging on adds."""
    extra = dig(event, "usage", "extra")
    reported = figures(extra) if isinstance(extra, dict) else {}
    return Details(reported=reported) if reported else None


ADAPTER = Adapter(
    name="mlc",
    title="MLC-LLM",
    paths=(),
    recognise=recognise,
    facts=facts,
    metrics_paths=("/metrics",),
    counters=counters,
    details=details,
    notes={
        "delivered": exact("final usage; completion_tokens_sum. decode_tokens_sum has tokens that were rolled back"),
        "token_ids": absent("not in the stream"),
        "steps": absent("steps without a draft are not counted"),
        "verify_steps": nominal("draft_count[0] of the JSON form, which the debug request query_engine_metrics gives"),
        "drafted": nominal("draft_count of the JSON form without its first; /metrics has ratios by position alone"),
        "accepted": nominal("accept_count of the JSON form without its first; /metrics has ratios alone"),
        "rejected": absent("/metrics has ratios alone"),
        "speculation": exact("that it speculates, and k, by accept_prob after the first draft"),
        "gpu": absent("no endpoint names it"),
        "acceptance_mode": absent("no endpoint tells it"),
    },
    switches="--enable-debug, for usage.extra",
    source="cpp/serve/metrics.h, cpp/serve/metrics.cc @79d603f0 (v0.26.dev0 + 4)",
)
"""MLC-LLM."""
