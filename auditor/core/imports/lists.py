"""Values out of the parallel lists in which tools write their requests."""

from collections.abc import Sequence
from typing import TypeVar

from auditor.core.imports.decoding import clean

T = TypeVar("T")


def at(values: Sequence[T], index: int) -> T | None:
    """The value of one request; None where the list ends before it."""
    return values[index] if index < len(values) else None


def error_of(value: object) -> str:
    """Why a request failed, in one clean line."""
    return (clean(value, 300) if isinstance(value, str) else "") or "no answer"


def text_of(value: object) -> str | None:
    """A text; None for anything else."""
    return value if isinstance(value, str) else None
