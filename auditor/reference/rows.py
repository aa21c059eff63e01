"""The base of every row of a reference table, and how a table is read."""

from importlib import resources
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict

Mark = Literal["confirmed", "unconfirmed", "derived", "absent"]
"""`confirmed` by a source that was read; `unconfirmed` is general knowledge; `derived` from other cells; `absent` where
the material gives nothing."""
Standing = Literal["conflict", "state", "variant", "measured", "unverified"]
"""Why there is another value: sources disagree (`conflict`), the card runs in that state at times (`state`), a variant
has it, somebody measured it, or one reading that nobody confirmed (`unverified`)."""


class Row(BaseModel):
    """A frozen row; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Other(Row):
    """Another value of a cell."""

    value: float
    why: str
    sources: tuple[str, ...] = ()
    standing: Standing = "conflict"


class Cell(Row):
    """A number with its unit, its sources and what contradicts it."""

    value: float | None = None
    """None where the material gives none; `note` says why."""
    unit: str
    mark: Mark
    sources: tuple[str, ...] = ()
    others: tuple[Other, ...] = ()
    note: str | None = None

    @property
    def most(self) -> float | None:
        """The largest value that any source gives."""
        return None if self.value is None else max([self.value, *(other.value for other in self.others)])

    @property
    def least(self) -> float | None:
        """The smallest value that any source gives."""
        return None if self.value is None else min([self.value, *(other.value for other in self.others)])

    @property
    def source(self) -> str:
        """The sources in one line; that there is none is said."""
        if self.mark == "absent":
            return self.note or "not in the material"
        return "; ".join(self.sources) or "general knowledge, not confirmed"


def load(name: str) -> dict[str, Any]:
    """A table of the package with the keys of its sources replaced by the sources themselves."""
    data: dict[str, Any] = orjson.loads((resources.files("auditor.reference") / "data" / name).read_bytes())
    table: dict[str, str] = data.pop("sources")
    resolved: dict[str, Any] = _resolved(data, table)
    return resolved


def _resolved(value: Any, table: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {
            key: [table[one] for one in inner] if key in ("sources", "name_sources") else _resolved(inner, table)
            for key, inner in value.items()
        }
    return [_resolved(inner, table) for inner in value] if isinstance(value, list) else value
