"""The wire log: what was sent and what came, byte for byte, with the time of every socket read.

A file of zstd frames, each complete in itself, so that a killed process loses only the frame it had not written. The
frames hold, one after the other, records of

    kind u8 | exchange u32 | t_ns i64 | kernel_ns i64 | length u32 | payload

in little-endian order. `t_ns` is the client's monotonic clock; `kernel_ns` is the kernel's receive time on the
realtime clock, 0 where the system gives none. CLOCK records hold both clocks read together and relate the two.
"""

import os
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, BinaryIO

import orjson
import zstandard

from auditor.errors import EvidenceError

MAGIC = b"AUDITWIRE\x01"
"""First bytes of the first frame; the last of them is the version of the format."""
_ZSTD = b"\x28\xb5\x2f\xfd"
"""First bytes of every zstd frame."""
_PIECE = 1 << 12
"""Bytes that are decompressed at once: zstd makes at most 128 MiB of them, and of a run's some MiB."""
MAX_PAYLOAD = 1 << 28
"""Longest payload that is believed, in bytes; more means a damaged file."""
MOST_BYTES = 1 << 36
SMALL_BYTES, MOST_TIMES = 64 << 20, 5000
"""Of a log, decompressed: events that differ in one token compress 20 to 60 times, and 800 times where a server sends
as fast as it can. It is read in pieces, so that this bounds the time and not the memory."""


MOST_HELD = 64 << 20
"""Bytes of a frame that are held until it is seen to be whole; the writer makes frames of a few MiB."""


class Kind(IntEnum):
    """What a record of the wire log tells."""

    OPEN = 1
    """An exchange begins; payload: its purpose and place in the plan, as JSON."""
    CONNECT = 2
    """The connection is there; payload: JSON with `start_ns`, `reused`, `peer`."""
    SEND = 3
    """The first byte of the request is handed to the system; payload: the request, secrets struck out."""
    SENT = 4
    """The last byte of the request was handed to the system."""
    READ = 5
    """A socket read; payload: its bytes."""
    CLOSE = 6
    """The exchange is over; payload: JSON with `how` and, where it broke, `words`."""
    CLOCK = 7
    """Both clocks, read together; payload: JSON with `error_ns`."""
    MARK = 8
    """A moment of the run; payload: JSON."""


@dataclass(frozen=True, slots=True)
class WireRecord:
    """One record of the wire log."""

    kind: Kind
    exchange: int
    t_ns: int
    kernel_ns: int
    payload: bytes

    def json(self) -> dict[str, Any]:
        """The payload as a JSON object; raises EvidenceError."""
        try:
            value = orjson.loads(self.payload)
        except orjson.JSONDecodeError as error:
            raise EvidenceError(f"the wire log holds a {self.kind.name} record that is not JSON ({error})") from error
        if not isinstance(value, dict):
            raise EvidenceError(f"the wire log holds a {self.kind.name} record that is not an object")
        return value


HEAD = struct.Struct("<BIqqI")
"""What stands before the payload of a record: kind, exchange, t_ns, kernel_ns, length."""


def encode(record: WireRecord) -> bytes:
    """The bytes of one record, uncompressed."""
    head = HEAD.pack(record.kind, record.exchange, record.t_ns, record.kernel_ns, len(record.payload))
    return head + record.payload


def frame(records: Iterable[WireRecord], *, first: bool = False) -> bytes:
    """One compressed frame; `first` puts the magic ahead."""
    return frame_of(b"".join(map(encode, records)), first=first)


def frame_of(body: bytes | bytearray, *, first: bool) -> bytes:
    """One compressed frame of encoded records."""
    return zstandard.ZstdCompressor(level=1, write_checksum=True).compress(MAGIC + body if first else body)


@dataclass(frozen=True, slots=True)
class WireLog:
    """A wire log that was read."""

    records: tuple[WireRecord, ...]
    damage: str | None
    """Why reading stopped before the end of the file, None when it did not."""


