"""Which figures of a log meet a claimed number. A witness says what the log prints and where, and accuses nobody."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum

from auditor.core.enginelogs.printed import EXACT, Printed, quantized
from auditor.core.enginelogs.rates import (
    ACCEPTED,
    DELIVERED,
    DRAFTED,
    LAST_SECONDS,
    PROMPT,
    SO_FAR,
    RateTally,
    rates_of,
)
from auditor.core.enginelogs.records import Interval, Scope
from auditor.core.enginelogs.stamps import Stamp
from auditor.core.record import Record


class WitnessKind(StrEnum):
    """What a figure counts, and how it was chosen among the lines; `rule_of` gives the counting rule."""

    DELIVERED = "delivered"
    """The delivered rate of a line."""
    AGGREGATE = "aggregate"
    """The delivered rate of a line that adds up several running requests."""
    PEAK = "peak"
    """The best delivered rate of all lines."""
    MEAN = "mean"
    """The mean of the delivered rate over all lines that are not idle."""
    PER_STREAM = "per_stream"
    """The delivered rate of a line divided by its running requests."""
    SO_FAR = "so_far"
    """The delivered rate of one request up to a line."""
    LAST_SECONDS = "last_seconds"
    """The delivered rate of the last seconds of one request."""
    ACCEPTED = "accepted"
    """Drafted tokens that were accepted, the bonus token left out."""
    DRAFTED = "drafted"
    """Tokens that the drafter proposed: not output."""
    PROMPT = "prompt"
    """Prompt tokens: not output."""


class Artefact(Record):
    """The file that a witness is in."""

    name: str
    sha256: str
    size: int
    """Bytes."""


class LogWitness(Record):
    """A figure of a log that meets a claimed number."""

    kind: WitnessKind
    sentence: str
    text: str
    """The figure, as printed or with no more places than the log has."""
    value: float
    unit: str = "tok/s"
    is_printed: bool
    """Whether the log prints the figure itself; otherwise it is computed from printed ones."""
    line: int | None
    """First line that prints it; None for what is computed from many lines."""
    lines: int
    """Lines that print a figure of this kind that meets the number."""
    of_lines: int
    """Lines that print a figure of this kind at all."""
    origin: str
    """Engine and, where the line tells, which part of it."""
    time: Stamp
    artefact: Artefact


_WORDS = {
    WitnessKind.DELIVERED: "generation throughput",
    WitnessKind.AGGREGATE: "generation throughput of several requests together",
    WitnessKind.SO_FAR: "generation throughput of one request so far",
    WitnessKind.LAST_SECONDS: "generation throughput of one request over its last seconds",
    WitnessKind.ACCEPTED: "accepted throughput",
    WitnessKind.DRAFTED: "drafted throughput",
    WitnessKind.PROMPT: "prompt throughput",
}
_KINDS = {
    DELIVERED: WitnessKind.DELIVERED,
    LAST_SECONDS: WitnessKind.LAST_SECONDS,
    SO_FAR: WitnessKind.SO_FAR,
    ACCEPTED: WitnessKind.ACCEPTED,
    DRAFTED: WitnessKind.DRAFTED,
    PROMPT: WitnessKind.PROMPT,
}


@dataclass(slots=True)
class _Seen:
    """Figures of one kind."""

    all: int = 0
    meeting: int = 0
    first: tuple[Interval, int, str, Decimal] | None = None


@dataclass(slots=True)
class WitnessTally:
    """Looks for a claimed number in intervals, one by one; keeps one line of each kind.

    `low` and `high` are the numbers that round to the claim; a figure meets it if it lies between them.
    """

    low: Decimal
    high: Decimal
    _seen: dict[WitnessKind, _Seen] = field(default_factory=dict)
    _delivered: RateTally = field(default_factory=RateTally)
    _best: Interval | None = None

    def add(self, interval: Interval) -> None:
        """Take one interval."""
        for name, number, line in rates_of(interval):
            if number.value <= 0:
                continue
            kind = _KINDS[name]
            several = interval.scope is Scope.WINDOW and (interval.running or 0) > 1
            if name == DELIVERED:
                if self._delivered.best is None or number.value > self._delivered.best[0].value:
                    self._best = interval
                self._delivered.add(number, line)
                kind = WitnessKind.AGGREGATE if several else kind
            self._note(kind, interval, line, number.text, number.value)
            if name == DELIVERED and several and interval.running:
                share = EXACT.divide(number.value, Decimal(interval.running))
                self._note(WitnessKind.PER_STREAM, interval, line, _cut(share, number), share)

    def finish(self, artefact: Artefact, engine: str) -> tuple[LogWitness, ...]:
        """Every kind that has a figure which meets the number."""
        found = [
            _witness(kind, seen, artefact, engine)
            for kind, seen in sorted(self._seen.items())
            if seen.first is not None
        ]
        best, mean = self._delivered.best, self._delivered.mean
        if best is not None and self._best is not None and self._meets(best[0].value):
            found.append(_peak(self._best, best, self._delivered.lines, artefact, engine))
        if self._delivered.lines > 1 and self._meets(mean):
            found.append(_mean(self._delivered, artefact, engine))
        return tuple(found)

    def _meets(self, value: Decimal) -> bool:
        return self.low <= value <= self.high

    def _note(self, kind: WitnessKind, interval: Interval, line: int, text: str, value: Decimal) -> None:
        seen = self._seen.setdefault(kind, _Seen())
        seen.all += 1
        if self._meets(value):
            seen.meeting += 1
            if seen.first is None:
                seen.first = (interval, line, text, value)


def witnesses(
    intervals: Iterable[Interval], claim_low: float, claim_high: float, *, artefact: Artefact, engine: str
) -> tuple[LogWitness, ...]:
    """The figures of these intervals that lie between two numbers, one of each kind, the first line of each."""
    tally = WitnessTally(Decimal(repr(claim_low)), Decimal(repr(claim_high)))
    for interval in intervals:
        tally.add(interval)
    return tally.finish(artefact, engine)


def _cut(number: Decimal, like: Printed) -> str:
    return str(quantized(number, like.decimals))


def _witness(kind: WitnessKind, seen: _Seen, artefact: Artefact, engine: str) -> LogWitness:
    assert seen.first is not None
    interval, line, text, value = seen.first
    if kind is WitnessKind.PER_STREAM:
        what = f"{text} tok/s is the generation throughput of line {line}, {interval.delivered_rate}, divided by"
        sentence = f"{what} its {interval.running} running requests"
    else:
        with_running = f", {interval.running} requests running" if kind is WitnessKind.AGGREGATE else ""
        sentence = f"the log prints {text} tok/s as {_WORDS[kind]} at line {line}{with_running}"
    return LogWitness(
        kind=kind,
        sentence=f"{sentence}; {seen.meeting} of {seen.all} such lines meet the number",
        text=text,
        value=float(value),
        is_printed=kind is not WitnessKind.PER_STREAM,
        line=line,
        lines=seen.meeting,
        of_lines=seen.all,
        origin=_origin(engine, interval),
        time=interval.stamp,
        artefact=artefact,
    )


def _peak(interval: Interval, best: tuple[Printed, int], lines: int, artefact: Artefact, engine: str) -> LogWitness:
    return LogWitness(
        kind=WitnessKind.PEAK,
        sentence=f"the log prints {best[0]} tok/s as generation throughput at line {best[1]}, the best of its"
        f" {lines} lines",
        text=best[0].text,
        value=float(best[0].value),
        is_printed=True,
        line=best[1],
        lines=1,
        of_lines=lines,
        origin=_origin(engine, interval),
        time=interval.stamp,
        artefact=artefact,
    )


def _mean(delivered: RateTally, artefact: Artefact, engine: str) -> LogWitness:
    text = str(quantized(delivered.mean, delivered.decimals))
    return LogWitness(
        kind=WitnessKind.MEAN,
        sentence=f"{text} tok/s is the mean of the generation throughput that {delivered.lines} lines print",
        text=text,
        value=float(text),
        is_printed=False,
        line=None,
        lines=delivered.lines,
        of_lines=delivered.lines,
        origin=engine,
        time=Stamp(reason="a mean of many lines"),
        artefact=artefact,
    )


def _origin(engine: str, interval: Interval) -> str:
    return f"{engine}, {interval.source}" if interval.source else engine
