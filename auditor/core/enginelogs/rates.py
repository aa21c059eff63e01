"""The rates of a log, line by line summed up: means, best and least lines, and the mean by time where it is known."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from auditor.core.enginelogs.printed import EXACT, NOTHING, Printed, Span, quantized, sure
from auditor.core.enginelogs.records import Interval, Scope
from auditor.core.record import Record

DELIVERED, LAST_SECONDS, SO_FAR = "delivered", "delivered, last seconds", "delivered so far"
ACCEPTED, DRAFTED, PROMPT = "accepted", "drafted", "prompt"


def rates_of(interval: Interval) -> Iterator[tuple[str, Printed, int]]:
    """Every rate that an interval prints: its name, the number and the line."""
    is_progress = interval.scope is Scope.PROGRESS
    for name, number, line in (
        (LAST_SECONDS if is_progress else DELIVERED, interval.delivered_rate, interval.line),
        (SO_FAR, interval.so_far_rate, interval.line),
        (ACCEPTED, interval.accepted_rate, interval.lines[-1]),
        (DRAFTED, interval.drafted_rate, interval.lines[-1]),
        (PROMPT, interval.prompt_rate, interval.prompt_line or interval.line),
    ):
        if number is not None:
            yield name, number, line


class RateSummary(Record):
    """One rate over many lines; all numbers are texts with no more places than the log has."""

    lines: int
    """Lines that print it above zero."""
    mean: str
    """Mean of these lines, each weighing the same."""
    best: str
    best_line: int
    least: str
    least_line: int


class Rates(Record):
    """All rates of a log."""

    by_name: dict[str, RateSummary] = {}
    alone: RateSummary | None = None
    """Delivered, on lines that say that one request ran."""
    several: RateSummary | None = None
    """Delivered, on lines that say that more than one ran."""
    ended: RateSummary | None = None
    """Delivered, on lines that say that none ran any more."""
    most_running: int | None = None
    by_time: str | None = None
    """Delivered, tokens over time instead of a mean of lines."""
    by_time_how: str | None = None
    idle_lines: int = 0
    """Lines that print a delivered rate of zero."""


@dataclass(slots=True)
class RateTally:
    """One rate."""

    lines: int = 0
    total: Decimal = Decimal(0)
    decimals: int = 0
    best: tuple[Printed, int] | None = None
    least: tuple[Printed, int] | None = None

    def add(self, number: Printed, line: int) -> None:
        """Take the number of one line."""
        self.lines += 1
        self.total = EXACT.add(self.total, number.value)
        self.decimals = max(self.decimals, number.decimals)
        if self.best is None or number.value > self.best[0].value:
            self.best = (number, line)
        if self.least is None or number.value < self.least[0].value:
            self.least = (number, line)

    @property
    def mean(self) -> Decimal:
        """The exact mean of what was printed."""
        return EXACT.divide(self.total, Decimal(max(1, self.lines)))

    def summary(self) -> RateSummary | None:
        """In words; None without a line."""
        if self.best is None or self.least is None:
            return None
        return RateSummary(
            lines=self.lines,
            mean=str(quantized(self.mean, self.decimals)),
            best=self.best[0].text,
            best_line=self.best[1],
            least=self.least[0].text,
            least_line=self.least[1],
        )


@dataclass(slots=True)
class RatesTally:
    """All rates of a log, in bounded memory."""

    rates: dict[str, RateTally] = field(default_factory=dict)
    groups: dict[str, RateTally] = field(default_factory=dict)
    most_running: int | None = None
    idle: int = 0
    tokens: int = 0
    seconds: Span = NOTHING
    scheduled: int = 0

    def add(self, interval: Interval) -> None:
        """Take one interval."""
        for name, number, line in rates_of(interval):
            if number.value > 0:
                self.rates.setdefault(name, RateTally()).add(number, line)
        if interval.running is not None:
            self.most_running = max(self.most_running or 0, interval.running)
        rate = interval.delivered_rate
        if rate is not None and interval.scope is not Scope.PROGRESS:
            if rate.value <= 0:
                self.idle += 1
            elif interval.running is not None:
                group = "alone" if interval.running == 1 else "several" if interval.running else "ended"
                self.groups.setdefault(group, RateTally()).add(rate, interval.line)
        self._clock(interval)

    def finish(self) -> Rates:
        """In words."""
        groups = {name: tally.summary() for name, tally in self.groups.items()}
        by_time, how = None, None
        if self.seconds.low > 0 and self.tokens:
            bounds = Span(self.tokens / self.seconds.high, self.tokens / self.seconds.low)
            by_time, how = sure(bounds, 2), "tokens after the first of each request, over the time they took"
        elif self.seconds.low > 0 and self.scheduled:
            bounds = Span(self.scheduled / self.seconds.high, self.scheduled / self.seconds.low)
            by_time = sure(bounds, 1)
            how = "scheduled positions over host time, drafts and padding included: not a delivered rate"
        summaries = {name: tally.summary() for name, tally in self.rates.items()}
        return Rates(
            by_name={name: summary for name, summary in summaries.items() if summary is not None},
            alone=groups.get("alone"),
            several=groups.get("several"),
            ended=groups.get("ended"),
            most_running=self.most_running,
            by_time=by_time,
            by_time_how=how,
            idle_lines=self.idle,
        )

    def _clock(self, interval: Interval) -> None:
        if interval.seconds is None:
            return
        if interval.scope is Scope.REQUEST and interval.delivered is not None and interval.delivered > 1:
            self.tokens += interval.delivered - 1
        elif interval.scope is Scope.ITERATION and interval.scheduled is not None:
            self.scheduled += interval.scheduled
        else:
            return
        self.seconds = self.seconds.plus(interval.seconds)
