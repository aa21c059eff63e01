"""The record of an inspection."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from auditor.core.record import Record

Strength = Literal["contradiction", "odd", "note"]
"""`contradiction`: two things that cannot both be so. `odd`: nothing forbids it, and no honest recording that we have
showed it. `note`: it happens to honest files, and a reader should know."""
STRENGTHS: tuple[Strength, ...] = ("contradiction", "odd", "note")


class Misfit(Record):
    """One thing that does not fit."""

    id: str
    strength: Strength
    sentence: str
    seen_in_honest: str | None = None
    """How often honest recordings show it, where that was counted; None where logic alone decides."""


class NotChecked(Record):
    """A check that could not be made."""

    id: str
    why: str


class ResultInspection(Record):
    """One result of a file, or the measured requests of a cell of a run."""

    name: str
    requests: int
    gaps: int
    """Gaps between events that were looked at."""
    found: tuple[Misfit, ...]
    """The strongest first."""
    not_checked: tuple[NotChecked, ...]


class Inspection(Record):
    """A file or a run folder, inspected."""

    inspection_version: Literal[1] = 1
    name: str
    format: str
    sha256: str
    """Of its first file."""
    found: tuple[Misfit, ...]
    """Of the whole: what is not about one result."""
    results: tuple[ResultInspection, ...]

    @property
    def all_found(self) -> tuple[tuple[str, Misfit], ...]:
        """Everything with the name of its result, the strongest first."""
        each = [("", one) for one in self.found]
        each += [(result.name, one) for result in self.results for one in result.found]
        return tuple(sorted(each, key=lambda item: STRENGTHS.index(item[1].strength)))

    @property
    def strongest(self) -> Strength | None:
        """The strength of the strongest; None where nothing was found."""
        return next((one.strength for _, one in self.all_found), None)


class Unchecked(NamedTuple):
    """What a check gives in place of findings where it cannot be made."""

    why: str


Checked = Iterator[Misfit | Unchecked]


def ordered(found: list[Misfit]) -> tuple[Misfit, ...]:
    """The strongest first, else as they were found."""
    return tuple(sorted(found, key=lambda one: STRENGTHS.index(one.strength)))
