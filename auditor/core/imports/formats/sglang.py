"""SGLang's `bench_serving`: one JSON object a line, and the lines of its steady-state tool."""

from collections.abc import Iterator

from auditor.core.imports.fields import Fields, time_of
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.lists import at, error_of, text_of
from auditor.core.imports.record import Drafts, Figure, Grade, Request, Result, Settings

_NATIVE = ("sglang", "sglang-native", "sglang-embedding")
_SUMS = (
    ("total_input_tokens", "tokens", "prompt_tokens"),
    ("total_output_tokens", "tokens", "output_tokens"),
    ("total_output_tokens_retokenized", "tokens", "retokenised_tokens"),
    ("completed", "requests", "completed"),
    ("request_throughput", "requests/s", "requests/second"),
    ("input_throughput", "tokens/s", None),
    ("output_throughput", "tokens/s", "delivered/system"),
    ("output_throughput_retokenized", "tokens/s", "retokenised/system"),
    ("total_throughput", "tokens/s", "total/system"),
    ("concurrency", "requests", "concurrency"),
    ("accept_length", "tokens/step", None),
    ("max_concurrent_requests", "requests", None),
)
_STEADY = (
    ("total_input", "tokens", "prompt_tokens"),
    ("total_output", "tokens", "output_tokens"),
    ("total_output_retokenized", "tokens", "retokenised_tokens"),
    ("completed", "requests", None),
    ("input_throughput", "tokens/s", None),
    ("output_throughput", "tokens/s", "delivered/system"),
    ("output_throughput_retokenized", "tokens/s", "retokenised/system"),
    ("average_concurrency", "requests", "concurrency"),
    ("peak_concurrency", "requests", None),
)
_ASKED = {
    "total_output_tokens": ("requested_tokens", "output_tokens"),
    "total_output_tokens_retokenized": ("output_tokens", None),
    "output_throughput": ("requested/system", "delivered/system"),
    "total_throughput": (None, None),
}
"""What the figures are where the requested length was taken for the answer's: what came is known by its text."""
_DRIFT = 0.05
"""Share by which text that is tokenised again may fall short of what was generated."""
_STATISTICS = ("mean", "median", "p90", "p95", "p99")


def _recognise(file: File) -> str | None:
    if not file.lines:
        return None
    one = file.lines[0]
    if "total_output_tokens_retokenized" in one and "output_throughput" in one:
        return "result"
    return "steady-state" if "concurrency_threshold" in one and "window_start" in one else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    read = _steady if "steady-state" in parts else _result
    several = len(file.lines) > 1
    results = [
        read(Fields(line, f"{file.name}: line {number}" if several else file.name), number)
        for number, line in enumerate(file.lines, 1)
    ]
    return Reading(tuple(results), notes=("the last line ends within itself and was left out",) if file.is_cut else ())


def _result(fields: Fields, number: int) -> Result:
    backend = fields.text("backend") or ""
    # Gaps are spread over the tokens of a chunk on these backends; on the others each is the gap between chunks.
    spread = backend in _NATIVE or (backend.startswith("sglang-oai") and (fields.number("accept_length") or 0) > 0)
    only_asked = backend not in _NATIVE and _counts_what_was_asked_for(fields)
    requests = tuple(_requests(fields, spread=spread, only_asked=only_asked))
    return Result(
        name=fields.text("tag") or f"result {number}",
        grade=Grade.UNTIMED if requests else Grade.AGGREGATE,
        grade_because="each request has a count and the gaps of its stream, and no start" if requests
        else "written without --output-details: no request is in it",
        counted_by=_counted_by(backend, only_asked=only_asked),
        settings=_settings(fields, backend),
        duration_ns=fields.time("duration", "s"),
        requests=requests,
        figures=tuple(_figures(fields, spread=spread, only_asked=only_asked)),
        drafts=_drafts(fields),
        missing=("the start of each request",) if requests else ("single requests: run with --output-details",),
    )  # fmt: skip


def _counts_what_was_asked_for(fields: Fields) -> bool:
    """Whether the lengths are those that were requested: the text that came holds fewer tokens."""
    counted, retokenised = fields.count("total_output_tokens"), fields.count("total_output_tokens_retokenized")
    return counted is not None and retokenised is not None and retokenised < counted * (1 - _DRIFT)


def _counted_by(backend: str, *, only_asked: bool) -> str:
    if only_asked:
        return "nobody: the requested length was taken for the answer's, of which the text holds less"
    if backend in _NATIVE:
        return "the server's own count"
    return "the requested length, or the server's usage where it sent some: the file does not record which"


def _steady(fields: Fields, number: int) -> Result:
    figures = [
        Figure(name=name, value=value, unit=unit, quantity=quantity)
        for name, unit, quantity in _STEADY
        if (value := fields.number(name, low=0)) is not None
    ]
    if (peak := fields.number("peak_output_throughput")) is not None:
        figures.append(Figure(name="peak_output_throughput", value=peak, unit="tokens/s"))
    return Result(
        name=fields.text("tag") or f"window {number}",
        grade=Grade.AGGREGATE,
        grade_because="the sums of one window with enough requests in flight",
        counted_by="as in the run that it was cut from",
        duration_ns=fields.time("duration", "s"),
        figures=tuple(figures),
        missing=("single requests",),
    )


