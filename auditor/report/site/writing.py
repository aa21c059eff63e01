"""The folder of the site: what is new is written, what is the same is left alone, what is stale is taken away.

Only files that an earlier making wrote are ever replaced or removed; `site.json` names them.
"""

import os
import shutil
import zlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TypeVar

from pydantic import ValidationError

from auditor import __version__
from auditor.core.record import Record, sha256
from auditor.errors import AuditError, UsageError
from auditor.report.site.entries import AUDITS, Audits
from auditor.report.site.filing import digest_of

R = TypeVar("R", bound=Record)

WRITTEN = "site.json"


@dataclass(frozen=True, slots=True)
class Copied:
    """A file that is copied as it is."""

    source: Path
    sha256: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture that is made of an SVG."""

    svg: str


Content = bytes | Copied | Drawn


class Written(Record):
    """`site.json`."""

    written_version: int = 1
    tool_version: str = __version__
    files: dict[str, str] = {}
    """SHA-256 of each file, by its path."""
    drawn: dict[str, str] = {}
    """SHA-256 of the SVG that each picture was made of, by the picture's path."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a making did."""

    written: int
    unchanged: int
    removed: int


class Place:
    """The folder of a site; raises UsageError where it cannot be one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise UsageError("is no folder", where=str(folder), remedy="name another with --out")
        self.before = self._read(WRITTEN, Written) or Written()
        """The files of the last making."""

    def audits(self) -> Audits:
        """What the site holds."""
        return self._read(AUDITS, Audits) or Audits()

    def write(self, contents: Mapping[str, Content]) -> Tally:
        """Bring the folder to these contents; raises UsageError where a file of somebody else is in the way."""
        before = self.before
        self._refuse_foreign(contents)
        # Whatever stops this, the next making must know its own files again.
        self._put(
            WRITTEN, before.model_copy(update={"files": {**before.files, **dict.fromkeys(contents, "")}}).to_json()
        )
        files, drawn, written = {}, {}, 0
        for path in sorted(contents):
            content = contents[path]
            if isinstance(content, Drawn):
                drawn[path] = sha256(content.svg.encode())
            files[path], is_new = self._bring(path, content, drawn.get(path))
            written += is_new
        stale = sorted(set(before.files) - set(contents))
        for path in stale:
            self._remove(path)
        self._put(WRITTEN, Written(files=files, drawn=drawn).to_json())
        return Tally(written, len(contents) - written, len(stale))

    def _read(self, name: str, kind: type[R]) -> R | None:
        path = self.folder / name
        try:
            return kind.from_json(path.read_bytes()) if path.exists() else None
        except (OSError, ValidationError) as error:
            what = (
                f"cannot be read ({error.strerror})" if isinstance(error, OSError) else "is none that this tool reads"
            )
            remedy = "restore it, or publish into another folder: it remembers what was published"
            raise UsageError(what, where=str(path), remedy=remedy) from None

    def _refuse_foreign(self, contents: Mapping[str, Content]) -> None:
        for path in contents:
            target = self.folder / path
            if path not in self.before.files and target.exists():
                what = "is there already, and no making of this site wrote it"
                raise UsageError(what, where=str(target), remedy="name an empty folder with --out")

    def _bring(self, path: str, content: Content, svg: str | None) -> tuple[str, bool]:
        """Write a file unless it is there; its digest, and whether it was written."""
        target, noted = self.folder / path, self.before.files.get(path)
        there = digest_of(target) if noted and target.is_file() else None
        if isinstance(content, Copied):
            if there != content.sha256:
                self._copy(path, content)
            return content.sha256, there != content.sha256
        if svg is not None and there is not None and (there, svg) == (noted, self.before.drawn.get(path)):
            return there, False
        data = content if isinstance(content, bytes) else png_of(content.svg)
        digest = sha256(data)
        if there != digest:
            self._put(path, data)
        return digest, there != digest

    def _put(self, path: str, data: bytes) -> None:
        part = self._part(path)
        try:
            part.write_bytes(data)
            os.replace(part, self.folder / path)
        except OSError as error:
            raise _unwritable(self.folder / path, error) from error

    def _copy(self, path: str, content: Copied) -> None:
        part = self._part(path)
        try:
            shutil.copyfile(content.source, part, follow_symlinks=False)
            if digest_of(part) != content.sha256:
                part.unlink()
                what = "was changed while it was copied"
                raise AuditError(what, where=str(content.source), remedy="publish again when nothing writes to it")
            os.replace(part, self.folder / path)
        except OSError as error:
            raise _unwritable(self.folder / path, error) from error

    def _part(self, path: str) -> Path:
        target = self.folder / path
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _unwritable(target.parent, error) from error
        return target.with_name(f".{target.name}.part")

    def _remove(self, path: str) -> None:
        """Take a file of ours away, and the folders that it leaves empty."""
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            return
        with suppress(OSError):
            (self.folder / path).unlink()
            for parent in PurePosixPath(path).parents[:-1]:
                (self.folder / parent).rmdir()


def png_of(svg: str) -> bytes:
    """A picture of an SVG, packed anew: the library that draws it hardly compresses."""
    import vl_convert

    data: bytes = vl_convert.svg_to_png(svg)
    at, packed, kept = 8, b"", []
    while at < len(data):
        size = int.from_bytes(data[at : at + 4])
        kind, content = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        at += 12 + size
        if kind == b"IDAT":
            packed += content
            continue
        if kind == b"IEND":
            kept.append(_chunk(b"IDAT", zlib.compress(zlib.decompress(packed))))
        kept.append(_chunk(kind, content))
    return data[:8] + b"".join(kept)


def _chunk(kind: bytes, content: bytes) -> bytes:
    return len(content).to_bytes(4) + kind + content + zlib.crc32(kind + content).to_bytes(4)


def _unwritable(path: Path, error: OSError) -> AuditError:
    return AuditError(f"cannot be written ({error.strerror})", where=str(path), remedy="see to space and permissions")
