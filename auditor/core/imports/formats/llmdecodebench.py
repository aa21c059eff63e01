"""llm-inference-bench (llm_decode_bench.py): one cell a concurrency and context, measured in a fixed window."""

from auditor.core.imports.fields import Fields
from auditor.core.imports.findings import fails
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Figure, Grade, ImportFinding, Result, Settings
from auditor.core.imports.told import Told, figures_of, named

_SUMS = (
    Told("aggregate_tps", "tokens/s", "delivered/system"),
    Told("per_request_avg_tps", "tokens/s"),
    Told("total_tokens", "tokens", "output_tokens"),
    Told("num_completed", "requests", "completed"),
    Told("num_errors", "requests", "failed"),
    Told("ttft_avg", "s", "ttft:mean"),
    Told("ttft_p50", "s", "ttft:p50"),
    Told("ttft_p99", "s", "ttft:p99"),
    Told("server_gen_throughput", "tokens/s"),
    Told("server_spec_accept_rate", ""),
    Told("server_spec_accept_length", "tokens/step"),
    Told("effective_concurrency", "requests"),
    Told("avg_running_reqs", "requests"),
)
_MINE = {"concurrency", "context_tokens", "aggregate_tps", "per_request_avg_tps"}


def _recognise(file: File) -> str | None:
    one = file.document
    results = one.get("results") if isinstance(one, dict) and isinstance(one.get("metadata"), dict) else None
    first = results[0] if isinstance(results, list) and results else None
    return "report" if isinstance(first, dict) and set(first) >= _MINE else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    fields = Fields(file.document, file.name)
    metadata = fields.fields("metadata") or Fields({}, file.name)
    results = tuple(_result(one, metadata) for one in fields.objects("results"))
    return Reading(results, metadata.text("version", 40))


def _result(one: Fields, metadata: Fields) -> Result:
    figures = tuple(figures_of(one, _SUMS))
    return Result(
        name=f"concurrency {one.text('concurrency') or '?'}, context {one.text('context_tokens') or '?'}",
        grade=Grade.AGGREGATE,
        grade_because="sums over a window; single requests are not written",
        counted_by="the server's running usage within a fixed window",
        settings=Settings(
            model=metadata.text("model"),
            server=metadata.text("engine"),
            concurrency=one.count("concurrency") or None,
            prompt_tokens=one.count("context_tokens"),
            output_tokens=metadata.count("max_tokens"),
        ),
        started=metadata.text("timestamp"),
        figures=figures,
        findings=tuple(_findings(one, figures)),
        missing=("single requests: the tool does not write them",),
    )


def _findings(one: Fields, figures: tuple[Figure, ...]) -> list[ImportFinding]:
    found: list[ImportFinding] = []
    client, server = named(figures, "aggregate_tps"), named(figures, "server_gen_throughput")
    if client and server and client.value and server.value and abs(server.value / client.value - 1) > 0.1:
        words = (
            f"The client counts {client.value:,.1f} tokens/s and the server's own gauge says {server.value:,.1f}: one "
            "of them counts something else, or over another time."
        )
        found.append(fails("counts-differ", words))
    queued = one.number("queue_fraction", low=0)
    if queued is not None and queued > 0.05:
        words = f"In {queued:.0%} of the samples requests were waiting: fewer streams ran than were configured."
        found.append(fails("streams-idle", words))
    return found


FORMAT = Format(
    name="llm-inference-bench",
    tool="llm-inference-bench",
    recognise=_recognise,
    read=_read,
    source="local-inference-lab/llm-inference-bench 0.4.18 to 0.7.3: llm_decode_bench.py",
    wrong=(
        "rates are of a window that begins when all streams decode: prefill and ramp-up are outside",
        "a server that is not recognised is taken for SGLang, and its figures are then 0",
        "an acceptance gauge of SGLang is of the last interval, not of the window (before 0.4.34)",
    ),
)
