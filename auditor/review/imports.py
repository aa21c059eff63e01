"""The file door of imports: reads what was handed in, bounded, and keeps the original bytes beside the record."""

import hashlib
import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from auditor.core.claim.record import Case
from auditor.core.claim.text import SECRET_VALUE
from auditor.core.counting.reading import ReadDetails
from auditor.core.folder import CLAIM, MANIFEST, RunFolder, write
from auditor.core.imports.claimed import Beside, lay_beside
from auditor.core.imports.decoding import clean
from auditor.core.imports.format import File, recognised
from auditor.core.imports.formats import FORMATS
from auditor.core.imports.reading import grouped, read_group
from auditor.core.imports.record import Imported, Original
from auditor.core.imports.stored import IMPORT, REQUESTS, from_files, to_files
from auditor.core.record import canonical_json
from auditor.errors import UsageError
from auditor.servers import load_adapters

MAX_BYTES = 64 * 1024 * 1024
"""Largest file that is read."""
MAX_TOTAL = 4 * MAX_BYTES
"""Largest sum over the files of a folder."""
MAX_FILES = 500
BESIDE = "beside.json"
NO_CLAIM = "imports"
"""Folder of imports that belong to no claim."""

_CREDENTIAL = re.compile(
    rb"""(?ix) (?: --api-key \s | authorization | proxy-authorization | x-api-key | api[-_]key | set-cookie | cookie )
    ["']? \s* [:,=] \s* (?: "value" \s* : \s* )? ["']? (?! [*<\[] | null | none | redacted | EMPTY | false | true )
    [^"'\s,}{]{4}"""
)
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Taken:
    """A result that was read, with its files and what it says of the claim."""

    imported: Imported
    files: tuple[File, ...]
    beside: tuple[Beside, ...] = ()

    @property
    def id(self) -> str:
        """`import-` and twelve digits of the digest over its files."""
        digests = "\n".join(sorted(one.sha256 for one in self.imported.originals))
        return f"import-{hashlib.sha256(digests.encode()).hexdigest()[:12]}"


def take_in(path: str, case: Case | None, taken_ns: int) -> tuple[list[Taken], list[str]]:
    """Read a file, `-` being standard input, or a folder; what was read, and what of a folder was passed over.

    Raises UsageError, in one line, for what cannot be read or is no known result.
    """
    when = datetime.fromtimestamp(taken_ns / 1e9, UTC).isoformat(timespec="seconds")
    passed: list[str] = []
    found: list[Taken] = []
    files = _folder(Path(path), passed) if path != "-" and Path(path).is_dir() else [_file(path)]
    groups = list(grouped(files))
    for group in groups:
        try:
            imported = read_group(group)
        except UsageError as error:
            if len(groups) == 1:
                raise
            passed.append(f"{error.where}: {error.what}")
            continue
        own = tuple(group.parts.values())
        beside = () if case is None else lay_beside(case, imported, when)
        found.append(Taken(with_stored_names(imported, own), own, beside))
    if not found:
        raise UsageError(f"holds no result that can be taken in (last: {passed[-1]})", where=path)
    return found, passed


def keep(taken: Taken, reports: Path, claim: tuple[str, str] | None) -> Path:
    """Write the record and the original bytes into a folder of the reports tree, with a manifest; the folder.

    `claim` is the claim's id and text. A file that holds a credential is not kept; its digest is. Raises AuditError.
    """
    folder = reports / (claim[0] if claim else NO_CLAIM) / taken.id
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be made ({error.strerror})"
        raise UsageError(what, where=str(folder), remedy="choose another with --reports") from None
    for original, file in zip(taken.imported.originals, taken.files, strict=True):
        if original.stored is not None:
            write(folder, original.stored, file.data)
    for name, data in to_files(taken.imported).items():
        write(folder, name, data)
    if claim is not None:
        write(folder, CLAIM, claim[1].encode())
        write(folder, BESIDE, canonical_json([one.model_dump(mode="json") for one in taken.beside]))
    write(folder, MANIFEST, canonical_json(RunFolder(folder).manifest()))
    return folder


def read_import(folder: Path) -> Imported:
    """An import that was kept; raises EvidenceError for what is missing or was changed since."""
    kept = RunFolder(folder)
    kept.check(IMPORT, REQUESTS)
    return from_files(kept.read(IMPORT), kept.read(REQUESTS), str(folder))


def with_stored_names(imported: Imported, files: Sequence[File]) -> Imported:
    """The same with the name under which each file is kept, or why it is not."""
    return imported.model_copy(update={"originals": tuple(_originals(imported, files))})


def _originals(imported: Imported, files: Sequence[File]) -> Iterator[Original]:
    used: set[str] = set()
    for original, file in zip(imported.originals, files, strict=True):
        if _has_credential(file.data):
            why = "it holds what looks like a credential (a header with a key or a cookie)"
            yield original.model_copy(update={"not_kept_because": why})
            continue
        safe = _UNSAFE_NAME.sub("-", original.name)[-80:].strip("-.") or "file"
        name = f"original-{safe}"
        while name in used:
            name = f"original-{len(used)}-{safe}"
        used.add(name)
        yield original.model_copy(update={"stored": name})


def _has_credential(data: bytes) -> bool:
    return bool(_CREDENTIAL.search(data)) or bool(SECRET_VALUE.search(data.decode("utf-8", "replace")))


def _folder(path: Path, passed: list[str]) -> list[File]:
    """The files of a folder and those below that some format recognises."""
    known: list[File] = []
    total, problem = 0, UsageError("holds no file", where=str(path))
    for one in _files_below(path):
        shown = str(one.relative_to(path))
        try:
            file = File(shown, _bytes(one), one, _details())
            total += len(file.data)
            recognised(file, FORMATS)
            known.append(file)
        except UsageError as error:
            problem = error
            passed.append(f"{clean(shown)}: {error.what}")
        if total > MAX_TOTAL:
            raise UsageError(f"holds more than {MAX_TOTAL >> 20} MiB", where=str(path), remedy="name a file, or less")
    if not known:
        raise UsageError(f"holds no result file that is known (last: {problem.what})", where=str(path))
    return known


def _files_below(path: Path) -> list[Path]:
    found: list[Path] = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        found += [Path(folder) / name for name in sorted(names) if not name.startswith(".")]
        if len(found) > MAX_FILES:
            raise UsageError(f"holds more than {MAX_FILES} files", where=str(path), remedy="name a file, or less")
    return found


def _file(path: str) -> File:
    if path == "-":
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        _check_size(data, path)
        return File("standard input", data, None, _details())
    return File(path, _bytes(Path(path)), Path(path), _details())


@cache
def _details() -> ReadDetails:
    """Reads what any known server adds to an event: the first adapter that finds something of its own."""
    readers = [adapter.details for adapter in load_adapters().values()]
    return lambda event: next((found for read in readers if (found := read(event)) is not None), None)


def _bytes(path: Path) -> bytes:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError("is no file", where=str(path), remedy="name a file or a folder")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot be read: {reason}", where=str(path)) from None
    _check_size(data, str(path))
    return data


def _check_size(data: bytes, where: str) -> None:
    if len(data) > MAX_BYTES:
        what = f"is larger than {MAX_BYTES >> 20} MiB"
        raise UsageError(what, where=where, remedy="cut out the part that holds the published run, and say so")