class WireScan:
    """The records of a wire log one after the other, in little memory however long it is."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.damage: str | None = None
        """Why reading stopped before the end of the file; told when the last record was given."""

    def __iter__(self) -> Iterator[WireRecord]:
        """Raises EvidenceError when the file is not a wire log, is of a newer version, or expands beyond belief."""
        try:
            with self.path.open("rb") as file:
                yield from self._records(file, os.fstat(file.fileno()).st_size)
        except OSError as error:
            what = f"the wire log cannot be read ({error.strerror})"
            raise EvidenceError(what, where=str(self.path)) from error

    def _records(self, file: BinaryIO, size: int) -> Iterator[WireRecord]:
        begin = file.read(len(_ZSTD))
        if begin != _ZSTD[: len(begin)]:
            raise EvidenceError("this is not a wire log", where=str(self.path))
        file.seek(0)
        self.damage = None if begin else "the wire log is empty"
        held = bytearray()
        is_checked = False
        try:
            for piece, is_end in _pieces(file, size, str(self.path)):
                held += piece
                if not is_end and len(held) < MOST_HELD:
                    continue  # a frame that is torn further on is not given in part
                if not is_checked:
                    held, is_checked = bytearray(_checked(bytes(held), self.path)), True
                used = 0
                for start, record in _records(bytes(held)):
                    used = start + HEAD.size + len(record.payload)
                    yield record
                held = held[used:]
                if is_end and held:
                    raise ValueError("a record is longer than its frame")
        except (zstandard.ZstdError, struct.error, ValueError) as error:
            self.damage = str(error)


def read_wire(path: Path) -> WireLog:
    """Read a whole wire log; a torn last frame, as a killed process leaves it, is reported and not an error.

    Raises EvidenceError as `WireScan` does.
    """
    scan = WireScan(path)
    return WireLog(tuple(scan), scan.damage)


def _checked(body: bytes, path: Path) -> bytes:
    if not body.startswith(MAGIC[:-1]):
        raise EvidenceError("this is not a wire log", where=str(path))
    if body[: len(MAGIC)] != MAGIC:
        raise EvidenceError(
            f"the wire log has format {body[len(MAGIC) - 1]}, this tool reads 1",
            where=str(path),
            remedy="use a newer version of the tool",
        )
    return body[len(MAGIC) :]


def most_expanded(size: int) -> int:
    """The most bytes that a wire log of `size` compressed bytes is let grow to; no run gives more."""
    return min(MOST_BYTES, max(SMALL_BYTES, MOST_TIMES * size))


def _pieces(file: BinaryIO, size: int, where: str) -> Iterator[tuple[bytes, bool]]:
    """What the frames hold, a piece at a time, and whether a frame ends with it."""
    left = most_expanded(size)
    rest = b""
    while data := rest or file.read(_PIECE):
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        while not decompressor.eof:
            if not data and not (data := file.read(_PIECE)):
                raise ValueError("the last frame is incomplete")
            piece = decompressor.decompress(data)
            data = b""
            left -= len(piece)
            if left < 0:
                what = f"the wire log expands to more than {most_expanded(size) >> 20:,} MiB, which no run does"
                raise EvidenceError(what, where=where, remedy="it was made to fill memory: do not judge it")
            yield piece, decompressor.eof
        rest = decompressor.unused_data


def _records(body: bytes) -> Iterator[tuple[int, WireRecord]]:
    """The whole records, each with where it begins."""
    at, unpack = 0, HEAD.unpack_from
    while at + HEAD.size <= len(body):
        kind, exchange, t_ns, kernel_ns, length = unpack(body, at)
        end = at + HEAD.size + length
        if length > MAX_PAYLOAD:
            raise ValueError("a record is longer than its frame")
        if end > len(body):
            return
        yield at, WireRecord(Kind(kind), exchange, t_ns, kernel_ns, body[at + HEAD.size : end])
        at = end
