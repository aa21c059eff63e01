"""Veeksha's metrics of requests, one a line, and its two throughputs."""

from collections.abc import Iterator
from itertools import accumulate

from auditor.core.imports.fields import Fields, time_of
from auditor.core.imports.format import File, Format, Parts, Reading
from auditor.core.imports.measured import Measured
from auditor.core.imports.quantities import quantity
from auditor.core.imports.record import Grade, ImportFinding, Request, Result
from auditor.core.imports.told import Told, beside, figures_of

_THROUGHPUTS = {
    "tpot_based_throughput": "one by the mean time per token of a request: of one stream, the wait left out",
    "tbc_based_throughput": "one by the 99th percentile of the gaps between chunks",
}
_FIGURES = (
    *(Told(name, "tokens/s") for name in _THROUGHPUTS),
    Told("Number of Completed Requests", "requests", "completed"),
    Told("Number of Errored Requests", "requests"),
)
_ROUNDING_NS = 10_000
"""Times are written to the hundred-thousandth of a second: each gap may be off by half of that."""


def _recognise(file: File) -> str | None:
    one = file.lines[0] if file.lines else {}
    if "scheduler_dispatched_at" in one and "ttfc" in one:
        return "requests"
    if {"Number of Requests", "Number of Completed Requests"} <= set(one):
        return "summary"
    return "throughput" if set(one) == set(_THROUGHPUTS) else None


def _read(parts: Parts) -> Reading:
    file = parts.get("requests")
    requests = tuple(_request(Fields(line, f"{file.name}: line {n}")) for n, line in enumerate(file.lines, 1)) if file \
        else ()  # fmt: skip
    told = [Fields(parts[part].document, parts[part].name) for part in ("throughput", "summary") if part in parts]
    figures = tuple(figure for one in told for figure in figures_of(one, _FIGURES))
    result = Result(
        name="requests" if file else "summary",
        grade=Grade.TIMED if file else Grade.AGGREGATE,
        grade_because="each request has its start, the gaps between its chunks and a count" if file else "sums only",
        counted_by="by the client: the file does not record how",
        clock="monotonic" if file else "none",
        requests=requests,
        figures=figures,
        missing=("model, server and load: they are in config.yml beside it",),
    )
    notes = ("the last line ends within itself and was left out",) if file and file.is_cut else ()
    return Reading((result.model_copy(update={"findings": tuple(_findings(result))}),), notes=notes)


def _request(one: Fields) -> Request:
    first = one.time("ttfc", "s")
    gaps = [time_of(gap, f"{one.where}: tbc", "s") for gap in one.items("tbc") or ()]
    events = tuple(accumulate(gaps, initial=first)) if first is not None else None
    sent, end = one.time("client_picked_up_at", "s"), one.time("end_to_end_latency", "s")
    if events and end is not None and end < events[-1] < end + _ROUNDING_NS * len(events):
        end = events[-1]
    return Request(
        id=one.text("request_id", 80),
        send_ns=sent if sent is not None else one.time("scheduler_dispatched_at", "s"),
        ttft_ns=first,
        last_ns=events[-1] if events else None,
        e2e_ns=end,
        events_ns=events,
        prompt_tokens=one.count("num_total_prompt_tokens"),
        output_tokens=one.count("num_output_tokens"),
        requested_tokens=one.count("num_requested_output_tokens"),
    )


def _findings(result: Result) -> Iterator[ImportFinding]:
    right = quantity(Measured(result), "delivered/system", "tokens/s")
    for one in (figure for figure in result.figures if figure.name in _THROUGHPUTS):
        yield from beside(one, _THROUGHPUTS[one.name], "the rate of all streams together", right)


FORMAT = Format(
    name="veeksha",
    tool="Veeksha",
    recognise=_recognise,
    read=_read,
    source="veeksha 3361280 and 0.2.2: veeksha/evaluator/performance/text.py",
    wrong=(
        "`tpot_based_throughput` and `tbc_based_throughput` are inverses of a mean and of a 99th percentile of times, "
        "and no tokens by a window",
        "`tbc` is the gap between chunks, whatever came in them",
    ),
    seen="Veeksha 0.2.2 against vLLM 0.32 on a CPU with n-gram drafts",
)
