"""How many decode passes lie between two lines of SGLang, from throughput, accept length and the clock.

Over lines with the same number of running requests R, tokens are passes x R x length and time is tokens / throughput.
So a run of lines over a time T of n lines gives passes a line = T / sum(R x length / throughput), which must be the
server's `decode_log_interval`. A line prints whole seconds, so only a run of some length says anything.
"""

from dataclasses import dataclass
from fractions import Fraction

from auditor.core.enginelogs.printed import Printed, Span, sure
from auditor.core.enginelogs.records import Interval
from auditor.core.record import Record

_ERROR = 1e-9
SHORTEST_S = 10
"""Seconds that a run of lines must last."""
SHOWN = 20


class PassRun(Record):
    """A run of lines with the same requests running."""

    first_line: int
    last_line: int
    source: str = ""
    running: int
    lines: int
    passes: str
    """Passes a line, as far as the rounding tells."""
    agrees: bool


class Passes(Record):
    """What all runs of lines gave."""

    expected: int
    """Passes from line to line, as the server was set or by default."""
    is_default: bool
    runs: int = 0
    agreeing: int = 0
    shown: tuple[PassRun, ...] = ()
    """The longest run, and the first that do not agree."""
    by_time: str | None = None
    """Delivered tokens over time, each line weighing as long as its passes took."""


@dataclass(slots=True)
class _Run:
    first: Interval
    last: Interval
    lines: int
    cost: "_Sum"
    """Sum of R x length / throughput over the lines after the first: seconds a pass."""


@dataclass(frozen=True, slots=True)
class _Sum:
    """Two bounds in floating point: a sum of exact fractions would grow without end."""

    low: float = 0.0
    high: float = 0.0

    def plus(self, other: "_Sum") -> "_Sum":
        return _Sum(self.low + other.low, self.high + other.high)

    def over(self, other: "_Sum") -> Span:
        """The quotient, a little wider than floating point errs."""
        return Span(Fraction(self.low / other.high * (1 - _ERROR)), Fraction(self.high / other.low * (1 + _ERROR)))


class PassTally:
    """Follows the decode lines of each rank."""

    def __init__(self) -> None:
        self._open: dict[str, _Run] = {}
        self._closed: list[tuple[Span, _Run]] = []
        self._longest: tuple[Span, _Run] | None = None
        self._count = 0
        self._tokens = _Sum()
        self._time = _Sum()

    def add(self, interval: Interval) -> None:
        """Take one interval; prefill lines are passed over, for the throughput covers the time they take."""
        if interval.delivered_rate is None:
            return
        run = self._open.get(interval.source)
        cost = _cost(interval)
        if cost is not None:
            tokens = _tokens(interval)
            self._tokens = self._tokens.plus(tokens)
            self._time = self._time.plus(cost)
        follows = run is not None and run.last.running == interval.running and interval.stamp.log_ns is not None
        if run is None or cost is None or not follows:
            if run is not None:
                self._close(run)
            if len(self._open) < 256 or interval.source in self._open:
                self._open[interval.source] = _Run(interval, interval, 0, _Sum())
            return
        run.last, run.lines = interval, run.lines + 1
        run.cost = run.cost.plus(cost)

    def finish(self, expected: int, *, is_default: bool) -> Passes | None:
        """The result against the passes that are expected from line to line; None without a decode line."""
        for run in self._open.values():
            self._close(run)
        self._open.clear()
        if self._time.low <= 0:
            return None
        wrong = [(bounds, run) for bounds, run in self._closed if not bounds.low <= expected <= bounds.high]
        longest = [self._longest] if self._longest is not None else []
        listed = {run.first.line: (bounds, run) for bounds, run in [*longest, *wrong[:SHOWN]]}
        return Passes(
            expected=expected,
            is_default=is_default,
            runs=self._count,
            agreeing=self._count - len(wrong),
            shown=tuple(_shown(bounds, run, expected) for bounds, run in listed.values()),
            by_time=sure(self._tokens.over(self._time), 2),
        )

    def _close(self, run: _Run) -> None:
        first, last, step = run.first.stamp.log_ns, run.last.stamp.log_ns, run.last.stamp.step_ns
        if first is None or last is None or step is None or last - first < SHORTEST_S * 10**9 or run.cost.low <= 0:
            return
        bounds = _Sum((last - first - step) / 1e9, (last - first + step) / 1e9).over(run.cost)
        self._count += 1
        if len(self._closed) < 10_000:
            self._closed.append((bounds, run))
        if self._longest is None or run.lines > self._longest[1].lines:
            self._longest = (bounds, run)


def _cost(interval: Interval) -> _Sum | None:
    rate, running = interval.delivered_rate, interval.running
    if rate is None or not running:
        return None
    low, high = _ends(rate)
    tokens = _tokens(interval)
    return _Sum(tokens.low / high, tokens.high / low) if low > 0 and tokens.low > 0 else None


def _tokens(interval: Interval) -> _Sum:
    """Tokens of one pass over all running requests."""
    running = interval.running or 0
    low, high = _ends(interval.acceptance_length) if interval.acceptance_length else (1.0, 1.0)
    return _Sum(running * low, running * high)


def _ends(number: Printed) -> tuple[float, float]:
    middle, half = float(number.text), 0.5 * 10.0**-number.decimals
    return middle - half, middle + half


def _shown(bounds: Span, run: _Run, expected: int) -> PassRun:
    return PassRun(
        first_line=run.first.line,
        last_line=run.last.line,
        source=run.first.source,
        running=run.first.running or 0,
        lines=run.lines,
        passes=bounds.text(1),
        agrees=bounds.low <= expected <= bounds.high,
    )
