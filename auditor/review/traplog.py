"""Reads a server's log for traps: once, line by line, in bounded memory, and nothing of it is kept but what matched."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from auditor.core.enginelogs import Artefact, LogReader, LogReading
from auditor.core.judging.traps import TrapReader
from auditor.errors import UsageError
from auditor.reference.traps import Rule
from auditor.review.serverlog import Lines, lines_of


@dataclass(frozen=True, slots=True)
class TrapLog:
    """A log that was read."""

    name: str
    lines: int
    traps: TrapReader
    reading: LogReading | None
    """What the engine says of itself; None where its lines have no known shape."""


def read_trap_log(path: str, rules: Iterable[Rule]) -> TrapLog:
    """Read a log, `-` being standard input; raises UsageError for one that cannot be read, is packed or is empty."""
    traps, reader, lines = TrapReader(rules), LogReader(), Lines()
    number = 0
    for number, raw in enumerate(lines_of(path, lines), 1):
        traps.add(number, raw)
        reader.add(raw)
    if not number:
        raise UsageError("is empty", where=path, remedy="give what the server printed, from its start on")
    name = "standard input" if path == "-" else Path(path).name
    found = reader.finish(Artefact(name=name, sha256=lines.sha256, size=lines.size))
    return TrapLog(name, number, traps, found[0] if found else None)
