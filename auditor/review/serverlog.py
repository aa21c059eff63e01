"""Opening an engine's log: a file or standard input, line by line, in bounded memory, with its digest.

The log is read as bytes and never written anywhere: it may hold prompts, addresses and keys.
"""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from auditor.core.enginelogs import ENGINES, Artefact, Interval, LogReader, LogReading
from auditor.errors import UsageError

MAX_LINE = 256 * 1024
"""Bytes of a line that are looked at; what is longer is cut."""
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_PACKED = {b"\x1f\x8b": "gzip", b"BZ": "bzip2", b"\xfd7": "xz", b"(\xb5": "zstd", b"PK": "zip"}


@dataclass(frozen=True, slots=True)
class ServerLog:
    """A log that was read."""

    reading: LogReading
    intervals: tuple[Interval, ...]
    """The first of them, at most `auditor.core.enginelogs.KEPT`."""
    cut_lines: int
    """Lines that were longer than `MAX_LINE`."""


def read_server_log(path: str, *, claim: tuple[float, float] | None = None, release: str | None = None) -> ServerLog:
    """Read a log, `-` being standard input.

    `claim` is the published number, as the lowest and highest that round to it: its witnesses are looked for.
    `release` is the engine's version where the log does not tell. Raises UsageError, in one line, for a file that
    cannot be read, is packed or is no engine's log.
    """
    reader = LogReader(claim=claim, release=release)
    lines = Lines()
    for raw in lines_of(path, lines):
        reader.add(raw)
    name = "standard input" if path == "-" else Path(path).name
    found = reader.finish(Artefact(name=name, sha256=lines.sha256, size=lines.size))
    if found is None:
        known = ", ".join(engine.title for engine in ENGINES)
        what = "is empty" if not lines.size else f"no engine's log: {reader.lines:,} lines, none of a known shape"
        raise UsageError(what, where=path, remedy=f"give what the server printed; known are {known}")
    return ServerLog(*found, lines.cut)


class Lines:
    """The lines of a stream, with the digest of all its bytes."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self.size = 0
        """Bytes so far."""
        self.cut = 0
        """Lines that were longer than `MAX_LINE`."""

    @property
    def sha256(self) -> str:
        """Digest of the bytes so far, hexadecimal."""
        return self._digest.hexdigest()

    def of(self, stream: BinaryIO) -> Iterator[bytes]:
        """Each line with its end; of a very long one only the beginning."""
        while piece := self._read(stream):
            line = piece
            if len(piece) == MAX_LINE and not piece.endswith(b"\n"):
                self.cut += 1
                while piece and not piece.endswith(b"\n"):
                    piece = self._read(stream)
            yield line

    def _read(self, stream: BinaryIO) -> bytes:
        piece = stream.readline(MAX_LINE)
        self._digest.update(piece)
        self.size += len(piece)
        return piece


def lines_of(path: str, lines: Lines) -> Iterator[bytes]:
    """Each line of a log, `-` being standard input; raises UsageError for one that cannot be read or is packed."""
    with _opened(path) as stream:
        for number, raw in enumerate(lines.of(stream)):
            if number == 0:
                _refuse_packed(raw, path)
            yield raw


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    if path == "-":
        yield sys.stdin.buffer
        return
    try:
        with Path(path).open("rb") as file:
            yield file
    except IsADirectoryError:
        raise UsageError("is a folder", where=path, remedy="name a file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot be read: {reason}", where=path) from None


def _refuse_packed(raw: bytes, path: str) -> None:
    if raw[:2] in _UTF16:
        raise UsageError("is UTF-16, as PowerShell writes it", where=path, remedy="save it as UTF-8")
    if (kind := _PACKED.get(raw[:2])) and any(byte > 126 or byte < 9 for byte in raw[:16]):
        raise UsageError(f"is packed ({kind})", where=path, remedy="unpack it first")
