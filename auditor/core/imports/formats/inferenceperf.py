"""inference-perf's lifecycle reports: every request with its chunks and their times, and the summary."""

from collections.abc import Iterator
from itertools import pairwise

from auditor.core.imports.decoding import JsonError, clean, parse
from auditor.core.imports.fields import Fields
from auditor.core.imports.findings import fails
from auditor.core.imports.format import File, Format, Parts, Reading
from auditor.core.imports.record import Figure, Grade, ImportFinding, Request, Result, Settings
from auditor.core.imports.streams import arrivals_of_events, request_of, stream_of
from auditor.core.imports.told import Told, figures_of
from auditor.errors import UsageError
from auditor.terms import Rung

_RATES = (
    Told("requests_per_sec", "requests/s", "requests/second"),
    Told("output_tokens_per_sec", "tokens/s", "retokenised/system", "delivered/system"),
    Told("input_tokens_per_sec", "tokens/s"),
    Told("total_tokens_per_sec", "tokens/s"),
)
_LATENCIES = {
    "time_to_first_token": "ttft",
    "request_latency": "e2e",
    "time_per_output_token": None,
    "normalized_time_per_output_token": None,
    "inter_token_latency": None,
}
"""Those that divide by tokens do so by tokens tokenised again, which the file does not keep for each request."""
_STATISTICS = (("mean", "mean"), ("median", "median"), ("p90", "p90"), ("p99", "p99"))


def _recognise(file: File) -> str | None:
    one = file.document
    if isinstance(one, dict) and {"load_summary", "successes", "failures"} <= set(one):
        load = one["load_summary"]
        return "stage" if isinstance(load, dict) and "send_duration" in load else "summary"
    if isinstance(one, dict) and set(one) == {"global", "reports"}:
        return "validation"
    first = one[0] if isinstance(one, list) and one else None
    return (
        "requests" if isinstance(first, dict) and {"start_time", "end_time", "request", "info"} <= set(first) else None
    )


def _read(parts: Parts) -> Reading:
    if set(parts) == {"validation"}:
        what = "holds what inference-perf found in its reports, and no result by itself"
        raise UsageError(what, where=parts["validation"].name, remedy="give the folder that it lies in")
    told = parts.get("summary") or parts.get("stage")
    summary = Fields(told.document, told.name) if told else None
    stage = Fields(parts["stage"].document, parts["stage"].name) if "stage" in parts else None
    file = parts.get("requests")
    requests = tuple(_requests(file)) if file else ()
    load = (stage or summary).fields("load_summary") if stage or summary else None  # type: ignore[union-attr]
    result = Result(
        name="lifecycle of requests",
        grade=Grade.RAW if requests else Grade.AGGREGATE,
        grade_because="every chunk of the server is in it with its time" if requests else "the summary only",
        counted_by="the chunks are counted again here; the tool's rates are of text tokenised again",
        settings=Settings(
            model=next((model for one in requests if (model := _model(file, one.id))), None),
            concurrency=load.count("concurrency") or None if load else None,
            request_rate=load.text("requested_rate", 30) if load else None,
            prompts=load.count("count") if load else None,
        ),
        clock="monotonic" if requests else "none",
        duration_ns=summary.time("benchmark_time_seconds", "s") if summary else None,
        requests=requests,
        figures=tuple(_figures(summary)),
        findings=(*(_zero_gaps(file) if file else ()), *_warnings(parts.get("validation"))),
        missing=() if summary else ("rates over all requests: they are in summary_lifecycle_metrics.json",),
    )
    return Reading((result,))


def _figures(summary: Fields | None) -> Iterator[Figure]:
    successes = summary.fields("successes") if summary else None
    if successes is None:
        return
    yield from figures_of(successes, (Told("count", "requests", "completed"),), "successes ")
    yield from figures_of(successes.fields("throughput"), _RATES)
    latency = successes.fields("latency")
    for name, quantity in _LATENCIES.items():
        table = tuple(Told(key, "s", quantity and f"{quantity}:{how}") for key, how in _STATISTICS)
        yield from figures_of(latency.fields(name) if latency else None, table, f"{name} ")
    texts = successes.fields("output_len")
    mean, count = texts.number("mean", low=0) if texts else None, successes.count("count")
    if mean is not None and count:
        yield Figure(name="output_len mean x count", value=mean * count, unit="tokens", quantity="retokenised_tokens")


def _requests(file: File) -> Iterator[Request]:
    for number, value in enumerate(file.document):
        one = Fields(value, f"{file.name}: request {number + 1}")
        yield _request(one, str(number + 1))


