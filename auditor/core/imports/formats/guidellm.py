"""GuideLLM's report, as JSON or YAML: one result a benchmark, each request with its first and last token."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from auditor.core.imports.fields import Fields
from auditor.core.imports.findings import fails
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.lists import error_of
from auditor.core.imports.measured import Measured, total_of
from auditor.core.imports.quantities import quantity
from auditor.core.imports.record import Figure, Grade, ImportFinding, Request, Result, Settings
from auditor.core.imports.told import Told, beside, figures_of, named
from auditor.core.imports.yamltext import YamlError, parse_yaml
from auditor.errors import UsageError
from auditor.terms import Rung

_YAML = re.compile(r"^ {1,8}guidellm_version:", re.MULTILINE)
_RATES = {
    "requests_per_second": ("total", "requests/s", "requests/second"),
    "request_concurrency": ("total", "requests", "concurrency"),
    "output_tokens_per_second": ("total", "tokens/s", "delivered/system"),
    "tokens_per_second": ("total", "tokens/s", "total/system"),
    "prompt_tokens_per_second": ("total", "tokens/s", None),
}
"""Rates over the window, of which only the mean is one: the others are of moments, made by interpolation."""
_TIMES = {
    "request_latency": ("s", "e2e", ("mean", "median")),
    "time_to_first_token_ms": ("ms", "ttft", ("mean", "median")),
    "inter_token_latency_ms": ("ms", "itl", ("mean",)),
    "time_per_output_token_ms": ("ms", None, ("mean",)),
}
_TPOT = "time_per_output_token_ms successful mean"
_TEXT_RATE = "text.tokens.output_per_second total mean"


def _recognise(file: File) -> str | None:
    one = file.document
    if isinstance(one, dict):
        metadata = one.get("metadata")
        known = isinstance(metadata, dict) and "guidellm_version" in metadata
        return "report" if known and isinstance(one.get("benchmarks"), list) else None
    text = file.text or ""
    return "report" if text.startswith(("benchmarks:", "config:", "metadata:")) and _YAML.search(text) else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    fields = Fields(_document(file), file.name)
    metadata = fields.fields("metadata")
    results = tuple(_result(one, number) for number, one in enumerate(fields.objects("benchmarks"), 1))
    return Reading(results, metadata.text("guidellm_version", 40) if metadata else None)


def _document(file: File) -> Any:
    if file.document is not None:
        return file.document
    try:
        return parse_yaml(file.text or "")
    except YamlError as error:
        raise UsageError(str(error), where=file.name) from None


def _result(one: Fields, number: int) -> Result:
    config, marks, metrics = one.fields("config"), one.fields("scheduler_metrics"), one.fields("metrics")
    strategy = config.fields("strategy") if config else None
    start, end = (marks.time(f"measure_{edge}_time", "s") if marks else None for edge in ("start", "end"))
    requests = tuple(_requests(one.fields("requests")))
    is_whole = _is_whole(requests, metrics)
    result = Result(
        name=" ".join(word for word in _words(strategy) if word) or f"benchmark {number}",
        grade=Grade.TIMED if is_whole else Grade.AGGREGATE,
        grade_because="each request has its start, first and last token and count, on one clock"
        if is_whole
        else "the file holds the statistics of all requests, and not all requests",
        counted_by="usage of the server, else the chunks: the file does not record which",
        settings=_settings(config, strategy),
        clock="epoch" if is_whole else "none",
        duration_ns=max(0, end - start) or None if start is not None and end is not None else None,
        requests=requests if is_whole else (),
        figures=tuple(_figures(metrics, is_part=_is_trimmed(one) or any(each.error for each in requests))),
        missing=("the events of a request: only the first and the last are told, and how many there were",),
    )
    return result.model_copy(update={"findings": tuple(_findings(result))})


def _words(strategy: Fields | None) -> Iterator[str | None]:
    if strategy is not None:
        yield strategy.text("type_")
        yield strategy.text("streams") or strategy.text("rate")


def _settings(config: Fields | None, strategy: Fields | None) -> Settings:
    backend = config.fields("backend") if config else None
    streams = (strategy.count("streams") or strategy.count("max_concurrency")) if strategy else None
    rate = strategy.text("rate", 30) if strategy else None
    model, server = (backend.text("model"), backend.text("kind")) if backend else (None, None)
    return Settings(model=model, server=server, concurrency=streams or None, request_rate=rate)


def _is_whole(requests: tuple[Request, ...], metrics: Fields | None) -> bool:
    totals = metrics.fields("request_totals") if metrics else None
    return bool(requests) and (totals is None or totals.count("total") in (None, len(requests)))


def _is_trimmed(one: Fields) -> bool:
    return any(one.number(f"{edge}_duration") for edge in ("warmup", "cooldown"))


def _requests(groups: Fields | None) -> Iterator[Request]:
    for status in ("successful", "incomplete", "errored"):
        for request in groups.objects(status) if groups else ():
            yield _request(request, status)


def _request(one: Fields, status: str) -> Request:
    info = one.fields("info")
    times = info.fields("timings") if info else None
    at = partial(_since, times)
    output = one.fields("output_metrics")
    tokens = output.count("total_tokens") if output else None
    iterations = times.count("token_iterations") if times else None
    failed = status != "successful"
    return Request(
        id=one.text("request_id", 80),
        send_ns=times.time("request_start", "s") if times else None,
        ttft_ns=None if failed else at("first_token_iteration"),
        last_ns=None if failed else at("last_token_iteration"),
        e2e_ns=None if failed else at("request_end"),
        prompt_tokens=one.count("prompt_tokens"),
        cached_tokens=one.count("cached_tokens"),
        output_tokens=tokens,
        counts={} if iterations is None else {Rung.EVENTS: iterations},
        error=error_of(info.text("error", 300) if info else None) if status == "errored" else
        "incomplete when the benchmark ended" if failed else None,
        text=one.raw_text("output"),
    )  # fmt: skip


def _since(times: Fields | None, name: str) -> int | None:
    """Send to a mark."""
    start, mark = (times.time("request_start", "s"), times.time(name, "s")) if times else (None, None)
    return None if start is None or mark is None else max(0, mark - start)


def _figures(metrics: Fields | None, *, is_part: bool) -> Iterator[Figure]:
    """With warm-up or cool-down, rates are over a part of the requests that the file does not tell, and with requests
    that did not end, over what came of those too: such rates are not counted anew. Neither are medians, which are the
    lower of the two in the middle."""
    if metrics is None:
        return
    for name, (group, unit, what) in _RATES.items():
        mean = Told("mean", unit, None if is_part else what)
        yield from figures_of(_group(metrics, name, group), (mean,), f"{name} {group} ")
    for name, (unit, what, statistics) in _TIMES.items():
        table = tuple(Told(how, unit, f"{what}:{how}" if what and how == "mean" else None) for how in statistics)
        yield from figures_of(_group(metrics, name, "successful"), table, f"{name} successful ")
    text = metrics.fields("text")
    tokens = text.fields("tokens") if text else None
    if tokens is not None:
        spread = _group(tokens, "output_per_second", "total")
        yield from figures_of(spread, (Told("mean", "tokens/s"),), "text.tokens.output_per_second total ")


def _group(metrics: Fields, name: str, group: str) -> Fields | None:
    groups = metrics.fields(name)
    return groups.fields(group) if groups else None


def _findings(result: Result) -> Iterator[ImportFinding]:
    measured = Measured(result)
    if (tpot := named(result.figures, _TPOT)) is not None:
        right = quantity(measured, "itl:mean", "ms")
        what = "the time from send to last token by the tokens, the wait for the first token included"
        yield from beside(tpot, what, "the time per token after the first", right)
    mean = named(result.figures, "output_tokens_per_second total mean")
    if mean is not None and measured.failed:
        what = f"of all requests, the {len(measured.failed):,} that did not end included"
        yield from beside(mean, what, "the rate of those that ended", quantity(measured, "delivered/system", mean.unit))
    spread = named(result.figures, _TEXT_RATE)
    if mean is not None and spread is not None and abs(spread.value - mean.value) > 0.05 * mean.value:
        what = "a mean over moments, made by interpolation, and no count of tokens by a time"
        yield from beside(spread, what, "the rate over the window", quantity(measured, "delivered/system", "tokens/s"))
    events, delivered = total_of([one.counts.get(Rung.EVENTS) for one in measured.done]), measured.delivered
    if events and delivered and delivered > 1.01 * events:
        words = f"{delivered:,} tokens came in {events:,} iterations, {delivered / events:.3g} per iteration"
        yield fails("tokens-per-event", f"{words}: whatever counts iterations is no count of tokens.")


FORMAT = Format(
    name="guidellm",
    tool="GuideLLM",
    recognise=_recognise,
    read=_read,
    source="guidellm 0.8.1: schemas and benchmark/outputs of its JSON and YAML report (metadata version 2)",
    wrong=(
        "`time_per_output_token_ms` includes the wait for the first token; what others call TPOT is its "
        "`inter_token_latency_ms`",
        "of its rates only the means over the window are counts by a time: medians, percentiles and the `text` rates "
        "are of moments, made by interpolation",
        "without usage, chunks are counted as tokens and the file does not say so",
        "requests that did not end stay in the rates with the part that came of them (vllm-project/guidellm#529)",
        "with warm-up or cool-down the rates leave out requests that the file does not name",
    ),
    seen="GuideLLM 0.8.1, JSON and YAML, against vLLM 0.32 on a CPU with n-gram drafts and llama.cpp",
)
