"""genai-bench's file of one scenario at one concurrency: sums, statistics and, without a clock, every request."""

from collections.abc import Iterator

from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.measured import total_of
from auditor.core.imports.record import Figure, Grade, ImportFinding, Request, Result, Settings
from auditor.core.imports.told import Told, beside, figures_of, named

_SUMS = (
    Told("mean_output_throughput_tokens_per_s", "tokens/s", "delivered/system"),
    Told("mean_input_throughput_tokens_per_s", "tokens/s"),
    Told("mean_total_tokens_throughput_tokens_per_s", "tokens/s", "total/system"),
    Told("requests_per_second", "requests/s", "requests/second"),
    Told("num_completed_requests", "requests", "completed"),
    Told("num_error_requests", "requests", "failed"),
)
_TIMES = {"ttft": "ttft", "tpot": "tpot", "e2e_latency": "e2e"}
_RATES = {"output_inference_speed": None, "output_throughput": "request-rate"}
_STATISTICS = ("mean", "p25", "p50", "p75", "p90", "p95", "p99")


def _recognise(file: File) -> str | None:
    one = file.document
    return "run" if isinstance(one, dict) and {"aggregated_metrics", "individual_request_metrics"} <= set(one) else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    fields = Fields(file.document, file.name)
    sums = fields.fields("aggregated_metrics")
    if sums is None:
        return Reading(())
    unit = "ms" if fields.text("_time_unit") == "ms" else "s"
    requests = tuple(_requests(fields, unit))
    figures = (*figures_of(sums, _SUMS), *_statistics(sums.fields("stats"), unit))
    duration = sums.time("run_duration", "s")
    tokens = _tokens(sums, requests)
    findings: tuple[ImportFinding, ...] = ()
    if tokens is not None and tokens[0] < tokens[1]:
        findings = tuple(_trimmed(figures, *tokens, duration))
        figures = tuple(one.model_copy(update={"quantity": None, "label": None}) for one in figures)
    return Reading(
        (
            Result(
                name=f"{sums.text('scenario') or 'scenario'}, concurrency {sums.text('num_concurrency') or '?'}",
                grade=Grade.UNTIMED if requests else Grade.AGGREGATE,
                grade_because="each request has its counts and durations and no start",
                counted_by="usage of the server, else an estimate from the text: the file does not record which",
                settings=Settings(
                    concurrency=sums.count("num_concurrency") or None,
                    prompts=sums.count("num_requests"),
                    more={"scenario": scenario} if (scenario := sums.text("scenario")) else {},
                ),
                duration_ns=duration,
                requests=requests,
                figures=figures,
                missing=("model and server: they are in experiment_metadata.json beside it",),
                findings=findings,
            ),
        )
    )


def _statistics(stats: Fields | None, unit: str) -> Iterator[Figure]:
    for key, quantity in _TIMES.items():
        table = tuple(Told(how, unit, f"{quantity}:{how}") for how in _STATISTICS)
        yield from figures_of(stats.fields(key) if stats else None, table, f"{key} ")
    for key, label in _RATES.items():
        table = tuple(
            Told(how, "tokens/s", f"decode-rate:{how}", f"{label}:{how}" if label and how == "mean" else None)
            for how in _STATISTICS
        )
        yield from figures_of(stats.fields(key) if stats else None, table, f"{key} ")


def _requests(fields: Fields, unit: str) -> Iterator[Request]:
    for one in fields.objects("individual_request_metrics"):
        failed = "error_code" in one
        yield Request(
            ttft_ns=None if failed else one.time("ttft", unit),
            e2e_ns=None if failed else one.time("e2e_latency", unit),
            prompt_tokens=one.count("num_input_tokens"),
            output_tokens=one.count("num_output_tokens"),
            reasoning_tokens=one.count("num_reasoning_tokens"),
            error=f"{one.text('error_code')} {one.text('error_message') or ''}".strip() if failed else None,
        )


def _tokens(sums: Fields, requests: tuple[Request, ...]) -> tuple[float, int] | None:
    """Output tokens that the sums are of, and those of all successes; None where either is not told."""
    stats = sums.fields("stats")
    kept = stats.fields("num_output_tokens") if stats else None
    total = kept.number("sum", low=0) if kept else None
    whole = total_of([one.output_tokens for one in requests if one.error is None])
    return None if total is None or whole is None else (total, whole)


def _trimmed(figures: tuple[Figure, ...], kept: float, whole: int, duration: int | None) -> Iterator[ImportFinding]:
    """Warm-up and cool-down leave the tokens and not the time: the printed rate is too low."""
    rate = named(figures, "mean_output_throughput_tokens_per_s")
    if rate is not None and duration:
        what = f"the tokens left after trimming ({kept:,.0f} of {whole:,}) over the time of all requests"
        yield from beside(rate, what, "the rate of all requests", whole * 1e9 / duration, "trimmed-one-side")


FORMAT = Format(
    name="genai-bench",
    tool="genai-bench",
    recognise=_recognise,
    read=_read,
    source="genai-bench 0.0.5: metrics/aggregated_metrics_collector.py, metrics/request_metrics_collector.py",
    wrong=(
        "with --warmup-ratio or --cooldown-ratio the trimmed requests leave the tokens and not the time",
        "a request's `output_throughput` leaves out its first token and the wait for it: it equals "
        "`output_inference_speed`",
        "without usage tokens are estimated, and the file does not say so",
    ),
    seen="genai-bench 0.0.5 against vLLM 0.32 on a CPU with n-gram drafts",
)