def _request(one: Fields, id_: str) -> Request:
    """The chunks are counted again; the usage, which the tool keeps apart from them, is the better count."""
    start, end = one.time("start_time", "s"), one.time("end_time", "s")
    info = one.fields("info")
    response = info.fields("response_metrics") if info else None
    error = one.fields("error")
    if error is not None or response is None:
        words = f"{error.text('error_type') or ''} {error.text('error_msg') or ''}".strip() if error else ""
        return Request(id=id_, send_ns=start, error=words or "no answer")
    prompt = info.count("input_tokens") if info else None
    chunks, times = response.items("response_chunks") or [], response.times("chunk_times", "s") or ()
    if not chunks:
        tokens = response.count("output_tokens")
        return Request(id=id_, send_ns=start, e2e_ns=_plus(start, end), prompt_tokens=prompt, output_tokens=tokens)
    bodies = [chunk.encode("utf-8", "replace") if isinstance(chunk, str) else b"" for chunk in chunks]
    stream = stream_of(arrivals_of_events(zip(times, bodies, strict=False)))
    made = request_of(stream, sent_ns=start, end_ns=end, id_=id_)
    usage = response.fields("server_usage")
    said = usage.count("completion_tokens") if usage else None
    if said is not None and (made.rung is None or made.rung in (Rung.RETOKENISED, Rung.EVENTS)):
        counts = {**made.counts, Rung.FINAL_USAGE: said}
        made = made.model_copy(update={"output_tokens": said, "rung": Rung.FINAL_USAGE, "counts": counts})
    return made.model_copy(update={"prompt_tokens": made.prompt_tokens or prompt, **_asked(one)})


def _asked(one: Fields) -> dict[str, int]:
    body = _body(one)
    names = ("max_tokens", "max_completion_tokens")
    count = next((n for name in names if body is not None and (n := body.count(name))), None)
    return {} if count is None else {"requested_tokens": count}


def _body(one: Fields) -> Fields | None:
    """The request's body, which is JSON within the JSON; None where it cannot be read."""
    try:
        value = parse(one.raw_text("request") or "null")
    except JsonError:
        return None
    return Fields(value, one.where) if isinstance(value, dict) else None


def _model(file: File | None, id_: str | None) -> str | None:
    if file is None or id_ is None:
        return None
    body = _body(Fields(file.document[int(id_) - 1], file.name))
    return body.text("model") if body else None


def _plus(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else max(0, end - start)


def _zero_gaps(file: File) -> Iterator[ImportFinding]:
    """Tokens of one chunk get its time: the gaps between them are 0, and the others stand for several tokens."""
    zero = every = 0
    for number, value in enumerate(file.document):
        info = Fields(value, f"{file.name}: request {number + 1}").fields("info")
        response = info.fields("response_metrics") if info else None
        times = (response.times("output_token_times", "s") if response else None) or ()
        zero += sum(later == earlier for earlier, later in pairwise(times))
        every += max(0, len(times) - 1)
    if zero:
        words = (
            f"{zero:,} of {every:,} gaps between tokens are 0: the tokens of a chunk all get its time. Percentiles of "
            "`inter_token_latency` are of these, and no gap that a user saw."
        )
        yield fails("gaps-of-zero", words, "use the gaps between events")


def _warnings(file: File | None) -> Iterator[ImportFinding]:
    """What the tool's own validator says of its reports."""
    reports = Fields(file.document, file.name).fields("reports") if file else None
    for name in list(reports.data)[:50] if reports else ():
        report = reports.fields(name) if reports else None
        for kind in ("errors", "warnings"):
            for one in report.objects(kind) if report else ():
                words = f"The tool's own validator says of {clean(name, 80)}: {one.text('message', 300) or kind}."
                yield fails("own-validator", words, gravity="dirty" if kind == "errors" else "note")


FORMAT = Format(
    name="inference-perf",
    tool="inference-perf",
    recognise=_recognise,
    read=_read,
    source="inference-perf 0.7.0: per_request_lifecycle_metrics.json, summary_ and stage_N_lifecycle_metrics.json",
    wrong=(
        "`output_tokens_per_sec` and the times per token are of the text tokenised again, not of the server's usage, "
        "which the same file has",
        "`inter_token_latency` gives all tokens of a chunk one time: gaps of 0 between them",
        "a token that begins the text may be counted with each chunk (kubernetes-sigs/inference-perf#565)",
    ),
    seen="inference-perf 0.7.0 against vLLM 0.32 on a CPU with n-gram drafts",
)
