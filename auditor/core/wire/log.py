"""The wire log: what was sent and what came, byte for byte, with the time of every socket read.

A file of zstd frames, each complete in itself, so that a killed process loses only the frame it had not written. The
frames hold, one after the other, records of

    kind u8 | exchange u32 | t_ns i64 | kernel_ns i64 | length u32 | payload

in little-endian order. `t_ns` is the client's monotonic clock; `kernel_ns` is the kernel's receive time on the
realtime clock, 0 where the system gives none. CLOCK records hold both clocks read together and relate the two.
"""

import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import orjson
import zstandard

from auditor.errors import EvidenceError

MAGIC = b"AUDITWIRE\x01"
"""First bytes of the first frame; the last of them is the version of the format."""
_ZSTD = b"\x28\xb5\x2f\xfd"
"""First bytes of every zstd frame."""
_PIECE = 1 << 12
"""Bytes that are decompressed at once: zstd makes at most 128 MiB of them."""
MAX_PAYLOAD = 1 << 28
"""Longest payload that is believed, in bytes; more means a damaged file."""
MOST_BYTES = 2 << 30
SMALL_BYTES, MOST_TIMES = 64 << 20, 500
"""Of a log, decompressed: events of servers that differ in one token compress 20 to 60 times."""


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


def read_wire(path: Path) -> WireLog:
    """Read a wire log; a torn last frame, as a killed process leaves it, is reported and not an error.

    Raises EvidenceError when the file is not a wire log, is of a newer version, or expands beyond what a run gives.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise EvidenceError(f"the wire log cannot be read ({error.strerror})", where=str(path)) from error
    return parse_wire(data, str(path))


def parse_wire(data: bytes, where: str) -> WireLog:
    """The same from the bytes of a file; `where` names it in errors."""
    if data[:4] != _ZSTD[: len(data)]:
        raise EvidenceError("this is not a wire log", where=where)
    records: list[WireRecord] = []
    damage = None if data else "the wire log is empty"
    try:
        for position, body in enumerate(_frames(data, where)):
            records.extend(_records(_checked(body, where) if position == 0 else body))
    except (zstandard.ZstdError, struct.error, ValueError) as error:
        damage = str(error)
    return WireLog(tuple(records), damage)


def _checked(body: bytes, where: str) -> bytes:
    if not body.startswith(MAGIC[:-1]):
        raise EvidenceError("this is not a wire log", where=where)
    if body[: len(MAGIC)] != MAGIC:
        raise EvidenceError(
            f"the wire log has format {body[len(MAGIC) - 1]}, this tool reads 1",
            where=where,
            remedy="use a newer version of the tool",
        )
    return body[len(MAGIC) :]


def most_expanded(size: int) -> int:
    """The most bytes that a wire log of `size` compressed bytes is let grow to; no run gives more."""
    return min(MOST_BYTES, max(SMALL_BYTES, MOST_TIMES * size))


def _frames(data: bytes, where: str) -> Iterator[bytes]:
    at, left = 0, most_expanded(len(data))
    while at < len(data):
        decompressor = zstandard.ZstdDecompressor().decompressobj()
        parts = []
        # In pieces: what follows the frame is copied by the decompressor, and a long log has thousands of frames.
        while not decompressor.eof:
            if at >= len(data):
                raise ValueError("the last frame is incomplete")
            piece = data[at : at + _PIECE]
            parts.append(decompressor.decompress(piece))
            at += len(piece) - len(decompressor.unused_data)
            left -= len(parts[-1])
            if left < 0:
                what = f"the wire log expands to more than {most_expanded(len(data)) >> 20:,} MiB, which no run does"
                raise EvidenceError(what, where=where, remedy="it was made to fill memory: do not judge it")
        yield b"".join(parts)


def _records(body: bytes) -> Iterator[WireRecord]:
    at = 0
    while at < len(body):
        kind, exchange, t_ns, kernel_ns, length = HEAD.unpack_from(body, at)
        at += HEAD.size
        if length > MAX_PAYLOAD or at + length > len(body):
            raise ValueError("a record is longer than its frame")
        yield WireRecord(Kind(kind), exchange, t_ns, kernel_ns, body[at : at + length])
        at += length
