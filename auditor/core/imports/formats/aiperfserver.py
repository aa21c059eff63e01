"""What AIPerf scraped beside a run: the server's counters and the GPUs."""

from collections.abc import Iterator

from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File, Parts
from auditor.core.imports.record import Drafts

_DRAFTS = {
    "verify_steps": "vllm:spec_decode_num_drafts",
    "drafted": "vllm:spec_decode_num_draft_tokens",
    "accepted": "vllm:spec_decode_num_accepted_tokens",
}
_DELIVERED = ("vllm:generation_tokens", "sglang:generation_tokens")

Counters = dict[str, int]
"""By how much each counter rose over the run, all engines together."""


def counters_of(parts: Parts) -> Counters:
    """The counters that were scraped; empty where none were."""
    if (summary := parts.get("server-metrics")) is not None:
        return _from_summary(Fields(summary.lines[0], summary.name))
    scrapes = parts.get("server-metrics-lines")
    return _from_scrapes(scrapes) if scrapes is not None else {}


def drafts_of(counters: Counters) -> Drafts | None:
    """Drafts by the server's counters; None where it has none."""
    found = {term: counters.get(name) for term, name in _DRAFTS.items()}
    return Drafts(**found) if any(found.values()) else None


def notes_of(counters: Counters, received: int) -> Iterator[str]:
    """Whether the server counted as many tokens as the client."""
    for name in _DELIVERED:
        counted = counters.get(name)
        if counted is not None and received:
            more = "more" if counted > received else "fewer"
            words = "as many as" if counted == received else f"{abs(counted - received):,} {more} than"
            yield f"the server counted {counted:,} generated tokens, {words} the {received:,} of the requests"


def gpus_of(telemetry: File | None) -> int | None:
    """GPUs that were sampled; None without telemetry."""
    lines = telemetry.lines if telemetry else ()
    return len({str(one.get("gpu_uuid"))[:100] for one in lines}) or None


def _wanted() -> tuple[str, ...]:
    return (*_DRAFTS.values(), *_DELIVERED)


def _from_summary(server: Fields) -> Counters:
    """`server_metrics_export.json`: the rise over the run is its `total`."""
    found: Counters = {}
    metrics = server.fields("metrics")
    for name in _wanted():
        one = metrics.fields(name) if metrics else None
        series = list(one.objects("series")) if one else []
        totals = [stats.count("total") for each in series if (stats := each.fields("stats"))]
        known = [total for total in totals if total is not None]
        if known and len(known) == len(series):
            found[name] = sum(known)
    return found


def _from_scrapes(file: File) -> Counters:
    """`server_metrics_export.jsonl`: the last value less the first of each series, while the run was measured."""
    ends: dict[tuple[str, str], tuple[float, float]] = {}
    for number, line in enumerate(file.lines, 1):
        one = Fields(line, f"{file.name}: line {number}")
        metrics = one.fields("metrics")
        if metrics is None or one.text("benchmark_phase") not in (None, "profiling"):
            continue
        for name in _wanted():
            for series in metrics.objects(name):
                value = series.number("value", low=0)
                key = (name, f"{one.text('endpoint_url')} {series.data.get('labels')}"[:500])
                if value is not None:
                    ends[key] = (ends.get(key, (value, value))[0], value)
    found: Counters = {}
    for (name, _), (first, last) in ends.items():
        found[name] = found.get(name, 0) + max(0, round(last - first))
    return found
