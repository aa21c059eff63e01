"""Reads foreign objects field by field: what is absent is None, what is of another type or out of bounds an error."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from auditor.core.imports.decoding import clean
from auditor.errors import UsageError

MAX_COUNT = 10**12
"""No count of tokens or requests is larger."""
MAX_NS = 4 * 10**18
"""No time is later: 126 years."""
MAX_VALUE = 1e18
_NS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}


class Fields:
    """One object of a file. `where` is the file and the place in it, for errors."""

    __slots__ = ("data", "where")

    def __init__(self, value: Any, where: str) -> None:
        """Raises UsageError where the value is no object."""
        if not isinstance(value, Mapping):
            raise UsageError(f"must be an object, and is {kind(value)}", where=where)
        self.data: Mapping[str, Any] = value
        self.where = where

    def __contains__(self, name: str) -> bool:
        return self.data.get(name) is not None

    def number(self, name: str, low: float | None = None) -> float | None:
        """A finite number; None where it is absent. Raises UsageError."""
        value = self.data.get(name)
        return None if value is None else number_of(value, self._at(name), low)

    def count(self, name: str) -> int | None:
        """A whole number from 0 on; None where it is absent. Raises UsageError."""
        value = self.number(name, low=0)
        if value is None:
            return None
        if value != int(value) or value > MAX_COUNT:
            raise UsageError(f"must be a count, and is {value:g}", where=self._at(name))
        return int(value)

    def time(self, name: str, unit: str) -> int | None:
        """A time or duration in `ns`, `us`, `ms` or `s`, as ns; None where it is absent. Raises UsageError."""
        value = self.data.get(name)
        return None if value is None else time_of(value, self._at(name), unit)

    def times(self, name: str, unit: str) -> tuple[int, ...] | None:
        """A list of times or durations, as ns; None where it is absent. Raises UsageError."""
        items = self.items(name)
        at = self._at(name)
        return None if items is None else tuple(time_of(item, at, unit) for item in items)

    def counts(self, name: str) -> tuple[int | None, ...] | None:
        """A list of counts, in which null is not known; None where it is absent. Raises UsageError."""
        items = self.items(name)
        if items is None:
            return None
        one = [None if item is None else number_of(item, self._at(name), 0) for item in items]
        return tuple(None if item is None else int(item) for item in one)

    def text(self, name: str, limit: int = 200) -> str | None:
        """A text in one clean line, or a number or boolean as text; None where it is absent or empty."""
        value = self.data.get(name)
        if value is None or isinstance(value, dict | list):
            return None
        return clean(value if isinstance(value, str) else str(value), limit) or None

    def raw_text(self, name: str) -> str | None:
        """A text as it is; None where it is absent or no text."""
        value = self.data.get(name)
        return value if isinstance(value, str) else None

    def items(self, name: str) -> list[Any] | None:
        """A list; None where it is absent. Raises UsageError."""
        value = self.data.get(name)
        if value is None or isinstance(value, list):
            return value
        raise UsageError(f"must be a list, and is {kind(value)}", where=self._at(name))

    def fields(self, name: str) -> "Fields | None":
        """An object within; None where it is absent. Raises UsageError."""
        value = self.data.get(name)
        return None if value is None else Fields(value, self._at(name))

    def objects(self, name: str) -> "Iterator[Fields]":
        """The objects of a list; none where it is absent. Raises UsageError."""
        for index, item in enumerate(self.items(name) or ()):
            yield Fields(item, f"{self._at(name)}[{index}]")

    def numbers(self) -> dict[str, float]:
        """Every field that is a finite number, by its clean name."""
        return {
            clean(name, 80): float(value)
            for name, value in self.data.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MAX_VALUE
        }

    def _at(self, name: str) -> str:
        return f"{self.where}: {name}"


def kind(value: Any) -> str:
    """What a JSON value is, in words."""
    if value is None:
        return "null"
    names = {bool: "a boolean", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")


def number_of(value: Any, where: str, low: float | None = None) -> float:
    """A finite number within bounds; raises UsageError."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        words = f"text {clean(value, 20)!r}" if isinstance(value, str) else kind(value)
        raise UsageError(f"must be a number, and is {words}", where=where)
    if not -MAX_VALUE * 10 <= value <= MAX_VALUE * 10 or not math.isfinite(value):
        raise UsageError("is a number that nothing measured can be", where=where)
    if low is not None and value < low:
        raise UsageError(f"must be at least {low:g}, and is {value:g}", where=where)
    return value


def time_of(value: Any, where: str, unit: str) -> int:
    """A time from 0 on, as ns; raises UsageError."""
    number = number_of(value, where, 0)
    if number > MAX_NS / _NS[unit]:
        raise UsageError(f"is a time that nothing measured can be: {number:g} {unit}", where=where)
    return number * _NS[unit] if isinstance(number, int) else round(number * _NS[unit])
