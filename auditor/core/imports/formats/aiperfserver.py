"""What AIPerf scraped beside a run: the server's counters and the GPUs."""

from collections.abc import Iterator

from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File
from auditor.core.imports.record import Drafts

_DRAFTS = {
    "verify_steps": "vllm:spec_decode_num_drafts",
    "drafted": "vllm:spec_decode_num_draft_tokens",
    "accepted": "vllm:spec_decode_num_accepted_tokens",
}
_DELIVERED = ("vllm:generation_tokens", "sglang:generation_tokens")


def drafts_of_server(server: Fields) -> Drafts | None:
    """Drafts by the server's counters over the run; None where it has none."""
    found = {term: counter(server, name) for term, name in _DRAFTS.items()}
    return Drafts(**found) if any(found.values()) else None


def notes_of_server(server: Fields, received: int) -> Iterator[str]:
    """Whether the server counted as many tokens as the client."""
    for name in _DELIVERED:
        counted = counter(server, name)
        if counted is not None and received:
            words = (
                "as many as" if counted == received else f"{abs(counted - received):,} {_than(counted, received)} than"
            )
            yield f"the server counted {counted:,} generated tokens, {words} the {received:,} of the requests"


def _than(counted: int, received: int) -> str:
    return "more" if counted > received else "fewer"


def counter(server: Fields, name: str) -> int | None:
    """What a counter rose by over the run, all engines together; None where it was not scraped."""
    metrics = server.fields("metrics")
    one = metrics.fields(name) if metrics else None
    if one is None:
        return None
    totals = [stats.count("total") for series in one.objects("series") if (stats := series.fields("stats"))]
    known = [total for total in totals if total is not None]
    return sum(known) if known and len(known) == len(totals) else None


def gpus_of(telemetry: File | None) -> int | None:
    """GPUs that were sampled; None without telemetry."""
    lines = telemetry.lines if telemetry else ()
    return len({str(one.get("gpu_uuid"))[:100] for one in lines}) or None
