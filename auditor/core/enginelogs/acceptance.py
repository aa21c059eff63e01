"""Acceptance over a whole log, from the counts that it prints; the engine's own rates stay apart as reported."""

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

from auditor.core.enginelogs.printed import EXACT, NOTHING, Printed, Span, quantized, rounded, span, sure
from auditor.core.enginelogs.records import Interval, Scope
from auditor.core.enginelogs.speculation import speculation_of
from auditor.core.record import Record


class Acceptance(Record):
    """Drafts over a whole log. Texts have no more places than the log allows."""

    lines: int
    """Lines that say something of drafts."""
    accepted: int | None = None
    drafted: int | None = None
    counted_how: str | None = None
    steps: str | None = None
    """Verify steps, from lengths and counts."""
    rate: str | None = None
    """Accepted over drafted, a fraction."""
    length: str | None = None
    """Tokens per verify step, the bonus token included: over all steps where counts allow, else the mean of lines."""
    length_how: str | None = None
    least_length: str | None = None
    most_length: str | None = None
    widths: tuple[int, ...] = ()
    """Draft widths seen, as numbers of positions."""
    per_position: tuple[str, ...] = ()
    """Accepted at each position over verify steps; only where all lines have one width."""
    reported_rate: str | None = None
    """Mean of the engine's own rate over lines."""
    reported_definition: str | None = None
    """What the engine's rate divides by what."""
    strict_rate: str | None = None
    """Accepted over nominally drafted, made from the length where no counts are printed."""
    reason: str | None = None
    """Why there is no rate from counts."""


@dataclass(slots=True)
class AcceptanceTally:
    """Sums over intervals."""

    lines: int = 0
    accepted: int = 0
    drafted: int = 0
    counted: int = 0
    steps: Span = NOTHING
    stepped: int = 0
    """Accepted tokens of the lines whose steps are known."""
    last_total: Interval | None = None
    lengths: Span = NOTHING
    weights: int = 0
    least: Printed | None = None
    most: Printed | None = None
    widths: set[int] = field(default_factory=set)
    positions: list[Span] = field(default_factory=list)
    reported: Decimal = Decimal(0)
    reported_lines: int = 0
    reported_places: int = 0

    def add(self, interval: Interval) -> None:
        """Take one interval; those without drafts are passed over."""
        length, rate = interval.acceptance_length, interval.reported_acceptance
        if interval.scope is Scope.PROGRESS or (interval.drafted is None and length is None and rate is None):
            return
        self.lines += 1
        if rate is not None:
            self.reported = EXACT.add(self.reported, rate.value)
            self.reported_lines += 1
            self.reported_places = max(self.reported_places, rate.decimals)
        if length is not None:
            weight = max(1, interval.running or 1)
            self.lengths = self.lengths.plus(span(length), weight)
            self.weights += weight
            self.least = length if self.least is None or length.value < self.least.value else self.least
            self.most = length if self.most is None or length.value > self.most.value else self.most
        if interval.is_cumulative:
            self.last_total = interval
            return
        counts = speculation_of(interval)
        if counts is None or isinstance(counts, str):
            return
        self.accepted += counts.accepted
        self.drafted += counts.drafted
        self.counted += 1
        if length is not None:
            self.stepped += counts.accepted
            self.steps = self.steps.plus(Span(Fraction(counts.steps_low), Fraction(counts.steps_high)))
        if counts.width is not None and len(self.widths) < 100:
            self.widths.add(counts.width)
            self._weigh(interval, Span(Fraction(counts.steps_low), Fraction(counts.steps_high)))

    def finish(self, *, definition: str | None, strict: Span | None) -> Acceptance | None:
        """The result; None where no line said anything of drafts. `strict` comes from outside, for SGLang."""
        if not self.lines:
            return None
        length, how = self._length()
        total = self.last_total
        accepted = total.accepted if total else self.accepted if self.counted else None
        drafted = total.drafted if total else self.drafted if self.counted else None
        by_count = rounded(Fraction(accepted or 0, drafted), 3) if drafted else None
        mean = EXACT.divide(self.reported, Decimal(self.reported_lines)) if self.reported_lines else None
        return Acceptance(
            lines=self.lines,
            accepted=accepted,
            drafted=drafted,
            counted_how="since the start of the server" if total else "summed over lines" if self.counted else None,
            steps=self.steps.text(0) if self.steps.high > 0 else None,
            rate=by_count,
            length=length,
            length_how=how,
            least_length=self.least.text if self.least else None,
            most_length=self.most.text if self.most else None,
            widths=tuple(sorted(self.widths)),
            per_position=self._positions(),
            reported_rate=str(quantized(mean, self.reported_places)) if mean is not None else None,
            reported_definition=definition,
            strict_rate=sure(strict, 3) if strict is not None else None,
            reason=None if by_count else "no counts of accepted and drafted tokens are printed",
        )

    def mean_length(self) -> Span | None:
        """Mean of the lines' lengths, each weighing as the requests that ran."""
        if not self.weights:
            return None
        return Span(self.lengths.low / self.weights, self.lengths.high / self.weights)

    def _length(self) -> tuple[str | None, str | None]:
        if self.steps.low > 0:
            bounds = Span(1 + self.stepped / self.steps.high, 1 + self.stepped / self.steps.low)
            return bounds.text(2), "1 + accepted / verify steps, all lines together"
        mean = self.mean_length()
        return (sure(mean, 2), "mean of the lines, by requests running") if mean is not None else (None, None)

    def _weigh(self, interval: Interval, steps: Span) -> None:
        if len(self.positions) < len(interval.per_position):
            missing = len(interval.per_position) - len(self.positions)
            self.positions += [NOTHING] * missing
        for index, rate in enumerate(interval.per_position):
            self.positions[index] = self.positions[index].plus(_whole(rate, steps))

    def _positions(self) -> tuple[str, ...]:
        if len(self.widths) != 1 or self.steps.low <= 0:
            return ()
        total = self.steps
        return tuple(Span(both.low / total.high, both.high / total.low).text(3) for both in self.positions)


def _whole(rate: Printed, steps: Span) -> Span:
    """Accepted tokens at one position: whole numbers that give the printed rate."""
    return Span(max(Fraction(0), Fraction(ceil(rate.low * steps.low))), Fraction(floor(rate.high * steps.high)))
