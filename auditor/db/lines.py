"""One row as one line of JSON, spelled in one way, and back."""

import json
from contextlib import suppress
from typing import Any

from sqlalchemy import JSON, BigInteger, Boolean, Column, Double, Table

from auditor.core.claim.text import UNSAFE
from auditor.core.imports.decoding import JsonError, clean, parse
from auditor.errors import UsageError

Row = dict[str, Any]
MAX_DEPTH = 100
"""Of a document; a deeper one could not be written into a database again."""


def line_of(row: Row) -> bytes:
    """The one spelling of a row, only ASCII, for a document may hold half a surrogate pair; ValueError for NaN."""
    return json.dumps(row, sort_keys=True, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def read_line(line: bytes, table: Table, where: str) -> Row:
    """The row in a line that `line_of` wrote for this table; raises UsageError for any other."""
    row: Row = {}
    is_ours = False
    with suppress(JsonError, ValueError, RecursionError):
        row = parse(line.decode("ascii"))
        is_ours = isinstance(row, dict) and line_of(row) == line
    if not is_ours:
        raise UsageError("is no line that this tool writes", where=where, remedy="export again")
    if set(row) != set(table.columns.keys()):
        names = clean(", ".join(sorted(set(row) ^ set(table.columns.keys()))))
        raise UsageError(f"has other columns than {table.name}: {names}", where=where)
    wrong = next((column for column in table.columns if not _fits(column, row[column.name])), None)
    if wrong is not None:
        raise UsageError(f"{wrong.name} is nothing that the table {table.name} holds", where=where)
    return row


def _fits(column: Column[Any], value: Any) -> bool:
    if value is None:
        return bool(column.nullable)
    kind = column.type
    if isinstance(kind, JSON):
        return isinstance(value, dict) and _is_shallow(value, MAX_DEPTH)
    if isinstance(kind, Boolean):
        return isinstance(value, bool)
    if isinstance(kind, BigInteger):
        return type(value) is int and -(2**63) <= value < 2**63
    if isinstance(kind, Double):
        return isinstance(value, float)
    return isinstance(value, str) and _is_text(value, getattr(kind, "length", None), is_key=column.primary_key)


def _is_text(value: str, length: int | None, *, is_key: bool) -> bool:
    if length is not None and len(value) > length:
        return False
    if is_key and (UNSAFE.search(value) or "\n" in value):
        return False
    return "\0" not in value and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _is_shallow(value: Any, room: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return room > 0 and all(_is_shallow(one, room - 1) for one in inner)
