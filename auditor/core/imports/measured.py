"""Counts an imported result anew: its sums, and what the counting rules need of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from auditor.core.bases.kinds import Load, One, Recounted, Sample
from auditor.core.counting.tally import Tally
from auditor.core.imports.record import Drafts, Request, Result
from auditor.terms import Rung

SECOND_NS = 10**9


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
        return total_of([getattr(one, name) for one in self.done])

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
        sums = {name: total_of([getattr(one, name) for one in each if one]) for name in names}
        widths = [one.draft_width for one in each if one and one.draft_width is not None]
        return Drafts(**sums, draft_width=max(widths, default=None))

    @cached_property
    def events(self) -> int | None:
        """Events with text or tokens, over the successes."""
        return total_of([None if one.events_ns is None else len(one.events_ns) for one in self.done])

    @cached_property
    def first_tokens(self) -> int | None:
        """Tokens of the first events; one each where the file does not tell."""
        if any(one.ttft_ns is None and not one.events_ns for one in self.done) or not self.done:
            return None
        return sum(one.event_tokens[0] if one.event_tokens else 1 for one in self.done if one.output_tokens)

    @cached_property
    def span_ns(self) -> int | None:
        """First send to last end of the successes; None without a common clock."""
        spans: list[tuple[int, int]] = []
        for one in self.done:
            time = one.e2e_ns if one.e2e_ns is not None else one.last_ns
            if one.send_ns is None or time is None:
                return None
            spans.append((one.send_ns, one.send_ns + time))
        return max(end for _, end in spans) - min(start for start, _ in spans) if spans else None

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
        total = total_of([one.e2e_ns for one in self.done])
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
                reasoning=total_of([one.reasoning_tokens for one in self.done]),
                requested=total_of([one.requested_tokens for one in self.done]),
                events=self.events,
                verify_steps=self.drafts.verify_steps,
                drafted=self.drafts.drafted,
                accepted=self.drafts.accepted,
                draft_width=self.drafts.draft_width,
                requests=len(self.done) or 1,
            ),
            first_tokens=self.first_tokens,
            decode_ns=total_of([decode_ns(one) for one in self.done]),
            e2e_ns=total_of([one.e2e_ns for one in self.done]),
            window_ns=self.window_ns,
            each=tuple(map(_one, self.done)) if complete else (),
            peak_tokens=best_tokens,
            peak_events=best_events,
            recounted=Recounted(whole=self._retokenised),
        )

    @cached_property
    def _retokenised(self) -> int | None:
        known = total_of([one.counts.get(Rung.RETOKENISED) for one in self.done])
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


def gaps(one: Request) -> list[int]:
    """Gaps between the events of one request, ns."""
    events = one.events_ns or ()
    return [later - earlier for earlier, later in pairwise(events)]


def _one(one: Request) -> One:
    first = one.event_tokens[0] if one.event_tokens else 1
    return One(
        delivered=one.output_tokens,
        decode_tokens=None if one.output_tokens is None else max(0, one.output_tokens - first),
        decode_ns=decode_ns(one),
        e2e_ns=one.e2e_ns,
    )


def decode_ns(one: Request) -> int | None:
    """First to last event."""
    if one.events_ns:
        return one.events_ns[-1] - one.events_ns[0]
    last = one.last_ns if one.last_ns is not None else one.e2e_ns
    return None if last is None or one.ttft_ns is None else last - one.ttft_ns


def total_of(values: Sequence[int | None]) -> int | None:
    """The sum; None where a value is, or where there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None
