"""The arithmetic inside one line of speculation: how many verify steps, over how long, and whether it fits together.

accepted A, drafted D and the number of positions k are whole; length, rates and positions are rounded. All bounds are
exact: a number of steps is possible exactly if every figure of the line would be printed as it is.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor

from auditor.core.enginelogs.printed import Span
from auditor.core.enginelogs.records import Interval


@dataclass(frozen=True, slots=True)
class Speculation:
    """What the counts of a line allow."""

    accepted: int
    drafted: int
    width: int | None
    """Positions that the line prints: the draft width; None where it prints none."""
    steps_low: int
    steps_high: int
    window: Span | None
    """Seconds that its throughputs divide by; None where it prints none."""

    @property
    def tokens(self) -> Span:
        """Tokens out of the verify steps: one each, and the accepted."""
        return Span(Fraction(self.steps_low + self.accepted), Fraction(self.steps_high + self.accepted))


def speculation_of(interval: Interval) -> Speculation | str | None:
    """The counts of an interval, a sentence where its figures contradict each other, None where it has no counts."""
    accepted, drafted = interval.accepted, interval.drafted
    if accepted is None or drafted is None or interval.is_cumulative:
        return None
    if accepted > drafted:
        return f"{accepted} accepted of {drafted} drafted"
    rate = interval.reported_acceptance
    if rate is not None and drafted and not rate.low <= Fraction(accepted, drafted) <= rate.high:
        return f"{accepted} of {drafted} is not an acceptance of {rate}"
    for first, second in zip(interval.per_position, interval.per_position[1:], strict=False):
        if second.low > first.high:
            return f"a later position accepts more than the one before: {first}, {second}"
    window = _window(interval)
    if isinstance(window, str):
        return window
    low, high = _steps(interval, accepted, drafted)
    if low > high:
        return f"no number of steps gives {_figures(interval)} with {accepted} accepted of {drafted} drafted"
    return Speculation(accepted, drafted, len(interval.per_position) or None, low, high, window)


def _figures(interval: Interval) -> str:
    length = f"length {interval.acceptance_length}" if interval.acceptance_length else ""
    positions = f"positions {', '.join(map(str, interval.per_position))}" if interval.per_position else ""
    return " and ".join(part for part in (length, positions) if part)


def _steps(interval: Interval, accepted: int, drafted: int) -> tuple[int, int]:
    """Fewest and most verify steps that every figure of the line allows.

    A step drafts at least one token and at most k; the length is 1 + A / S; the positions add up to A / S.
    """
    width = len(interval.per_position)
    low, high = Fraction(drafted, width) if width else Fraction(min(1, drafted)), Fraction(drafted)
    length = interval.acceptance_length
    bounds = []
    if length is not None:
        bounds.append(Span(length.low - 1, length.high - 1))
    if width:
        bounds.append(
            Span(
                sum((p.low for p in interval.per_position), Fraction(0)),
                sum((p.high for p in interval.per_position), Fraction(0)),
            )
        )
    for per_step in bounds:
        if per_step.high < 0 or (per_step.high == 0 and accepted) or (per_step.low > 0 and not accepted):
            return 1, 0
        if per_step.high > 0:
            low = max(low, accepted / per_step.high)
        if per_step.low > 0:
            high = min(high, accepted / per_step.low)
    return ceil(low), floor(high)


def _window(interval: Interval) -> Span | str | None:
    """The seconds that both throughputs divide by; a sentence where there are none."""
    found: Span | None = None
    for name, count, rate in (
        ("accepted", interval.accepted, interval.accepted_rate),
        ("drafted", interval.drafted, interval.drafted_rate),
    ):
        if rate is None or count is None:
            continue
        if count == 0 or rate.high <= 0:
            if (count == 0) != (rate.low <= 0):
                return f"{count} {name} at {rate} tokens/s"
            continue
        window = Span(count / rate.high, count / max(rate.low, Fraction(1, 10**6)))
        if found is not None and found.meet(window).is_empty:
            rates = f"{interval.accepted_rate} accepted and {interval.drafted_rate} drafted tokens/s"
            return f"{rates} are not of one span of time: {found.text()} s and {window.text()} s"
        found = window if found is None else found.meet(window)
    return found


def exact(number: Span) -> bool:
    """Whether both bounds are the same."""
    return number.low == number.high
