"""vLLM's `bench serve`: one JSON object, or one a line where results were appended; requests only if asked for."""

from collections.abc import Iterator

from auditor.core.imports.fields import Fields, time_of
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.lists import at, error_of, text_of
from auditor.core.imports.record import Drafts, Figure, Grade, Request, Result, Settings

_COUNTED = "usage of the server, else the text tokenised again, else 1: the file does not record which"
_SUMS = (
    ("total_input_tokens", "tokens", "prompt_tokens"),
    ("total_output_tokens", "tokens", "output_tokens"),
    ("completed", "requests", "completed"),
    ("failed", "requests", "failed"),
    ("request_throughput", "requests/s", "requests/second"),
    ("output_throughput", "tokens/s", "delivered/system"),
    ("total_token_throughput", "tokens/s", "total/system"),
    ("max_concurrent_requests", "requests", None),
    ("request_goodput", "requests/s", None),
    ("spec_decode_acceptance_rate", "%", "acceptance_rate"),
    ("spec_decode_acceptance_length", "tokens/step", "acceptance_length"),
    ("spec_decode_num_drafts", "steps", None),
    ("spec_decode_draft_tokens", "tokens", None),
    ("spec_decode_accepted_tokens", "tokens", None),
)
_TIMES = {"ttft": ("ttft", None), "tpot": ("tpot", None), "itl": ("icl", "itl"), "e2el": ("e2e", None)}
_STATISTICS = ("mean", "median", "p25", "p50", "p75", "p90", "p95", "p99")


def _recognise(file: File) -> str | None:
    lines = file.lines
    if not lines:
        return None
    one = lines[0]
    mine = "total_token_throughput" in one and "output_throughput" in one and "num_prompts" in one
    return "result" if mine and "server_info" not in one and "total_output_tokens_retokenized" not in one else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    results = tuple(_result(Fields(line, _where(file, number)), number) for number, line in enumerate(file.lines, 1))
    notes = ("the last line ends within itself and was left out",) if file.is_cut else ()
    return Reading(results, notes=notes)


def _where(file: File, number: int) -> str:
    return file.name if len(file.lines) == 1 else f"{file.name}: result {number}"


def _result(fields: Fields, number: int) -> Result:
    requests = tuple(_requests(fields))
    is_detailed = any(one.output_tokens is not None for one in requests)
    if is_detailed and "start_times" in fields:
        grade, because = Grade.TIMED, "each request has its start, the gaps between its events and a count"
    elif is_detailed:
        grade, because = Grade.UNTIMED, "each request has a count and durations and no start"
    else:
        grade, because = Grade.AGGREGATE, "written without --save-detailed: of single requests at most the latency"
    return Result(
        name=fields.text("label") or fields.text("date") or f"result {number}",
        grade=grade,
        grade_because=because,
        counted_by=_COUNTED,
        settings=_settings(fields),
        clock="monotonic" if grade is Grade.TIMED else "none",
        started=fields.text("date"),
        duration_ns=fields.time("duration", "s"),
        requests=requests,
        figures=tuple(_figures(fields)),
        drafts=_drafts(fields),
        missing=() if is_detailed else ("single requests: run with --save-detailed",),
    )


def _settings(fields: Fields) -> Settings:
    return Settings(
        model=fields.text("model_id"),
        server=fields.text("endpoint_type") or fields.text("backend"),
        concurrency=fields.count("max_concurrency"),
        request_rate=fields.text("request_rate", 30),
        prompts=fields.count("num_prompts"),
        more={name: value for name in ("tokenizer_id", "burstiness") if (value := fields.text(name))},
    )


def _figures(fields: Fields) -> Iterator[Figure]:
    for name, unit, quantity in _SUMS:
        if (value := fields.number(name, low=0)) is not None:
            yield Figure(name=name, value=value, unit=unit, quantity=quantity)
    if (peak := fields.number("max_output_tokens_per_s")) is not None:
        yield Figure(
            name="max_output_tokens_per_s", value=peak, unit="tokens/s", quantity="peak-events/second",
            label="peak/second",
        )  # fmt: skip
    for key, (quantity, label) in _TIMES.items():
        for how in _STATISTICS:
            name = f"{how}_{key}_ms"
            if (value := fields.number(name, low=0)) is not None:
                taken = f"{label}:mean" if label and how == "mean" else None
                yield Figure(name=name, value=value, unit="ms", quantity=f"{quantity}:{how}", label=taken)


def _drafts(fields: Fields) -> Drafts | None:
    steps = fields.count("spec_decode_num_drafts")
    if steps is None:
        return None
    shares = fields.items("spec_decode_per_position_acceptance_rates") or []
    return Drafts(
        verify_steps=steps,
        drafted=fields.count("spec_decode_draft_tokens"),
        accepted=fields.count("spec_decode_accepted_tokens"),
        draft_width=len(shares) or None,
        accepted_by_position=tuple(one for one in shares if isinstance(one, float)) or None,
    )


def _requests(fields: Fields) -> Iterator[Request]:
    outputs, ttfts = fields.counts("output_lens"), fields.times("ttfts", "s")
    if outputs is None or ttfts is None:
        yield from (Request(e2e_ns=end) for end in fields.times("latencies", "s") or ())
        return
    inputs = fields.counts("input_lens") or ()
    starts, gaps = fields.times("start_times", "s") or (), fields.items("itls") or ()
    texts, errors = fields.items("generated_texts") or (), fields.items("errors") or ()
    ends = fields.times("latencies", "s") or ()
    for index, (output, ttft) in enumerate(zip(outputs, ttfts, strict=False)):
        error = at(errors, index)
        failed = bool(error) or (not ttft and not output)
        events = _events(ttft, at(gaps, index), fields.where)
        last = events[-1] if events else None
        end = at(ends, index) if len(ends) == len(outputs) else None
        yield Request(
            send_ns=at(starts, index),
            ttft_ns=None if failed else ttft,
            last_ns=None if failed else last,
            e2e_ns=None if failed else end if end is not None else last,
            events_ns=None if failed else events,
            prompt_tokens=at(inputs, index),
            output_tokens=output,
            error=error_of(error) if failed else None,
            text=text_of(at(texts, index)),
        )


def _events(ttft: int, gaps: object, where: str) -> tuple[int, ...]:
    """Send to each event: TTFT and the sums of the gaps after it."""
    if not isinstance(gaps, list):
        return (ttft,)
    found = [ttft]
    for gap in gaps:
        found.append(found[-1] + time_of(gap, f"{where}: itls", "s"))
    return tuple(found)


FORMAT = Format(
    name="vllm-bench",
    tool="vLLM bench serve",
    recognise=_recognise,
    read=_read,
    source="vllm 0.33.0: vllm/benchmarks/serve.py, vllm/benchmarks/lib/endpoint_request_func.py",
    wrong=(
        "`max_output_tokens_per_s` counts events in the best second, not tokens",
        "`itl` is the gap between events; with several tokens in one it is longer than that between tokens",
        "where a count came from (usage, text tokenised again, 1) is not recorded",
        "the speculation counters are the server's over the run, of all its traffic, counted before the cut at the end",
        "the readiness probe and the warm-ups send the first prompt: its prefix is in the cache",
    ),
    seen="vLLM bench serve 0.32.0: plain, detailed and appended, against vLLM 0.32 (CPU, n-gram drafts) and llama.cpp",
)
