"""Counts an imported result anew: its sums, its rates under every counting rule, the quantities that tools print."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from auditor.core.bases import BASES
from auditor.core.bases.kinds import Load, One, Recounted, Sample
from auditor.core.counting.tally import Tally
from auditor.core.imports.record import Drafts, Request, Result
from auditor.terms import Rung

SECOND_NS = 10**9
NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
_RULES = {basis.id: basis for basis in BASES}


@dataclass(frozen=True)
class Measured:
    """A result, counted anew from its requests, or from its printed sums where it has no requests."""

    result: Result

    @cached_property
    def done(self) -> tuple[Request, ...]:
        """The requests that the tool calls successes."""
        return tuple(one for one in self.result.requests if one.error is None)

    @cached_property
    def failed(self) -> tuple[Request, ...]:
        """The others."""
        return tuple(one for one in self.result.requests if one.error is not None)

    def printed(self, quantity: str) -> float | None:
        """The figure that is this quantity, as printed; None without one."""
        return next((one.value for one in self.result.figures if one.quantity == quantity), None)

    def total(self, name: str, quantity: str) -> int | None:
        """The sum of a count over the successes, else the printed sum."""
        if (known := self.counted(name)) is not None:
            return known
        value = self.printed(quantity)
        return None if value is None else round(value)

    def counted(self, name: str) -> int | None:
        """The sum of a count over the successes; None where one of them does not tell."""
        return _sum([getattr(one, name) for one in self.done])

    @cached_property
    def delivered(self) -> int | None:
        """Output tokens of the successes, by the tool's own count."""
        return self.total("output_tokens", "output_tokens")

    @cached_property
    def drafts(self) -> Drafts:
        """What was drafted in all: the run's own counts, else the sum over the requests."""
        if self.result.drafts is not None:
            return self.result.drafts
        each = [one.drafts for one in self.done]
        if not each or None in each:
            return Drafts()
        names = ("verify_steps", "drafted", "accepted")
        sums = {name: _sum([getattr(one, name) for one in each if one]) for name in names}
        widths = [one.draft_width for one in each if one and one.draft_width is not None]
        return Drafts(**sums, draft_width=max(widths, default=None))

    @cached_property
    def events(self) -> int | None:
        """Events with text or tokens, over the successes."""
        return _sum([None if one.events_ns is None else len(one.events_ns) for one in self.done])

    @cached_property
    def first_tokens(self) -> int | None:
        """Tokens of the first events; one each where the file does not tell."""
        if any(one.ttft_ns is None and not one.events_ns for one in self.done) or not self.done:
            return None
        return sum(one.event_tokens[0] if one.event_tokens else 1 for one in self.done if one.output_tokens)

    @cached_property
    def span_ns(self) -> int | None:
        """First send to last end of the successes; None without a common clock."""
        ends = [_plus(one.send_ns, one.e2e_ns if one.e2e_ns is not None else one.last_ns) for one in self.done]
        starts = [one.send_ns for one in self.done]
        if not ends or None in ends or None in starts:
            return None
        return max(end for end in ends if end is not None) - min(start for start in starts if start is not None)

    @cached_property
    def window_ns(self) -> int | None:
        """The tool's own window; first send to last end where it states none."""
        return self.result.duration_ns or self.span_ns

    @cached_property
    def streams_in_flight(self) -> int | None:
        """Most requests in flight at once, by the file's times; None without a common clock."""
        marks: list[tuple[int, int]] = []
        for one in self.result.requests:
            if one.send_ns is None or one.e2e_ns is None:
                return None
            marks += [(one.send_ns, 1), (one.send_ns + one.e2e_ns, -1)]
        most = now = 0
        for _, change in sorted(marks):
            now += change
            most = max(most, now)
        return most or None

    @cached_property
    def effective_streams(self) -> float | None:
        """C_eff = sum(e2e) / W."""
        total = _sum([one.e2e_ns for one in self.done])
        return total / self.window_ns if total and self.window_ns else None

    @cached_property
    def load(self) -> Load:
        """The streams as configured, else as seen; one where nothing tells."""
        settings = self.result.settings
        return Load(settings.concurrency or self.streams_in_flight or 1, settings.gpus)

    @cached_property
    def sample(self) -> Sample:
        """The result as the counting rules see it."""
        best_tokens, best_events = self._best_second
        complete = bool(self.done) and all(one.output_tokens is not None for one in self.done)
        return Sample(
            counts=Tally(
                delivered=self.delivered,
                prompt_tokens=self.total("prompt_tokens", "prompt_tokens"),
                reasoning=_sum([one.reasoning_tokens for one in self.done]),
                requested=_sum([one.requested_tokens for one in self.done]),
                events=self.events,
                verify_steps=self.drafts.verify_steps,
                drafted=self.drafts.drafted,
                accepted=self.drafts.accepted,
                draft_width=self.drafts.draft_width,
                requests=len(self.done) or 1,
            ),
            first_tokens=self.first_tokens,
            decode_ns=_sum([_decode(one) for one in self.done]),
            e2e_ns=_sum([one.e2e_ns for one in self.done]),
            window_ns=self.window_ns,
            each=tuple(map(_one, self.done)) if complete else (),
            peak_tokens=best_tokens,
            peak_events=best_events,
            recounted=Recounted(whole=self._retokenised),
        )

    @cached_property
    def _retokenised(self) -> int | None:
        known = _sum([one.counts.get(Rung.RETOKENISED) for one in self.done])
        if known is not None:
            return known
        value = self.printed("retokenised_tokens")
        return None if value is None else round(value)

    @cached_property
    def _best_second(self) -> tuple[float | None, int | None]:
        """The most tokens and the most events in one of the seconds from the first send. Where events do not tell their
        tokens, those after the first event are spread evenly over the events."""
        import numpy as np

        if not self.events or any(one.send_ns is None for one in self.done):
            return None, None
        start = min(one.send_ns or 0 for one in self.done)
        offsets = [(one.send_ns or 0) - start for one in self.done]
        at = np.concatenate([np.array(one.events_ns) + off for one, off in zip(self.done, offsets, strict=True)])
        _, second, events = np.unique(at // SECOND_NS, return_inverse=True, return_counts=True)
        spread = [tokens_of_events(one) for one in self.done]
        if any(one is None for one in spread):
            return None, int(events.max())
        tokens = np.bincount(second, weights=np.concatenate([one for one in spread if one is not None]))
        return float(round(tokens.max())), int(events.max())

    def quantity(self, name: str, unit: str) -> float | None:
        """A quantity, counted anew, in this unit; None where the file does not allow it.

        `name` is a counting basis (`delivered/system`), a sum or count (`output_tokens`, `completed`), or what is
        printed as a statistic over requests or gaps: `ttft:mean`, `tpot:p99`, `icl:median`, `request-rate:mean`.
        """
        what, _, how = name.partition(":")
        if name not in _SUMS and how:
            if what in _RATES:
                return statistic(list(_RATES[what](self.done)), how)
            value = statistic(list(_VALUES[what](self.done)), how)
            return None if value is None else value / NS[unit]
        if name in _RULES:
            return _RULES[name].rate(self.sample, self.load)
        return _scaled(_SUMS[name](self), unit)


def _per_second(measured: Measured) -> float | None:
    count = len(measured.done) or measured.printed("completed")
    return count * 1e9 / measured.window_ns if count and measured.window_ns else None


_SUMS: dict[str, Callable[[Measured], float | None]] = {
    "completed": lambda m: len(m.done) if m.result.requests else None,
    "failed": lambda m: len(m.failed) if m.result.requests else None,
    "prompt_tokens": lambda m: m.counted("prompt_tokens"),
    "output_tokens": lambda m: m.counted("output_tokens"),
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
    after, time = _minus(m.counted("output_tokens"), m.first_tokens), _sum([_decode(one) for one in m.done])
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


def tokens_of_events(one: Request) -> Sequence[float] | None:
    """Tokens of each event; where the file does not tell, one in the first and the others spread evenly."""
    if one.event_tokens is not None:
        return one.event_tokens
    if one.output_tokens is None or not one.events_ns:
        return None
    after = len(one.events_ns) - 1
    if not after:
        return (float(one.output_tokens),)
    return (1.0, *([(one.output_tokens - 1) / after] * after))


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


def gaps(one: Request) -> list[int]:
    """Gaps between the events of one request, ns."""
    events = one.events_ns or ()
    return [later - earlier for earlier, later in pairwise(events)]


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


def _one(one: Request) -> One:
    first = one.event_tokens[0] if one.event_tokens else 1
    return One(
        delivered=one.output_tokens,
        decode_tokens=None if one.output_tokens is None else max(0, one.output_tokens - first),
        decode_ns=_decode(one),
        e2e_ns=one.e2e_ns,
    )


def _decode(one: Request) -> int | None:
    """First to last event."""
    if one.events_ns:
        return one.events_ns[-1] - one.events_ns[0]
    last = one.last_ns if one.last_ns is not None else one.e2e_ns
    return None if last is None or one.ttft_ns is None else last - one.ttft_ns


def _plus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left + right


def _minus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left - right


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
