"""Whether the figures of each request agree with each other, for engines that print one line or block a request."""

from collections import Counter
from fractions import Fraction
from typing import Literal

from auditor.core.enginelogs.identity import SHOWN, Fencepost, LineCheck, fencepost
from auditor.core.enginelogs.records import Interval, Scope
from auditor.core.enginelogs.speculation import speculation_of
from auditor.core.record import Record

Balance = Literal["exact", "more", "fewer"]


class RequestChecks(Record):
    """What the check of all requests gave."""

    requests: int = 0
    fenceposts: dict[Fencepost, int] = {}
    """Requests by what their rate divides by their time: all tokens, all but the first, either, neither."""
    largest_gain: str | None = None
    """By how much dividing all tokens raises the rate, at the most: n / (n - 1) - 1, in per cent."""
    largest_gain_line: int | None = None
    balances: dict[Balance, int] = {}
    """Requests with drafts: tokens against first + verify steps + accepted. `more`: steps without a draft; `fewer`:
    accepted tokens cut at the end."""
    contradictions: int = 0
    shown: tuple[LineCheck, ...] = ()
    """The first requests whose figures contradict each other."""


class RequestTally:
    """Checks requests one by one."""

    def __init__(self) -> None:
        self._requests = 0
        self._fenceposts: Counter[Fencepost] = Counter()
        self._balances: Counter[Balance] = Counter()
        self._shortest: tuple[int, int] | None = None
        self._contradictions = 0
        self._shown: list[LineCheck] = []

    def add(self, interval: Interval) -> None:
        """Check one interval; all but whole requests are passed over."""
        if interval.scope is not Scope.REQUEST:
            return
        self._requests += 1
        post = fencepost(interval)
        if post is not None:
            self._fenceposts[post] += 1
        if post == "neither":
            rate, tokens = interval.delivered_rate, interval.delivered
            self._note(interval, f"{rate} tokens/s is neither {tokens} nor {(tokens or 0) - 1} tokens over its time")
        if post in ("n", "either") and (interval.delivered or 0) > 1:
            found = (interval.delivered or 0, interval.line)
            self._shortest = found if self._shortest is None else min(self._shortest, found)
        self._drafts(interval)

    def finish(self) -> RequestChecks:
        """The result."""
        gain, line = None, None
        if self._shortest is not None:
            tokens, line = self._shortest
            gain = f"{float(Fraction(100, tokens - 1)):.1f}"
        return RequestChecks(
            requests=self._requests,
            fenceposts=dict(self._fenceposts),
            largest_gain=gain,
            largest_gain_line=line,
            balances=dict(self._balances),
            contradictions=self._contradictions,
            shown=tuple(self._shown),
        )

    def _drafts(self, interval: Interval) -> None:
        counts = speculation_of(interval)
        if isinstance(counts, str):
            self._note(interval, f"the request contradicts itself: {counts}")
            return
        if counts is None or interval.delivered is None or interval.acceptance_length is None:
            return
        rest = interval.delivered - 1
        low, high = counts.tokens.low, counts.tokens.high
        self._balances["exact" if low <= rest <= high else "more" if rest > high else "fewer"] += 1

    def _note(self, interval: Interval, sentence: str) -> None:
        self._contradictions += 1
        if len(self._shown) < SHOWN:
            check = LineCheck(line=interval.line, source=interval.source, state="contradicts", sentence=sentence)
            self._shown.append(check)
