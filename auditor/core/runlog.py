"""The measured server's own log beside the client's clock: the lines of the run, round by round.

It is evidence about this run and no witness for the claimant's number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from auditor.core.counting.ledger import CellLedger
from auditor.core.enginelogs import Artefact, Interval, LogReader, LogReading, Scope
from auditor.core.enginelogs.result import SignSeen
from auditor.core.facts import Fact, FactName, RunFacts
from auditor.core.judging.traps import Hit
from auditor.core.record import Record


class LogRound(Record):
    """The lines that were written while one round ran."""

    cell: str
    repeat: int
    first: int
    """Number of its first line in `server.log`, from 1."""
    end: int
    """Number of the line after its last."""


class RunLog(Record):
    """`serverlog.json`: what `server.log` is."""

    log_version: Literal[1] = 1
    server: str
    """Key of the server that wrote it."""
    name: str
    """Name of the file that it was read from."""
    sha256: str
    """Of `server.log`."""
    how: Literal["sizes", "times"]
    """How lines were laid beside rounds: by the size of the file when each began, or by the times that they print."""
    rounds: tuple[LogRound, ...] = ()
    reason: str | None = None
    """Why no line could be laid beside a round; None where some could."""
    left_out: int = 0
    """Lines of the run that hold no figures: they may hold prompts and keys, and were not kept."""
    is_cut: bool = False
    """Whether the log of the run was longer than what is kept."""
    facts: dict[FactName, Fact] = {}
    """What the server said of itself when it last started; the line numbers are those of the file."""
    signs: tuple[SignSeen, ...] = ()
    hits: dict[str, Hit] = {}
    """Lines since that start that show a trap, by the pattern of the rule."""
    capability: str | None = None
    """Compute capability of the GPUs, where the log names one."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """The log, read."""

    log: RunLog
    reading: LogReading | None
    """None where no line of the run is of a known shape."""
    intervals: Mapping[tuple[str, int], tuple[Interval, ...]] = field(default_factory=dict)
    """By cell and repeat, those that lie whole within the round."""

    def rates(self, cell: CellLedger) -> dict[int, tuple[float, ...]]:
        """Generation throughput of the lines within each round, tokens per second, by repeat."""
        found: dict[int, tuple[float, ...]] = {}
        if cell.server != self.log.server:
            return found
        for one in cell.rounds:
            rates = [interval.delivered_rate for interval in self.intervals.get((cell.cell, one.repeat), ())]
            known = tuple(float(rate.value) for rate in rates if rate is not None and rate.value > 0)
            if known:
                found[one.repeat] = known
        return found


def timeline_of(log: RunLog, text: bytes) -> Timeline:
    """Read the stored lines of a run."""
    reader = LogReader()
    for raw in text.split(b"\n")[:-1]:
        reader.add(raw)
    found = reader.finish(Artefact(name=log.name, sha256=log.sha256, size=len(text)))
    if found is None:
        return Timeline(log, None)
    reading, intervals = found
    return Timeline(log, reading, {(one.cell, one.repeat): _whole(one, intervals) for one in log.rounds})


def _whole(one: LogRound, intervals: tuple[Interval, ...]) -> tuple[Interval, ...]:
    """Of an engine that averages over a span of time, the first line of a round reaches back to before it."""
    own = [interval for interval in intervals if one.first <= interval.line < one.end]
    requests = [interval for interval in own if interval.scope is Scope.REQUEST]
    if requests:
        return tuple(requests)
    windows = [interval for interval in own if interval.scope is Scope.WINDOW]
    # Of several ranks or engines each prints its share, and which lines belong together is not told.
    return tuple(windows[1:]) if len({interval.source for interval in windows}) == 1 else ()


def with_log_facts(facts: RunFacts, log: RunLog) -> RunFacts:
    """The facts, with those that no endpoint told filled in from the server's log."""
    server = facts.servers[log.server]
    told = {name: fact for name, fact in log.facts.items() if server.value(name) is None}
    filled = server.model_copy(update={"facts": {**server.facts, **told}})
    return facts.model_copy(update={"servers": {**facts.servers, log.server: filled}})
