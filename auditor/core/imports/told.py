"""What formats say in common: figures out of a table of fields, and a figure that is not what its name says."""

from collections.abc import Iterator
from typing import NamedTuple

from auditor.core.imports.fields import Fields
from auditor.core.imports.findings import about, fails, finding, is_near, with_unit
from auditor.core.imports.record import Figure, ImportFinding
from auditor.terms import Outcome


class Told(NamedTuple):
    """One field of a file that is a figure, and what it is; see `Figure`."""

    name: str
    unit: str
    quantity: str | None = None
    label: str | None = None


def figures_of(fields: Fields | None, table: tuple[Told, ...], prefix: str = "") -> Iterator[Figure]:
    """The figures of a table that the object has; each from 0 on. Raises UsageError."""
    if fields is None:
        return
    for name, unit, quantity, label in table:
        if (value := fields.number(name, low=0)) is not None:
            yield Figure(name=f"{prefix}{name}", value=value, unit=unit, quantity=quantity, label=label)


def beside(
    one: Figure, is_what: str, right_is: str, right: float | None, identifier: str = "figure-mislabelled"
) -> Iterator[ImportFinding]:
    """A figure that is something else than its name says, with the right one where the file allows it; nothing where
    both are the same number."""
    words = f"`{one.name}` ({with_unit(one.value, one)}) is {is_what}"
    if right is None:
        words = f"{words}; {right_is} cannot be told from this file."
        yield about(one, None, finding(identifier, Outcome.NOT_AVAILABLE, "note", words))
    elif not is_near(one.value, right):
        value = with_unit(right, one)
        yield about(one, right, fails(identifier, f"{words}; {right_is}: {value}.", f"quote {value} as {right_is}"))


def named(figures: tuple[Figure, ...], name: str) -> Figure | None:
    """The figure of this name; None without one."""
    return next((one for one in figures if one.name == name), None)