def _settings(fields: Fields, backend: str) -> Settings:
    names = ("dataset_name", "random_range_ratio")
    is_random = (fields.text("dataset_name") or "").startswith("random")
    return Settings(
        model=_of_server(fields, "model_path") or fields.text("model"),
        server=backend or None,
        concurrency=fields.count("max_concurrency"),
        request_rate=fields.text("request_rate", 30),
        prompt_tokens=fields.count("random_input_len") if is_random else None,
        output_tokens=fields.count("random_output_len" if is_random else "sharegpt_output_len"),
        gpus=_gpus(fields),
        speculation=_of_server(fields, "speculative_algorithm"),
        more={name: value for name in names if (value := fields.text(name))},
    )


def _of_server(fields: Fields, name: str) -> str | None:
    """One of the few fields of `server_info` that are looked at; the rest may hold paths and keys."""
    info = fields.data.get("server_info")
    return Fields(info, fields.where).text(name) if isinstance(info, dict) else None


def _gpus(fields: Fields) -> int | None:
    sizes = [_of_server(fields, name) for name in ("tp_size", "pp_size")]
    known = [int(size) for size in sizes if size is not None and size.isdigit()]
    return known[0] * (known[1] if len(known) > 1 else 1) if known and 0 < known[0] < 10_000 else None


def _figures(fields: Fields, *, spread: bool, only_asked: bool) -> Iterator[Figure]:
    for name, unit, quantity in _SUMS:
        if (value := fields.number(name, low=0)) is not None:
            what, label = _ASKED.get(name, (quantity, None)) if only_asked else (quantity, None)
            yield Figure(name=name, value=value, unit=unit, quantity=what, label=label)
    if (peak := fields.number("max_output_tokens_per_s")) is not None:
        what = "peak/second" if spread else "peak-events/second"
        yield Figure(
            name="max_output_tokens_per_s", value=peak, unit="tokens/s", quantity=what, label="peak/second"
        )  # fmt: skip
    for key, quantity in (("e2e_latency", "e2e"), ("ttft", "ttft"), ("tpot", "tpot"), ("itl", "icl")):
        for how in _STATISTICS:
            if (value := fields.number(f"{how}_{key}_ms")) is not None:
                is_itl = key == "itl"
                yield Figure(
                    name=f"{how}_{key}_ms",
                    value=value,
                    unit="ms",
                    quantity=None if is_itl and spread else f"{quantity}:{how}",
                    label="itl:mean" if is_itl and not spread and how == "mean" else None,
                )


def _drafts(fields: Fields) -> Drafts | None:
    length = fields.number("accept_length")
    return Drafts(reported={"accept_length": length}) if length else None


def _requests(fields: Fields, *, spread: bool, only_asked: bool) -> Iterator[Request]:
    outputs, ttfts = fields.counts("output_lens"), fields.times("ttfts", "s")
    if outputs is None or ttfts is None:
        return
    inputs, cached = fields.counts("input_lens") or (), fields.counts("cached_tokens") or ()
    lists, texts, errors = (fields.items(name) or () for name in ("itls", "generated_texts", "errors"))
    requested = fields.count("random_output_len") if fields.number("random_range_ratio") == 1 else None
    for index, (output, ttft) in enumerate(zip(outputs, ttfts, strict=False)):
        failed = bool(at(errors, index))
        own = at(lists, index)
        gaps = own if isinstance(own, list) else []
        events = [ttft]
        for gap in gaps:
            events.append(events[-1] + time_of(gap, f"{fields.where}: itls", "s"))
        yield Request(
            ttft_ns=None if failed else ttft,
            last_ns=None if failed else events[-1],
            events_ns=None if failed or spread else tuple(events),
            prompt_tokens=at(inputs, index),
            cached_tokens=at(cached, index),
            output_tokens=None if only_asked else output,
            requested_tokens=output if only_asked else requested,
            error=error_of(at(errors, index)) if failed else None,
            text=text_of(at(texts, index)),
        )


FORMAT = Format(
    name="sglang-bench",
    tool="SGLang bench_serving",
    recognise=_recognise,
    read=_read,
    source="sglang 0.5.23: sglang/benchmark/serving.py, steady_state.py, stream_metrics.py",
    wrong=(
        "on OpenAI backends, single turn, `output_lens` begin as the requested length and stay it without usage, which "
        "is not asked for; `total_output_tokens_retokenized` tells",
        "any answer with HTTP 200 is a success, also an empty one",
        "`itl` is spread over the tokens of a chunk on native backends and `sglang-oai` with speculation, and is per "
        "chunk on `vllm`; where it is per chunk, `max_output_tokens_per_s` counts chunks",
        "the window ends after a further request to `/server_info`",
        "`accept_length` is a mean over the life of the server, of its first rank",
    ),
    seen="details on the `sglang-oai-chat` and `vllm` backends, against vLLM 0.32 on a CPU; native backends and the "
    "steady state in their documented shape only",
)
