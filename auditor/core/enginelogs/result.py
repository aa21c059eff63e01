"""The record of a whole log."""

from typing import Literal

from auditor.core.enginelogs.acceptance import Acceptance
from auditor.core.enginelogs.identity import Identity
from auditor.core.enginelogs.passes import Passes
from auditor.core.enginelogs.rates import Rates
from auditor.core.enginelogs.requestcheck import RequestChecks
from auditor.core.enginelogs.stamps import Stamp
from auditor.core.enginelogs.witnesses import Artefact, LogWitness
from auditor.core.facts import Fact, FactName
from auditor.core.record import Record


class SignSeen(Record):
    """Something that the log says about the server and that is no fact of the list."""

    line: int
    kind: str
    text: str
    is_grave: bool = False
    """Whether it makes acceptance or output doubtful."""


class LogReading(Record):
    """What one engine log says."""

    reading_version: Literal[1] = 1
    artefact: Artefact
    lines: int
    engine: str
    """Name of the engine, as the adapters call it."""
    title: str
    release: str | None = None
    """Version of the engine, from the log or from whoever called."""
    first: Stamp
    """Time of the first interval."""
    last: Stamp
    intervals: int
    sources: tuple[str, ...] = ()
    """Engines, ranks or slots that printed; at most 16."""
    averaging: str
    facts: dict[FactName, Fact] = {}
    signs: tuple[SignSeen, ...] = ()
    rates: Rates
    acceptance: Acceptance | None = None
    identity: Identity | None = None
    """Agreement of throughput and speculation lines."""
    passes: Passes | None = None
    """Agreement of SGLang's decode lines with the clock."""
    requests: RequestChecks | None = None
    """Agreement of each request's figures."""
    cannot_tell: tuple[str, ...] = ()
    absent: dict[str, str] = {}
    """Fields that no line of this engine gives, and why."""
    unread: int = 0
    """Lines that look like figures of this engine and could not be read: torn, or of another release."""
    first_unread: int | None = None
    left_out: int = 0
    """Lines of other ranks, which repeat what the first says."""
    others: dict[str, int] = {}
    """Other engines whose lines were seen, and their intervals."""
    witnesses: tuple[LogWitness, ...] = ()
