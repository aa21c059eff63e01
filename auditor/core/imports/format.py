"""What a format of result files is: how it is recognised by its content, how it is read, and what its tool counts
wrong."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from auditor.core.adapter import no_details
from auditor.core.counting.reading import ReadDetails
from auditor.core.imports.decoding import JsonError, clean, parse, parse_lines
from auditor.core.imports.record import Result
from auditor.errors import UsageError


class File:
    """A file as it was handed in; parsed when a format asks, once."""

    def __init__(self, name: str, data: bytes, path: Path | None = None, details: ReadDetails = no_details) -> None:
        self.name = clean(name.rsplit("/", 1)[-1], 100) or "file"
        """For errors and records; never a path to write to."""
        self.data = data
        self.path = path
        """Where it lies; None where it came through a pipe."""
        self.details = details
        """What reads the counts that servers add to the events of a recorded stream."""
        self.problem: str | None = None
        """Why it is no JSON; None until something asked for it, and where it is."""

    @cached_property
    def text(self) -> str | None:
        """The text; None where it is not UTF-8."""
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError:
            return None

    @cached_property
    def document(self) -> Any:
        """The value of the whole file as JSON; None where it is none."""
        if self.text is None or self.text.lstrip()[:1] not in ("{", "["):
            return None
        try:
            return parse(self.text)
        except JsonError as error:
            self.problem = str(error)
            return None

    @cached_property
    def lines(self) -> tuple[dict[str, Any], ...]:
        """The objects of JSON lines, or the one object of the file; empty where it is neither.

        A last line that ends within itself, as a killed run leaves it, is left out; see `is_cut`.
        """
        if isinstance(self.document, dict):
            return (self.document,)
        if self.text is None or not self.text.lstrip().startswith("{"):
            return ()
        found: list[dict[str, Any]] = []
        try:
            for _, value in parse_lines(self._whole_lines):
                if not isinstance(value, dict):
                    return ()
                found.append(value)
        except JsonError as error:
            self.problem = str(error)
            return ()
        self.problem = None if found else self.problem
        return tuple(found)

    @cached_property
    def _whole_lines(self) -> str:
        body = (self.text or "").rstrip()
        head, _, last = body.rpartition("\n")
        try:
            parse(last)
        except JsonError:
            return head
        return body

    @property
    def is_cut(self) -> bool:
        """Whether its last line ends within itself."""
        if isinstance(self.document, dict):
            return False
        return bool(self.lines) and len(self._whole_lines) < len((self.text or "").rstrip())


@dataclass(frozen=True, slots=True)
class Reading:
    """What a format makes of its files."""

    results: tuple[Result, ...]
    tool_version: str | None = None
    notes: tuple[str, ...] = ()


Parts = Mapping[str, File]
"""The files of one result, by what they are within the format."""


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of result file."""

    name: str
    """Id, as `vllm-bench`."""
    tool: str
    recognise: Callable[[File], str | None]
    """Which part of a result of this format a file is, by its content alone; None when it is something else."""
    read: Callable[[Parts], Reading]
    """Raises UsageError, in one line with file and place, for what cannot be taken in."""
    source: str
    """The files of the tool, and its version, that the shape was read from."""
    wrong: tuple[str, ...]
    """What its own counting is known to get wrong."""
    seen: str | None = None
    """Which real files it was tried on; None where there was only the documented shape."""


def only(parts: Parts) -> File:
    """The one file of a format that has no parts."""
    return next(iter(parts.values()))


def recognised(file: File, formats: tuple[Format, ...]) -> tuple[Format, str]:
    """The format of a file and its part; raises UsageError that says what is known."""
    for one in formats:
        if (part := one.recognise(file)) is not None:
            return one, part
    if file.text is None and not file.data.startswith(b"SQLite format 3"):
        raise UsageError("is neither text nor a known database", where=file.name, remedy="give the tool's own file")
    if not file.data.strip():
        raise UsageError("is empty", where=file.name)
    if file.problem and (file.text or "").lstrip()[:1] in ("{", "["):
        raise UsageError(f"is no JSON: {file.problem}", where=file.name, remedy="give the file as the tool wrote it")
    known = ", ".join(dict.fromkeys(one.tool for one in formats))
    raise UsageError("is no result file that is known", where=file.name, remedy=f"known are: {known}")
