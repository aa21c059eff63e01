"""Hugging Face's inference-benchmarker: one result a step of the load, sums and percentiles only."""

from collections.abc import Iterator

from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Figure, Grade, Result, Settings
from auditor.core.imports.told import Told, figures_of

_SUMS = (
    Told("token_throughput_secs", "tokens/s", "delivered/system"),
    Told("total_tokens", "tokens", "output_tokens"),
    Told("total_tokens_sent", "tokens", "prompt_tokens"),
    Told("request_rate", "requests/s", "requests/second"),
    Told("successful_requests", "requests", "completed"),
    Told("failed_requests", "requests", "failed"),
)
_TIMES = {"time_to_first_token_ms": "ttft", "inter_token_latency_ms": "tpot", "e2e_latency_ms": "e2e"}
_STATISTICS = {"avg": "mean", "p50": "p50", "p90": "p90", "p95": "p95", "p99": "p99"}


def _recognise(file: File) -> str | None:
    one = file.document
    results = one.get("results") if isinstance(one, dict) else None
    first = results[0] if isinstance(results, list) and results else None
    return "report" if isinstance(first, dict) and {"token_throughput_secs", "executor_type"} <= set(first) else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    fields = Fields(file.document, file.name)
    config = fields.fields("config")
    model = config.text("tokenizer") or config.text("model_name") if config else None
    started = fields.text("start_time")
    return Reading(tuple(_result(one, model, started) for one in fields.objects("results")))


def _result(one: Fields, model: str | None, started: str | None) -> Result:
    load = one.fields("config")
    return Result(
        name=one.text("id") or "step",
        grade=Grade.AGGREGATE,
        grade_because="sums and percentiles of the requests",
        counted_by="each chunk tokenised by itself, by the client",
        settings=Settings(
            model=model,
            server=one.text("executor_type"),
            concurrency=load.count("max_vus") or None if load and one.text("executor_type") == "ConstantVUs" else None,
            request_rate=load.text("rate", 30) if load else None,
            prompts=one.count("total_requests"),
        ),
        started=started,
        duration_ns=one.time("duration_ms", "ms"),
        figures=tuple(_figures(one)),
        missing=("single requests: the tool does not write them",),
    )


def _figures(one: Fields) -> Iterator[Figure]:
    yield from figures_of(one, _SUMS)
    for name, quantity in _TIMES.items():
        table = tuple(Told(key, "ms", f"{quantity}:{how}") for key, how in _STATISTICS.items())
        yield from figures_of(one.fields(name), table, f"{name} ")


FORMAT = Format(
    name="hf-inference-benchmarker",
    tool="inference-benchmarker",
    recognise=_recognise,
    read=_read,
    source="huggingface/inference-benchmarker dfef39d: src/writers.rs, src/results.rs, src/requests.rs",
    wrong=(
        "tokens are those of each chunk tokenised by itself, which may be more than the whole text has",
        "`inter_token_latency_ms` is a time per token of a request, and no gap that a user saw",
        "tokens of failed requests are left out, their time is not",
    ),
)
