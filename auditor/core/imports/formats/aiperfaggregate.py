"""AIPerf's aggregate, `profile_export_aiperf.json`: its figures, and the settings of the run."""

from collections.abc import Iterator

from auditor.core.imports.fields import Fields
from auditor.core.imports.record import Figure, Settings

_RATES = {
    "output_token_throughput": "delivered/system",
    "total_token_throughput": "total/system",
    "request_throughput": "requests/second",
    "input_token_throughput": None,
}
_SUMS = {
    "total_osl": "output_tokens",
    "total_isl": "prompt_tokens",
    "completed_request_count": "completed",
    "benchmark_duration": None,
    "effective_concurrency": None,
}
_SERIES = {
    "time_to_first_token": ("ttft", "ms"),
    "request_latency": ("e2e", "ms"),
    "inter_token_latency": ("tpot", "ms"),
    "inter_chunk_latency": ("icl", "ms"),
    "output_token_throughput_per_user": ("decode-rate", "tokens/s"),
    "e2e_output_token_throughput": ("request-rate", "tokens/s"),
}
_STATISTICS = {"avg": "mean", "p50": "median", "p90": "p90", "p99": "p99", "min": "min", "max": "max"}
_UNITS = {"sec": "s", "tokens/sec": "tokens/s", "requests/sec": "requests/s", "tokens/sec/user": "tokens/s"}


def is_server_count(aggregate: Fields | None) -> bool | None:
    """Whether the server's usage was taken for the count; None where the aggregate is missing."""
    config = aggregate.fields("input_config") if aggregate else None
    endpoint = config.fields("endpoint") if config else None
    return None if endpoint is None else endpoint.data.get("use_server_token_count") is True


def settings_of(aggregate: Fields | None, gpus: int | None) -> Settings:
    """What was asked of the server; `gpus` are those whose telemetry is beside the run."""
    config = aggregate.fields("input_config") if aggregate else None
    if config is None:
        return Settings(gpus=gpus)
    models, endpoint = config.fields("models"), config.fields("endpoint")
    first = next(iter(models.objects("items")), None) if models else None
    phases = [one for one in config.objects("phases") if one.text("kind") in (None, "profiling")]
    phase = phases[0] if phases else None
    extra = endpoint.fields("extra") if endpoint else None
    return Settings(
        model=first.text("name") if first else None,
        server=endpoint.text("type") if endpoint else None,
        concurrency=phase.count("concurrency") if phase else None,
        request_rate=phase.text("request_rate", 30) if phase else None,
        prompts=phase.count("requests") if phase else None,
        output_tokens=extra.count("max_tokens") if extra else None,
        gpus=gpus,
    )


def duration_of(aggregate: Fields | None) -> int | None:
    """The tool's window, ns."""
    one = aggregate.fields("benchmark_duration") if aggregate else None
    return one.time("avg", "s") if one else None


def figures_of(aggregate: Fields) -> Iterator[Figure]:
    """Sums and rates, and the statistics of each series."""
    for name, quantity in (_RATES | _SUMS).items():
        one = aggregate.fields(name)
        if one is not None and (value := one.number("avg")) is not None:
            unit = one.text("unit") or ""
            yield Figure(name=name, value=value, unit=_UNITS.get(unit, unit), quantity=quantity)
    for name, (quantity, unit) in _SERIES.items():
        one = aggregate.fields(name)
        for how, word in _STATISTICS.items() if one is not None else ():
            if one is not None and (value := one.number(how)) is not None:
                label = f"itl:{word}" if name == "inter_token_latency" and word == "mean" else None
                yield Figure(name=f"{name} {how}", value=value, unit=unit, quantity=f"{quantity}:{word}", label=label)
