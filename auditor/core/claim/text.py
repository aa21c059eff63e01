"""The YAML of a claim file: plain data with the line of every field, and nothing that YAML could do beyond that.

A claim file comes from strangers. Anchors, aliases, tags, a second document, duplicate fields, deep nesting and
control characters are refused, numbers must be finite, and a text that looks like a secret is not taken in.
Booleans and numbers are those of YAML 1.2 (`no` and `on` are words, `1_000` is a word).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

import yaml

from auditor.errors import ClaimError

MAX_BYTES = 1_000_000
"""Largest claim file that is read."""
MAX_DEPTH = 12
MAX_NODES = 50_000
MAX_TEXT = 20_000

Path = tuple[str | int, ...]

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
NOT_YAML = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NAME = re.compile(r"[^\s\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]{1,200}")
_REDACTED = re.compile(r"<[^<>]*>|\$\{?\w+\}?|[*x.…\s]*", re.IGNORECASE)
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_WORDS: dict[str, bool | None] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS |= {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
SECRET_VALUE = re.compile(r"\b(hf_[A-Za-z0-9]{20,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,})")
_SECRET_NAME = re.compile(
    r"(^|[_-])(api[_-]?key|token|secret|passwd|password|access[_-]?key|credentials?)$", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Document:
    """What a claim file holds."""

    data: Any
    """Mappings, lists, text, numbers, booleans and None."""
    where: str
    """Name of the file, for errors."""
    lines: dict[Path, int] = field(default_factory=dict)
    """Line of each field, from 1."""
    written: dict[Path, str] = field(default_factory=dict)
    """The spelling of each number and boolean."""

    def line_of(self, path: Path) -> int:
        """Line of a field, or of the nearest thing around it that is in the file."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def error(self, what: str, path: Path = (), remedy: str | None = None) -> ClaimError:
        """An error at the line of a field."""
        return ClaimError(what, where=f"{self.where}:{self.line_of(path)}", remedy=remedy)


def load(text: str, where: str) -> Document:
    """Read the text of a claim file; raises `ClaimError` with file and line."""
    if len(text) > MAX_BYTES or len(text.encode(errors="replace")) > MAX_BYTES:
        raise ClaimError(f"larger than {MAX_BYTES:,} bytes", where=f"{where}:1", remedy="a claim file is short text")
    bad = NOT_YAML.search(text)
    if bad:
        line = text.count("\n", 0, bad.start()) + 1
        raise ClaimError(
            f"character U+{ord(bad.group()):04X} is not allowed", where=f"{where}:{line}", remedy="remove it"
        )
    try:
        return _read(yaml.parse(text, Loader=_LOADER), where)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, text, where) from None
    except yaml.YAMLError as error:
        raise ClaimError(f"not YAML: {str(error).splitlines()[0]}", where=f"{where}:1") from None


def is_redacted(value: str) -> bool:
    """Whether the value of a secret was taken out already: `***`, `<key>`, `$KEY`."""
    return bool(_REDACTED.fullmatch(value))


def _syntax_error(error: yaml.MarkedYAMLError, text: str, where: str) -> ClaimError:
    rows = text.splitlines()
    mark = error.problem_mark or error.context_mark
    if mark is not None and mark.line >= len(rows):
        # What was never closed is found at the end; say where it began.
        mark = error.context_mark or mark
    if mark is None:
        return ClaimError(f"not YAML: {error.problem or error.context}", where=f"{where}:1")
    here = f"{where}:{mark.line + 1}"
    row = rows[mark.line] if mark.line < len(rows) else ""
    if row[mark.column : mark.column + 1] == "\t":
        return ClaimError("a tab begins the line", where=here, remedy="indent with spaces")
    return ClaimError(f"not YAML: {error.problem or error.context}", where=here)


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _read(events: Iterator[Any], where: str) -> Document:
    lines: dict[Path, int] = {}
    written: dict[Path, str] = {}
    document = Document(None, where, lines, written)
    documents = 0
    data: Any = None
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                lines[()] = _line(event)
                raise document.error("a second document begins", remedy="write one claim per file")
            data = _node(next(events), events, (), document)
    if data is None:
        raise document.error("the file is empty", remedy="a claim needs schema, id and title")
    if not isinstance(data, dict):
        raise document.error("a claim is a mapping of fields", remedy="begin with 'schema: 1'")
    return Document(data, where, lines, written)


def _node(event: Any, events: Iterator[Any], path: Path, document: Document) -> Any:
    document.lines.setdefault(path, _line(event))
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise document.error("anchors and aliases are not allowed", path, "write the value out")
    if event.tag is not None:
        raise document.error(f"the tag {event.tag[:60]!r} is not allowed", path, "remove it")
    if len(path) > MAX_DEPTH:
        raise document.error(f"nested deeper than {MAX_DEPTH} levels", path)
    if len(document.lines) > MAX_NODES:
        raise document.error(f"more than {MAX_NODES:,} values", path)
    if isinstance(event, yaml.SequenceStartEvent):
        return _sequence(events, path, document)
    if isinstance(event, yaml.MappingStartEvent):
        return _mapping(events, path, document)
    return _scalar(event, path, document)


def _sequence(events: Iterator[Any], path: Path, document: Document) -> list[Any]:
    items: list[Any] = []
    for event in events:
        if isinstance(event, yaml.SequenceEndEvent):
            break
        items.append(_node(event, events, (*path, len(items)), document))
    return items


def _mapping(events: Iterator[Any], path: Path, document: Document) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for event in events:
        if isinstance(event, yaml.MappingEndEvent):
            break
        line = _line(event)
        if not isinstance(event, yaml.ScalarEvent) or not _NAME.fullmatch(event.value):
            raise ClaimError("a field name must be a short word", where=f"{document.where}:{line}")
        name = event.value
        here = (*path, name)
        if name in fields:
            first = document.lines[here]
            document.lines[here] = line
            raise document.error(f"{name} is given twice, first on line {first}", here, "keep one")
        document.lines[here] = line
        fields[name] = _node(next(events), events, here, document)
        if _SECRET_NAME.search(name) and isinstance(fields[name], str) and not is_redacted(fields[name]):
            raise document.error(f"{name} looks like a secret", here, "take it out; claims are public")
    return fields


def _scalar(event: Any, path: Path, document: Document) -> str | int | float | bool | None:
    text: str = event.value
    if len(text) > MAX_TEXT:
        raise document.error(f"a text longer than {MAX_TEXT:,} characters", path)
    if UNSAFE.search(text):
        raise document.error("control characters are not allowed in a text", path, "remove them")
    if SECRET_VALUE.search(text):
        raise document.error("a text looks like an access token", path, "take it out; claims are public")
    if event.style:
        return text
    if _NOT_FINITE.fullmatch(text):
        raise document.error(f"{text} is not a number", path, "state 'outcome: nan' if that was the output")
    if text in _WORDS:
        document.written[path] = text
        return _WORDS[text]
    if _INT.fullmatch(text):
        document.written[path] = text
        # Beyond this no field of a claim can go, and JSON readers lose digits.
        return int(text) if len(text) <= 16 else _finite(text, path, document)
    if _FLOAT.fullmatch(text):
        document.written[path] = text
        return _finite(text, path, document)
    return text


def _finite(text: str, path: Path, document: Document) -> float:
    number = float(text)
    if not isfinite(number):
        raise document.error(f"{text[:30]} is too large for a number", path, "put it in quotes if it is text")
    return number
