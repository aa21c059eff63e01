"""Follows the measured server's own log through a run and keeps the lines with figures, in the run folder.

Its other lines may hold prompts and keys: of them only named settings of the server are kept.
"""

import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from auditor.core.enginelogs.stamps import stamp_of
from auditor.core.enginelogs.startup import Startup
from auditor.core.judging.traps import TrapReader
from auditor.core.record import sha256
from auditor.core.runlog import LogRound, RunLog
from auditor.errors import UsageError
from auditor.reference.traps import Rule
from auditor.review.serverlog import Lines

MOST_BYTES = 4 * 1024 * 1024
"""Of the lines that are kept."""
SETTLE_TRIES = 10
SETTLE_S = 0.1
"""A server writes its last lines a moment after the last answer."""

_NO_ZONE = "its lines print no full date with a time zone, as `docker logs -t` adds"

Strike = Callable[[bytes], bytes]


@dataclass(frozen=True, slots=True)
class Border:
    """When a round began."""

    cell: str
    repeat: int
    size: int | None
    """Bytes of the log by then; None for standard input."""
    at_ns: int
    """Since the epoch."""


@dataclass(slots=True)
class LogTail:
    """The log of one server while a run goes on; `-` is standard input, read to its end after the run."""

    path: str
    rules: tuple[Rule, ...] = ()
    """Traps to look for."""
    borders: list[Border] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Raises UsageError for a log that cannot be read."""
        if self.path != "-":
            with opened(self.path):
                pass

    def begin(self, cell: str, repeat: int) -> None:
        """A round begins now."""
        self.borders.append(Border(cell, repeat, self._size(), time.time_ns()))

    def finish(self, server: str, kind: str, strike: Strike) -> tuple[RunLog, bytes]:
        """The record and the lines kept; a log that cannot be read any more gives none, and the reason."""
        end = Border("", 0, self._settled(), time.time_ns())
        try:
            with opened(self.path) as stream:
                return keep(stream, self.path, [*self.borders, end], server, kind, strike, self.rules)
        except (UsageError, OSError) as error:
            name, why = Path(self.path).name, strike(str(error).encode()).decode()
            return RunLog(server=server, name=name, sha256=sha256(b""), how="sizes", reason=why), b""

    def _size(self) -> int | None:
        if self.path == "-":
            return None
        try:
            return Path(self.path).stat().st_size
        except OSError:
            return None

    def _settled(self) -> int | None:
        size = self._size()
        for _ in range(SETTLE_TRIES):
            time.sleep(SETTLE_S)
            before, size = size, self._size()
            if size == before:
                break
        return size


@dataclass(slots=True)
class _Kept:
    lines: list[bytes] = field(default_factory=list)
    places: list[int] = field(default_factory=list)
    """Where each began: its byte in the file, or its time since the epoch."""
    size: int = 0
    left_out: int = 0
    undated: int = 0
    is_cut: bool = False


def keep(
    stream: BinaryIO,
    path: str,
    borders: Sequence[Border],
    server: str,
    kind: str,
    strike: Strike,
    rules: Sequence[Rule] = (),
) -> tuple[RunLog, bytes]:
    """The lines with figures that were written during a run; the last border is its end.

    Without sizes, lines are laid beside rounds by the time that they print, where that is a full date with a zone.
    """
    sizes = [border.size for border in borders if border.size is not None]
    by_size = len(sizes) == len(borders)
    marks = sizes if by_size else [border.at_ns for border in borders]
    startup, kept, traps = Startup(kind), _Kept(), TrapReader(rules)
    shrunk = by_size and any(later < earlier for earlier, later in pairwise(sizes))
    for number, place, raw in _placed(stream, by_size=by_size):
        starts = startup.starts
        has_figures = startup.add(number, raw)
        if startup.starts > starts > 0:
            traps = TrapReader(rules)
        traps.add(number, raw)
        if shrunk or not marks[0] <= (marks[0] if place is None else place) < marks[-1]:
            continue
        _take(kept, raw, place, strike, has_figures=has_figures)
    text = b"".join(kept.lines)
    reason = "the file became smaller during the run" if shrunk else None
    if not shrunk and not by_size and (kept.undated or not kept.lines):
        reason = "no line with figures is of its time" if not kept.lines else _NO_ZONE
    rounds = () if reason else _rounds(borders, marks, kept.places)
    name = "standard input" if path == "-" else Path(path).name
    log = RunLog(
        server=server,
        name=strike(name.encode()).decode(),
        sha256=sha256(text),
        how="sizes" if by_size else "times",
        rounds=rounds,
        reason=reason,
        left_out=kept.left_out,
        is_cut=kept.is_cut,
        facts=startup.facts,
        signs=tuple(startup.signs),
        hits=traps.hits,
        capability=traps.capability,
    )
    return log, text


def _placed(stream: BinaryIO, *, by_size: bool) -> Iterator[tuple[int, int | None, bytes]]:
    """Number, place and bytes of each line; None where the line prints no full time."""
    lines, begin = Lines(), 0
    for number, raw in enumerate(lines.of(stream), start=1):
        place = begin if by_size else stamp_of(raw[:400].decode("utf-8", "replace")).epoch_ns
        begin = lines.size
        yield number, place, raw


def _take(kept: _Kept, raw: bytes, place: int | None, strike: Strike, *, has_figures: bool) -> None:
    if not has_figures:
        kept.left_out += 1
        return
    line = strike(raw if raw.endswith(b"\n") else raw + b"\n")
    if kept.is_cut or kept.size + len(line) > MOST_BYTES:
        kept.is_cut = True
        return
    kept.lines.append(line)
    kept.size += len(line)
    kept.undated += place is None
    kept.places.append(place or 0)


def _rounds(borders: Sequence[Border], marks: Sequence[int], places: Sequence[int]) -> tuple[LogRound, ...]:
    """The lines between two borders."""
    firsts = [bisect_left(places, mark) + 1 for mark in marks]
    return tuple(
        LogRound(cell=border.cell, repeat=border.repeat, first=first, end=end)
        for border, first, end in zip(borders[:-1], firsts[:-1], firsts[1:], strict=True)
    )


def opened(path: str) -> BinaryIO:
    """The bytes of a log, `-` being standard input; raises UsageError."""
    if path == "-":
        return sys.stdin.buffer
    try:
        return Path(path).open("rb")
    except IsADirectoryError:
        raise UsageError("the server's log is a folder", where=path, remedy="name a file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        remedy = "give the file that the server writes, or - for standard input"
        raise UsageError(f"the server's log cannot be read: {reason}", where=path, remedy=remedy) from None
