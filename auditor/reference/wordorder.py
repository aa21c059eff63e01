"""Which words stand beside which: a small table for each of some languages and for program text.

Made by `tests/data/validity/tables.py` from manuals and quotations under free licences; counts, no sentences.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources

import orjson

_NONE = ord("m")
"""The letter of a pair that stands together as often as by chance."""


@dataclass(frozen=True, slots=True)
class WordOrder:
    """Frequent words and signs of a language, and how much more often than by chance one follows another."""

    place: Mapping[str, int]
    """Words, signs and shapes, each with its row."""
    rows: tuple[str, ...]
    unit: int
    """Letters of a doubling."""
    share: float
    """Share of running words that are in the table."""

    def doublings(self, first: int, second: int) -> float:
        """By how many doublings the second follows the first more often than by chance; negative if less."""
        return (ord(self.rows[first][second]) - _NONE) / self.unit


@cache
def word_orders() -> Mapping[str, WordOrder]:
    """The tables by language code, and `code`."""
    data = orjson.loads((resources.files("auditor.reference") / "data" / "wordorder.json").read_bytes())
    return {
        name: WordOrder(
            place={one: at for at, one in enumerate(table["classes"])},
            rows=tuple(table["rows"]),
            unit=data["unit"],
            share=table["share"],
        )
        for name, table in data["tables"].items()
    }
