"""llmperf's two files: the single requests without a clock, and the summary."""

from collections.abc import Iterator

from auditor.core.imports.fields import Fields
from auditor.core.imports.findings import fails
from auditor.core.imports.format import File, Format, Parts, Reading
from auditor.core.imports.measured import Measured
from auditor.core.imports.quantities import quantity
from auditor.core.imports.record import Figure, Grade, ImportFinding, Request, Result, Settings
from auditor.core.imports.told import Told, beside, figures_of, named
from auditor.terms import Rung

_SUMS = (
    Told("results_mean_output_throughput_token_per_s", "tokens/s", "delivered/system"),
    Told("results_num_completed_requests", "requests", "completed"),
    Told("results_number_errors", "requests", "failed"),
)
_MEAN_ITL = "results_inter_token_latency_s_mean"
_STATISTICS = ("mean", "quantiles_p25", "quantiles_p50", "quantiles_p75", "quantiles_p90", "quantiles_p95",
               "quantiles_p99")  # fmt: skip
_OVER_REQUESTS = (
    *(Told(f"results_ttft_s_{how}", "s", f"ttft:{how.removeprefix('quantiles_')}") for how in _STATISTICS),
    *(Told(f"results_end_to_end_latency_s_{how}", "s", f"e2e:{how.removeprefix('quantiles_')}") for how in _STATISTICS),
    *(
        Told(f"results_request_output_throughput_token_per_s_{how}", "tokens/s",
             f"request-rate:{how.removeprefix('quantiles_')}")
        for how in _STATISTICS
    ),
    *(Told(f"results_inter_token_latency_s_{how}", "s") for how in _STATISTICS),
)  # fmt: skip


def _recognise(file: File) -> str | None:
    one = file.document
    if isinstance(one, dict) and "results_num_requests_started" in one and "num_concurrent_requests" in one:
        return "summary"
    first = one[0] if isinstance(one, list) and one else None
    mine = {"inter_token_latency_s", "ttft_s", "end_to_end_latency_s", "number_output_tokens"}
    return "requests" if isinstance(first, dict) and mine <= set(first) else None


def _read(parts: Parts) -> Reading:
    summary = Fields(parts["summary"].document, parts["summary"].name) if "summary" in parts else None
    requests = tuple(_requests(parts["requests"])) if "requests" in parts else ()
    figures = tuple(figures_of(summary, (*_SUMS, *_OVER_REQUESTS)))
    result = Result(
        name=(summary.text("name") if summary else None) or "requests",
        grade=Grade.UNTIMED if requests else Grade.AGGREGATE,
        grade_because="each request has its counts and durations and no start" if requests else "the summary only",
        counted_by="the whole text tokenised again, by a Llama tokenizer whatever the model is",
        settings=_settings(summary),
        duration_ns=_duration(summary),
        requests=requests,
        figures=figures,
        missing=tuple(
            word
            for part, word in (
                ("requests", "single requests: they are in *_individual_responses.json"),
                ("summary", "rates over all requests: they are in *_summary.json"),
            )
            if part not in parts
        ),
    )
    return Reading((result.model_copy(update={"findings": tuple(_findings(result, parts))}),))


def _settings(summary: Fields | None) -> Settings:
    if summary is None:
        return Settings()
    return Settings(
        model=summary.text("model"),
        concurrency=summary.count("num_concurrent_requests") or None,
        prompts=summary.count("results_num_requests_started"),
        prompt_tokens=summary.count("mean_input_tokens"),
        output_tokens=summary.count("mean_output_tokens"),
    )


def _duration(summary: Fields | None) -> int | None:
    """The window, which the file tells only as requests per minute."""
    done = summary.number("results_num_completed_requests", low=0) if summary else None
    pace = summary.number("results_num_completed_requests_per_min", low=0) if summary else None
    return round(done * 60e9 / pace) if done and pace and pace > 1e-6 else None


def _requests(file: File) -> Iterator[Request]:
    for number, value in enumerate(file.document):
        one = Fields(value, f"{file.name}: request {number + 1}")
        failed = "error_code" in one
        output = one.count("number_output_tokens")
        yield Request(
            ttft_ns=None if failed else one.time("ttft_s", "s"),
            e2e_ns=None if failed else one.time("end_to_end_latency_s", "s"),
            prompt_tokens=one.count("number_input_tokens"),
            output_tokens=output,
            rung=Rung.RETOKENISED,
            counts={} if output is None else {Rung.RETOKENISED: output},
            error=f"{one.text('error_code')} {one.text('error_msg') or ''}".strip() if failed else None,
        )


def _lines(file: File) -> int | None:
    """Lines of the streams, for the gaps add up to about the whole latency and were divided by the lines."""
    found = 0
    for number, value in enumerate(file.document):
        one = Fields(value, f"{file.name}: request {number + 1}")
        gap, latency = one.number("inter_token_latency_s", low=0), one.number("end_to_end_latency_s", low=0)
        if "error_code" in one:
            continue
        if not gap or not latency or latency / gap > 1e9:
            return None
        found += round(latency / gap)
    return found


def _findings(result: Result, parts: Parts) -> Iterator[ImportFinding]:
    measured = Measured(result)
    if (gap := named(result.figures, _MEAN_ITL) or _mean_gap(parts)) is not None:
        what = "the whole latency, the wait for the first token included, by the lines of the stream"
        yield from beside(gap, what, "the time between tokens (mean)", quantity(measured, "itl:mean", "s"))
    lines = _lines(parts["requests"]) if "requests" in parts else None
    delivered = measured.delivered
    if lines and delivered and abs(delivered / lines - 1) > 0.1:
        words = (
            f"{delivered:,} tokens came in about {lines:,} lines of the streams, {delivered / lines:.2f} per line, the "
            "lines without text included: whatever divides by lines is no time or rate of tokens."
        )
        yield fails("tokens-per-event", words)


def _mean_gap(parts: Parts) -> Figure | None:
    """The mean that the summary would print."""
    values = parts["requests"].document if "requests" in parts else []
    each = [Fields(value, parts["requests"].name).number("inter_token_latency_s", low=0) for value in values]
    known = [one for one in each if one is not None]
    return Figure(name="inter_token_latency_s mean", value=sum(known) / len(known), unit="s") if known else None


FORMAT = Format(
    name="llmperf",
    tool="llmperf",
    recognise=_recognise,
    read=_read,
    source="llmperf f1d6bed: token_benchmark_ray.py, src/llmperf/ray_clients/openai_chat_completions_client.py",
    wrong=(
        "`inter_token_latency_s` is the sum of all gaps, TTFT included, divided by the lines of the stream, those "
        "without text included",
        "tokens are counted by a Llama tokenizer whatever the model is",
        "no start of a request is kept: what was in flight cannot be told",
        "the project has ended",
    ),
    seen="llmperf f1d6bed against vLLM 0.32 on a CPU with n-gram drafts, the model's own tokenizer in place of Llama's",
)
