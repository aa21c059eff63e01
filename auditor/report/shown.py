"""How numbers and foreign text are shown. Rounding never reaches a mark that the value itself does not reach."""

import math
import re
import unicodedata
from collections.abc import Iterable
from typing import Any, TypeVar

from auditor.core import wording
from auditor.core.record import Record

R = TypeVar("R", bound=Record)

NOT_KNOWN = "not known"
_KEPT_FORMATS = "\u200c\u200d\u00ad"
"""Joiners and the soft hyphen, which honest text needs."""
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
_LIMIT = 4000


def figure(value: float, marks: Iterable[float] = (), digits: int = 4) -> str:
    """A number as `auditor.core.wording` rounds it everywhere; not known where it is none."""
    return wording.figure(value, marks, digits) if math.isfinite(value) else NOT_KNOWN


def percent(share: float) -> str:
    """A share in percent; 0 % and 100 % only when it is exactly that."""
    return f"{figure(share * 100, (0, 100), 3)} %"


def count(value: int | None) -> str:
    """A count with separators, or that it is not known."""
    return NOT_KNOWN if value is None else f"{value:,}"


def milliseconds(ns: float) -> str:
    """Nanoseconds as milliseconds."""
    return f"{figure(ns / 1e6, (0,), 3)} ms"


def seconds(ns: float) -> str:
    """Nanoseconds as seconds."""
    return f"{figure(ns / 1e9, (0,), 3)} s"


def numbers_in(text: str) -> tuple[float, ...]:
    """The numbers that a claim's own words hold."""
    return tuple(float(found.replace(",", "")) for found in re.findall(r"\d[\d,]*(?:\.\d+)?", text[:200]))


def plain(text: str, limit: int = _LIMIT) -> str:
    """Foreign text with every character visible: controls, direction overrides and the like become `\\u202E`."""
    cut = text if len(text) <= limit else text[:limit] + " …"
    return "".join(_visible(character) for character in cut)


def one_line(text: str, limit: int = _LIMIT) -> str:
    """The same on one line."""
    return plain(" ".join(text.split()), limit)


def _visible(character: str) -> str:
    if character in "\n\t" or character in _KEPT_FORMATS:
        return character
    code = ord(character)
    is_noncharacter = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    if is_noncharacter or unicodedata.category(character) in _HIDDEN:
        return f"\\u{code:04X}"
    return character


def visible(record: R) -> R:
    """The record with every text in it made `plain`."""
    return type(record).model_validate(_walk(record.model_dump(mode="json")))


def _walk(value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, dict):
        return {_walk(key): _walk(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_walk(item) for item in value]
    return value
