"""AIPerf: a record per request, the raw responses, the aggregate, and what the server and its GPUs said meanwhile."""

from collections.abc import Iterator
from itertools import accumulate

from auditor.core.counting.reading import ReadDetails
from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File, Format, Parts, Reading
from auditor.core.imports.formats.aiperfaggregate import duration_of, figures_of, is_server_count, settings_of
from auditor.core.imports.formats.aiperfserver import counters_of, drafts_of, gpus_of, notes_of
from auditor.core.imports.record import Drafts, Grade, Request, Result
from auditor.core.imports.streams import arrivals_of_events, request_of, stream_of
from auditor.errors import UsageError
from auditor.terms import Rung

_COUNTED = {
    None: "the text tokenised again, or the server's usage with --use-server-token-count",
    False: "the text tokenised again by the tool",
    True: "the server's usage",
}


def _recognise(file: File) -> str | None:
    if not file.lines:
        return None
    one = file.lines[0]
    if isinstance(meta := one.get("metadata"), dict) and "credit_issued_ns" in meta:
        return "raw" if "responses" in one else "records" if "metrics" in one or "error" in one else None
    if "aiperf_version" in one and "metrics" in one:
        return "server-metrics"
    if "aiperf_version" in one:
        return "aggregate"
    if "endpoint_latency_ns" in one and "metrics" in one:
        return "server-metrics-lines"
    return "telemetry" if "telemetry_data" in one and "gpu_uuid" in one else None


def _read(parts: Parts) -> Reading:
    records = _by_id(parts.get("records"))
    raw = _by_id(parts.get("raw"))
    aggregate = _fields(parts.get("aggregate"))
    if not records and not raw and aggregate is None:
        names = ", ".join(file.name for file in parts.values())
        raise UsageError("holds no result by itself", where=names, remedy="give the folder with profile_export.jsonl")
    is_usage = is_server_count(aggregate)
    rung = Rung.FINAL_USAGE if is_usage else Rung.RETOKENISED
    from_raw = {name: _from_raw(name, one, parts["raw"].details) for name, one in raw.items()}
    requests = tuple(_requests(records, raw, from_raw, rung))
    grade, because = _grade(bool(raw), bool(requests))
    counters = counters_of(parts)
    warmups = sum(_phase(one) == "warmup" for one in (raw or records).values())
    result = Result(
        name="run",
        grade=grade,
        grade_because=because,
        counted_by=_COUNTED[is_usage],
        settings=settings_of(aggregate, gpus_of(parts.get("telemetry"))),
        clock="epoch" if requests else "none",
        started=aggregate.text("start_time") if aggregate else None,
        duration_ns=duration_of(aggregate),
        requests=requests,
        figures=tuple(figures_of(aggregate)) if aggregate else (),
        drafts=drafts_of(counters),
        missing=() if requests else ("single requests: profile_export.jsonl",),
    )
    notes = [f"{warmups} warm-up requests were left out"] if warmups else []
    notes += notes_of(counters, sum(one.output_tokens or 0 for one in requests))
    if aggregate is not None and aggregate.data.get("is_complete") is False:
        notes.append("the tool calls the run incomplete")
    return Reading((result,), aggregate.text("aiperf_version") if aggregate else None, tuple(notes))


def _grade(has_raw: bool, has_requests: bool) -> tuple[Grade, str]:
    if has_raw:
        return Grade.RAW, "every response of the server is in it with its time"
    if has_requests:
        return Grade.TIMED, "each request has its times, the gaps between its chunks and a count"
    return Grade.AGGREGATE, "only the aggregate: no request is in it"


def _fields(file: File | None) -> Fields | None:
    return None if file is None else Fields(file.lines[0], file.name)


def _by_id(file: File | None) -> dict[str, Fields]:
    """The records by the id of their request; one whose id came before keeps its line beside it."""
    found: dict[str, Fields] = {}
    for number, line in enumerate(file.lines if file else (), 1):
        one = Fields(line, f"{file.name if file else ''}: line {number}")
        meta = one.fields("metadata")
        name = (meta.text("x_request_id") if meta else None) or str(number)
        found[name if name not in found else f"{name} (line {number})"] = one
    return found


def _phase(one: Fields) -> str | None:
    meta = one.fields("metadata")
    return meta.text("benchmark_phase") if meta else None


def _requests(
    records: dict[str, Fields], raw: dict[str, Fields], from_raw: dict[str, Request], rung: Rung
) -> Iterator[Request]:
    for name in dict.fromkeys([*records, *raw]):
        one = records.get(name) or raw[name]
        if _phase(one) in (None, "profiling"):
            record = records.get(name)
            yield from_raw[name] if record is None else _request(name, record, from_raw.get(name), rung)


