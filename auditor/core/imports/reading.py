"""From the bytes of files to their records: recognised, read, and checked."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from pydantic import ValidationError

from auditor.core.imports.checks import findings_of
from auditor.core.imports.format import File, Format, recognised
from auditor.core.imports.formats import FORMATS
from auditor.core.imports.measured import Measured
from auditor.core.imports.record import Imported, Original, Result
from auditor.core.record import sha256
from auditor.errors import UsageError

MAX_RESULTS = 1_000
MAX_REQUESTS = 500_000
"""Requests of one file that are taken in."""


class Group(NamedTuple):
    """The files of one result."""

    format: Format
    parts: dict[str, File]

    @property
    def names(self) -> str:
        """The names of its files."""
        return ", ".join(file.name for file in self.parts.values())


def grouped(files: Iterable[File], formats: tuple[Format, ...] = FORMATS) -> Iterator[Group]:
    """Files by the result that they belong to; raises UsageError for one that no format recognises.

    Files of one format and one folder that are different parts of a result belong together.
    """
    found: dict[tuple[str, str], dict[str, list[File]]] = {}
    by_name = {one.name: one for one in formats}
    for file in files:
        own, part = recognised(file, formats)
        folder = str(file.path.parent) if file.path else ""
        found.setdefault((own.name, folder), {}).setdefault(part, []).append(file)
    for (name, _), parts in found.items():
        if all(len(several) == 1 for several in parts.values()):
            yield Group(by_name[name], {part: several[0] for part, several in parts.items()})
            continue
        for part, several in parts.items():
            yield from (Group(by_name[name], {part: file}) for file in several)


def read_files(
    files: Iterable[File], formats: tuple[Format, ...] = FORMATS
) -> Iterator[tuple[Imported, tuple[File, ...]]]:
    """Each result with the files that it was read from; raises UsageError for the first that cannot be taken in."""
    for group in grouped(files, formats):
        yield read_group(group), tuple(group.parts.values())


def read_group(group: Group) -> Imported:
    """One result, read and checked; raises UsageError where it cannot be taken in."""
    format_, parts, names = group.format, group.parts, group.names
    try:
        reading = format_.read(parts)
    except ValidationError as error:
        place = ".".join(map(str, error.errors()[0]["loc"]))
        raise UsageError(f"holds a value that nothing measured can be ({place})", where=names) from None
    if not reading.results:
        raise UsageError(f"holds no result of {format_.tool}", where=names)
    if len(reading.results) > MAX_RESULTS or sum(len(one.requests) for one in reading.results) > MAX_REQUESTS:
        what = f"holds more than {MAX_RESULTS:,} results or {MAX_REQUESTS:,} requests"
        raise UsageError(what, where=names, remedy="cut the file into several")
    return Imported(
        format=format_.name,
        tool=format_.tool,
        tool_version=reading.tool_version,
        originals=tuple(
            Original(name=file.name, part=part, sha256=sha256(file.data), size=len(file.data))
            for part, file in parts.items()
        ),
        results=tuple(map(_checked, reading.results)),
        notes=reading.notes,
    )


def _checked(result: Result) -> Result:
    return result.model_copy(update={"findings": (*result.findings, *findings_of(Measured(result)))})
