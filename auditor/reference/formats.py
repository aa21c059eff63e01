"""Number formats of weights: bits per weight with their scales, and what people call them."""

import functools
import re

from auditor.reference.rows import Other, Row, load


class Format(Row):
    """A row of the table."""

    id: str
    bits: float
    """Bits per weight, scales of blocks included where `note` says nothing else."""
    rate: str | None = None
    """Which dense rate its products can run at: `bf16`, `fp8` or `fp4`; None where it is unpacked first."""
    ggml: tuple[int, int, int] | None = None
    """Number of the type in GGUF, weights of a block, bytes of a block."""
    names: tuple[str, ...] = ()
    note: str | None = None
    others: tuple[Other, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """How people write it."""
        return {"int4_g32": "INT4 g32", "int4_g128": "INT4 g128"}.get(self.id, self.id.upper())

    @property
    def bytes(self) -> float:
        """Bytes per weight."""
        return self.bits / 8

    @property
    def least_bytes(self) -> float:
        """Bytes per weight by the smallest value that any source gives."""
        return min([self.bits, *(other.value for other in self.others)]) / 8


@functools.cache
def all_formats() -> dict[str, Format]:
    """Every row by its id."""
    rows = [Format.model_validate(row) for row in load("formats.json")["formats"]]
    return {row.id: row for row in rows}


def find_formats(text: str) -> tuple[Format, ...]:
    """The formats that a text names, as `NVFP4 with FP8 attention`; empty where it names none that is known."""
    text = text.lower().replace("-bit", "bit").replace(" bit", "bit").replace("-", " ")
    words = set(re.findall(r"[a-z0-9][a-z0-9_]*", text))
    if words & {"ud", "dynamic"}:
        return ()  # a mixture of its own, with parts below the format that its name has
    found = [row for row in all_formats().values() if words & {row.id, *row.names}]
    found += [row for row in all_formats().values() if row.ggml and any(_is_mixture(word, row.id) for word in words)]
    return tuple(dict.fromkeys(found))


def least_format() -> Format:
    """The format with the fewest bits per weight."""
    return min(all_formats().values(), key=lambda row: row.bits)


def _is_mixture(word: str, name: str) -> bool:
    """Whether `q4_k_xl` or the like is a mixture of GGUF around a format."""
    return bool(re.fullmatch(rf"{re.escape(name)}_(?:xs|s|m|l|xl|xxl)", word))