def _request(name: str, record: Fields, from_raw: Request | None, rung: Rung) -> Request:
    metrics = _values(record)
    meta = record.fields("metadata")
    send = meta.time("request_start_ns", "ns") if meta else None
    ttft, gaps = metrics.time("time_to_first_token", "ms"), metrics.times("inter_chunk_latency", "ms")
    events = tuple(accumulate((ttft, *(gaps or ())))) if ttft is not None and gaps is not None else None
    spec = record.fields("spec_decode_acceptance")
    error = _error(record, meta)
    request = Request(
        id=name,
        send_ns=send,
        ttft_ns=ttft,
        last_ns=events[-1] if events else None,
        e2e_ns=metrics.time("request_latency", "ms"),
        events_ns=events,
        prompt_tokens=metrics.count("input_sequence_length"),
        cached_tokens=metrics.count("usage_prompt_cache_read_tokens"),
        output_tokens=metrics.count("output_sequence_length"),
        rung=rung,
        counts=_counts(metrics, rung),
        reasoning_tokens=metrics.count("reasoning_token_count"),
        requested_tokens=metrics.count("requested_osl") or (from_raw.requested_tokens if from_raw else None),
        drafts=_drafts(spec) if spec else None,
        error=error,
    )
    return request if from_raw is None else _joined(request, from_raw)


def _joined(request: Request, raw: Request) -> Request:
    """The record with what only the raw responses tell; the tool's own count stays the count."""
    if request.events_ns is None or raw.events_ns is None or len(request.events_ns) != len(raw.events_ns):
        tokens = None
    else:
        tokens = raw.event_tokens
    kept = {"event_tokens": tokens, "text": raw.text, "finish_reason": raw.finish_reason}
    return request.model_copy(update={**kept, "counts": {**raw.counts, **request.counts}})


def _from_raw(name: str, raw: Fields, details: ReadDetails) -> Request:
    meta = raw.fields("metadata")
    start = raw.time("start_perf_ns", "ns")
    events: list[tuple[int, bytes]] = []
    for response in raw.objects("responses"):
        at = response.time("perf_ns", "ns")
        for packet in response.objects("packets"):
            value = packet.raw_text("value")
            if at is not None and value is not None and packet.text("name") == "data":
                events.append((at, value.encode("utf-8", "replace")))
    stream = stream_of(arrivals_of_events(events), details)
    end = max((at for at, _ in events), default=None)
    request = request_of(stream, sent_ns=start, end_ns=end, id_=name)
    payload = raw.fields("payload")
    asked = None
    if payload is not None:
        asked = next((n for key in ("max_tokens", "max_completion_tokens") if (n := payload.count(key))), None)
    error = _error(raw, meta) or request.error
    send = meta.time("request_start_ns", "ns") if meta else start
    return request.model_copy(update={"requested_tokens": asked, "error": error, "send_ns": send})


def _values(record: Fields) -> Fields:
    """The metrics by their tag, without their units, which are ms and tokens for those that are read."""
    metrics = record.fields("metrics")
    if metrics is None:
        return Fields({}, record.where)
    values = {name: one.get("value") if isinstance(one, dict) else one for name, one in metrics.data.items()}
    return Fields(values, metrics.where)


def _counts(metrics: Fields, rung: Rung) -> dict[Rung, int]:
    usage, own = metrics.count("usage_completion_tokens"), metrics.count("output_sequence_length")
    rejected = metrics.count("usage_rejected_prediction_tokens") or 0
    counts: dict[Rung, int] = {}
    if usage is not None:
        counts[Rung.FINAL_USAGE] = max(0, usage - rejected)
    if own is not None:
        counts[rung] = own
    return counts


def _drafts(spec: Fields) -> Drafts:
    return Drafts(
        verify_steps=spec.count("num_spec_steps"),
        drafted=spec.count("num_draft_tokens"),
        accepted=spec.count("num_accepted_draft_tokens"),
        draft_width=spec.count("num_spec_tokens"),
    )


def _error(one: Fields, meta: Fields | None) -> str | None:
    if meta is not None and meta.data.get("was_cancelled") is True:
        return "cancelled"
    value = one.data.get("error")
    if isinstance(value, dict):
        return Fields(value, one.where).text("message", 300) or "an error without words"
    return one.text("error", 300)


FORMAT = Format(
    name="aiperf",
    tool="AIPerf",
    recognise=_recognise,
    read=_read,
    source="aiperf 0.13.0: profile_export.jsonl, profile_export_raw.jsonl, profile_export_aiperf.json (schema 1.4), "
    "gpu_telemetry_export.jsonl, server_metrics_export.json and .jsonl",
    wrong=(
        "tokens are those of the text tokenised again unless --use-server-token-count is given: text that ends within "
        "a word, or special tokens, make it differ from usage",
        "`inter_token_latency` is what others call TPOT, (latency - TTFT) / (n - 1): a first chunk of several tokens "
        "makes it too short; the gap between chunks is `inter_chunk_latency`",
        "`inter_chunk_latency` is per chunk, of as many tokens as came in it",
    ),
    seen="AIPerf 0.13.0: records, raw, aggregate and server metrics, against vLLM 0.32 on a CPU and llama.cpp",
)
