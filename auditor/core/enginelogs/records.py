"""What is read out of an engine's log: entries, one for a line, and intervals, one for what an engine averaged."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from auditor.core.enginelogs.printed import Printed, Span
from auditor.core.enginelogs.stamps import Stamp
from auditor.core.facts import Fact, FactName

Field = Printed | int | str | tuple[Printed, ...] | Span
"""What a field of an entry may hold."""


class Scope(StrEnum):
    """Over what an interval averages."""

    WINDOW = "window"
    """All requests of one engine over a span of time."""
    REQUEST = "request"
    """One request from its first token to its last."""
    PROGRESS = "progress"
    """The last few seconds of one request."""
    ITERATION = "iteration"
    """One pass of the engine."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One thing that one line says."""

    line: int
    """Number of the line, from 1."""
    stamp: Stamp
    engine: str
    kind: str
    """What it says: `throughput`, `speculation`, `decode`, ..."""
    source: str
    """Which engine, rank or slot of the server said it; empty where it does not tell."""
    fields: Mapping[str, Field]
    process: str = ""
    """Process that printed it, as far as the line tells."""


@dataclass(frozen=True, slots=True)
class Interval:
    """What the engine says of one interval, in this project's words. Rates are tokens per second."""

    line: int
    lines: tuple[int, ...]
    """All lines it was read from."""
    stamp: Stamp
    source: str
    scope: Scope
    delivered_rate: Printed | None = None
    """Tokens that the engine handed out."""
    accepted_rate: Printed | None = None
    """Drafted tokens that were accepted, the bonus token left out."""
    drafted_rate: Printed | None = None
    """Tokens that the drafter proposed."""
    prompt_rate: Printed | None = None
    prompt_line: int | None = None
    """The line of `prompt_rate`, where it is another than `line`."""
    so_far_rate: Printed | None = None
    """Delivered since the first token of the request."""
    delivered: int | None = None
    """Tokens of the request."""
    prompt_tokens: int | None = None
    seconds: Span | None = None
    """The time that the engine divides `delivered` by."""
    accepted: int | None = None
    drafted: int | None = None
    acceptance_length: Printed | None = None
    """Tokens per verify step, the bonus token included."""
    reported_acceptance: Printed | None = None
    """The engine's own acceptance rate as a fraction, whatever it divides by."""
    per_position: tuple[Printed, ...] = ()
    running: int | None = None
    """Requests in flight; for a window, when the line was printed."""
    waiting: int | None = None
    scheduled: int | None = None
    """Token positions that one pass computed, drafts and padding included."""
    is_cumulative: bool = False
    """Whether the counts run from the start of the server."""


DRAFT_FIELDS = (
    "accepted_rate",
    "drafted_rate",
    "accepted",
    "drafted",
    "acceptance_length",
    "reported_acceptance",
    "per_position",
)
"""Fields of an interval that say something of drafts."""


@dataclass(frozen=True, slots=True)
class Sign:
    """Something that the log says about the server and that is no fact of the list."""

    line: int
    kind: str
    text: str
    is_grave: bool = False
    """Whether it makes acceptance or output doubtful."""


Parsed = tuple[str, str, dict[str, Field]]
"""Kind, source and fields of an entry."""


class Joiner(Protocol):
    """Puts the entries of one log together into intervals; keeps a bounded number of open ones."""

    def add(self, entry: LogEntry) -> Iterator[Interval]:
        """Take one entry, in the order of the lines, and give what is complete."""

    def flush(self) -> Iterator[Interval]:
        """Give what is still open at the end of the log."""


class Each:
    """Joins nothing: one entry, one interval."""

    def __init__(self, make: Callable[[LogEntry], Interval | None]) -> None:
        self._make = make

    def add(self, entry: LogEntry) -> Iterator[Interval]:
        """The interval of the entry."""
        made = self._make(entry)
        if made is not None:
            yield made

    def flush(self) -> Iterator[Interval]:
        """Nothing is ever open."""
        yield from ()


@dataclass(frozen=True, slots=True)
class EngineLog:
    """How to read the log of one engine."""

    name: str
    """As the adapters call it."""
    title: str
    needles: tuple[bytes, ...]
    """A line without any of these holds no figures."""
    parse: Callable[[str], Iterator[Parsed]]
    """The entries of one line; none for a line that is torn."""
    joiner: Callable[[], Joiner]
    seen: str
    """Where its lines were seen, or that they were not seen live."""
    averaging: str
    """What a line averages, in words."""
    cannot_tell: tuple[str, ...]
    absent: Mapping[str, str]
    """Fields of an interval that no line of this engine gives, and why."""
    start_needles: tuple[bytes, ...] = ()
    """A line without any of these says nothing about the server."""
    start: Callable[[str], Iterator[tuple[FactName, Fact]]] | None = None
    signs: Callable[[str], Iterator[tuple[str, str, bool]]] | None = None
    """Kind and words of what a line says about the server, and whether it is grave."""
