"""The quantities that tools print, by one name each, and what a result gives for them when it is counted anew.

A quantity is a counting basis of `auditor.core.bases` (`delivered/system`), a sum or count (`output_tokens`,
`completed`), or a statistic over requests or gaps: `ttft:mean`, `tpot:p99`, `icl:median`, `request-rate:mean`.
"""

from collections.abc import Callable, Iterator, Sequence

from auditor.core.bases import BASES
from auditor.core.bases.kinds import minus
from auditor.core.imports.measured import Measured, decode_ns, gaps, total_of
from auditor.core.imports.record import Request

NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
RULES = {basis.id: basis for basis in BASES}
"""Every counting basis by its id."""


def quantity(measured: Measured, name: str, unit: str) -> float | None:
    """A quantity, counted anew, in this unit; None where the file does not allow it."""
    what, _, how = name.partition(":")
    if name not in _SUMS and how:
        if what in _RATES:
            return statistic(list(_RATES[what](measured.done)), how)
        value = statistic(list(_VALUES[what](measured.done)), how)
        return None if value is None else value / NS[unit]
    if name in RULES:
        return RULES[name].rate(measured.sample, measured.load)
    return _scaled(_SUMS[name](measured), unit)


def statistic(values: Sequence[float], name: str) -> float | None:
    """`mean`, `median`, `min`, `max` or `pNN` of values, percentiles with linear interpolation; None without values."""
    import numpy as np

    if not values:
        return None
    if name == "mean":
        return float(np.mean(values))
    if name in ("min", "max"):
        return float(min(values) if name == "min" else max(values))
    return float(np.percentile(values, 50.0 if name == "median" else float(name[1:])))


def _per_second(measured: Measured) -> float | None:
    count = len(measured.done) or measured.printed("completed")
    return count * 1e9 / measured.window_ns if count and measured.window_ns else None


_SUMS: dict[str, Callable[[Measured], float | None]] = {
    "completed": lambda m: len(m.done) if m.result.requests else None,
    "failed": lambda m: len(m.failed) if m.result.requests else None,
    "prompt_tokens": lambda m: m.counted("prompt_tokens"),
    "output_tokens": lambda m: m.delivered,
    "requested_tokens": lambda m: m.counted("requested_tokens"),
    "retokenised_tokens": lambda m: m.sample.recounted.whole if m.result.requests else None,
    "requests/second": _per_second,
    "concurrency": lambda m: m.effective_streams,
    "peak_concurrency": lambda m: m.streams_in_flight,
    "duration": lambda m: m.span_ns,
    "itl:mean": lambda m: _gap_of_tokens(m),
    "acceptance_length": lambda m: _ratio(m.drafts.accepted, m.drafts.verify_steps, 1.0),
    "acceptance_rate": lambda m: _ratio(m.drafts.accepted, m.drafts.drafted, 0.0),
}
"""Quantities that are neither a counting basis nor a statistic. Times are ns."""


def _gap_of_tokens(m: Measured) -> float | None:
    """First to last event by the tokens after the first event, over all requests; the printed time per token without
    requests."""
    after, time = minus(m.counted("output_tokens"), m.first_tokens), total_of([decode_ns(one) for one in m.done])
    if after and time:
        return time / after
    printed = next((one for one in m.result.figures if one.quantity == "tpot:mean" and not m.done), None)
    return None if printed is None else printed.value * NS[printed.unit]


def _ratio(over: int | None, under: int | None, base: float) -> float | None:
    return None if over is None or not under else base + over / under


def _scaled(value: float | None, unit: str) -> float | None:
    """Durations in the figure's unit; per cent of a share."""
    if value is None:
        return None
    return value * 100 if unit == "%" else value / NS[unit] if unit in NS else value


def _ttft(done: Sequence[Request]) -> Iterator[float]:
    return (one.ttft_ns for one in done if one.ttft_ns is not None)


def _e2e(done: Sequence[Request]) -> Iterator[float]:
    return (one.e2e_ns for one in done if one.e2e_ns is not None)


def _icl(done: Sequence[Request]) -> Iterator[float]:
    return (gap for one in done for gap in gaps(one))


def _tpot(done: Sequence[Request]) -> Iterator[float]:
    """End less TTFT, by the tokens less one: the usual client formula, with the end of the stream for the last
    token."""
    for one in done:
        if one.e2e_ns is not None and one.ttft_ns is not None and (one.output_tokens or 0) > 1:
            yield (one.e2e_ns - one.ttft_ns) / ((one.output_tokens or 0) - 1)


def _tpot_first(done: Sequence[Request]) -> Iterator[float]:
    for one in done:
        if one.e2e_ns is not None and one.output_tokens:
            yield one.e2e_ns / one.output_tokens


def _request_rate(done: Sequence[Request]) -> Iterator[float]:
    return (one.output_tokens * 1e9 / one.e2e_ns for one in done if one.e2e_ns and one.output_tokens is not None)


def _decode_rate(done: Sequence[Request]) -> Iterator[float]:
    return (1e9 / time for time in _tpot(done) if time)


_VALUES: dict[str, Callable[[Sequence[Request]], Iterator[float]]] = {
    "ttft": _ttft,
    "e2e": _e2e,
    "icl": _icl,
    "tpot": _tpot,
    "tpot-with-first": _tpot_first,
}
"""Times of requests or gaps, ns."""
_RATES: dict[str, Callable[[Sequence[Request]], Iterator[float]]] = {
    "request-rate": _request_rate,
    "decode-rate": _decode_rate,
}
"""Rates of requests, tokens per second."""
