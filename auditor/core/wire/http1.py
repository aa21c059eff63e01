"""The framing of HTTP/1.1 responses, fed piece by piece: where the head ends, what the body is, when it is over.

The same reader finds the end of a response while it is captured and takes the body apart afterwards.
"""

import re
from dataclasses import dataclass

MAX_HEAD = 1 << 18
"""Longest response head that is believed, in bytes."""
_MAX_LINE = 1 << 13
_STATUS = re.compile(r"[0-9]{3}")
_LENGTH = re.compile(r"[0-9]{1,18}")
_CHUNK_SIZE = re.compile(rb"[0-9A-Fa-f]{1,15}")


class FramingError(ValueError):
    """The peer does not speak HTTP/1.1."""


@dataclass(frozen=True, slots=True)
class Head:
    """Status line and header fields of a response; names in lower case."""

    status: int
    reason: str
    fields: tuple[tuple[str, str], ...]

    def get(self, name: str) -> str | None:
        """The first field of that (lower-case) name."""
        return next((value for key, value in self.fields if key == name), None)


class ResponseReader:
    """Reads one response from pieces of any size.

    `feed` returns the body bytes in the piece; `complete` turns true with the last byte of the response.
    """

    def __init__(self, *, request_method: str = "POST") -> None:
        self.head: Head | None = None
        self.complete = False
        self.rest = b""
        """Bytes that came after the end of the response."""
        self._method = request_method
        self._pending = b""
        self._state = "head"
        self._left = 0

    @property
    def is_chunked(self) -> bool:
        """Whether it is inside a body of chunks."""
        return self._state in ("chunk_size", "chunk", "chunk_end", "trailer")

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes from the socket; raises FramingError."""
        body: list[bytes] = []
        data = self._pending + data
        self._pending = b""
        at = 0
        while at < len(data) and not self.complete:
            if self._state == "chunk_size":
                at = self._whole_chunks(data, at, body)
            used = self._step(data, at, body)
            if used == 0:
                self._pending = data[at:]
                return b"".join(body)
            at += used
        self.rest += data[at:]
        return b"".join(body)

    def eof(self) -> bool:
        """The peer closed; true if the response is whole."""
        if self._state == "until_close":
            self.complete = True
        return self.complete

    def _whole_chunks(self, data: bytes, at: int, body: list[bytes]) -> int:
        """Take the chunks that are whole, from the size of the first on; where the first begins that is not."""
        while (line_end := data.find(b"\r\n", at)) > 0:
            size = _chunk_size(data[at:line_end])
            start, end = line_end + 2, line_end + 2 + size
            if not size or data[end : end + 2] != b"\r\n":
                break
            if len(data) - end > _MANY * (end - at):
                alike, end = _chunks_alike(data, at, start, end)
                body.append(alike)
            else:
                body.append(data[start:end])
            at = end + 2
        return at

    def _step(self, data: bytes, at: int, body: list[bytes]) -> int:
        """Use up some bytes from there on; 0 when more are needed."""
        if at >= len(data):
            return 0
        if self._state in ("length", "chunk"):
            take = data[at : at + self._left]
            body.append(take)
            self._left -= len(take)
            if self._left == 0:
                self.complete = self._state == "length"
                self._state = "chunk_end"
            return len(take)
        if self._state == "until_close":
            body.append(data[at:])
            return len(data) - at
        if self._state == "head":
            return self._read_head(data, at)
        return self._read_line(data, at)

    def _read_line(self, data: bytes, at: int) -> int:
        end = data.find(b"\n", at)
        if end < 0:
            if len(data) - at > _MAX_LINE:
                raise FramingError("a chunk-size line does not end")
            return 0
        line = data[at:end].rstrip(b"\r")
        if self._state == "chunk_end":
            if line:
                raise FramingError("a chunk does not end where its size says")
            self._state = "chunk_size"
        elif self._state == "chunk_size":
            self._left = _chunk_size(line)
            self._state = "chunk" if self._left else "trailer"
        elif not line:
            self.complete = True
        return end + 1 - at

    def _read_head(self, data: bytes, at: int) -> int:
        end = data.find(b"\r\n\r\n", at)
        if end < 0:
            if len(data) - at > MAX_HEAD:
                raise FramingError("the response head does not end")
            return 0
        head = _parse_head(data[at:end])
        if head.status == 101:
            raise FramingError("the server switched to another protocol")
        if head.status >= 200:
            self.head = head
            self._choose_body(head)
        return end + 4 - at

    def _choose_body(self, head: Head) -> None:
        length = head.get("content-length")
        if self._method == "HEAD" or head.status in (204, 304):
            self.complete = True
        elif "chunked" in (head.get("transfer-encoding") or "").lower():
            self._state = "chunk_size"
        elif length is None:
            self._state = "until_close"
        elif not _LENGTH.fullmatch(length):
            raise FramingError(f"Content-Length is {length[:40]!r}")
        else:
            self._state, self._left = "length", int(length)
            self.complete = self._left == 0


_TAIL = 1 << 12
"""Bytes at the end of what came so far that are looked at; longer trailers are not found."""
_LAST_CHUNK = re.compile(rb"\r?\n0+[ \t]*(?:;[^\r\n]*)?\r?\n(?:[^\r\n]+\r?\n)*\r?\n\Z")


class TailReader:
    """Tells when a chunked event stream is over, by the last bytes that came, without taking chunks apart.

    A stream is over when what came ends with the last chunk and its trailers. The same bytes inside an event would be a
    line that is `0`, which is no field of an event; a stream that has one anyway is cut there, and the account, which
    takes every chunk apart, says that it is not whole.
    """

    def __init__(self) -> None:
        self._tail = b""

    def feed(self, data: bytes) -> bool:
        """Whether the stream ends with these next bytes."""
        tail = self._tail = data[-_TAIL:] if len(data) >= _TAIL else (self._tail + data)[-_TAIL:]
        if tail.endswith(b"\r\n0\r\n\r\n"):
            return True
        return tail.endswith((b"\r\n\r\n", b"\n\n")) and _LAST_CHUNK.search(tail) is not None


_MANY = 16
"""Chunks from which it pays to look at those of one size together."""


def _chunks_alike(data: bytes, at: int, start: int, end: int) -> tuple[bytes, int]:
    """What the chunks hold that follow each other from `at` on with the same size line, and where the last one ends.

    The body of the first lies from `start` to `end`.
    """
    import numpy as np

    length = end + 2 - at
    rows = np.frombuffer(data, np.uint8)[at : at + (len(data) - at) // length * length].reshape(-1, length)
    head, tail = slice(0, start - at), slice(length - 2, length)
    same = (rows[:, head] == rows[0, head]).all(axis=1) & (rows[:, tail] == rows[0, tail]).all(axis=1)
    count = len(rows) if same.all() else int(same.argmin())
    return rows[:count, start - at : length - 2].tobytes(), at + count * length - 2


def _chunk_size(line: bytes) -> int:
    digits = line.split(b";", 1)[0].strip()
    if not _CHUNK_SIZE.fullmatch(digits):
        raise FramingError(f"{line[:40]!r} is not a chunk size")
    return int(digits, 16)


def _parse_head(data: bytes) -> Head:
    first, *lines = data.decode("latin-1").split("\r\n")
    parts = first.split(" ", 2)
    if len(parts) < 2 or not parts[0].startswith("HTTP/1.") or not _STATUS.fullmatch(parts[1]):
        raise FramingError(f"the answer begins with {first[:60]!r}, not with an HTTP/1.1 status line")
    fields = []
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise FramingError(f"{line[:60]!r} is not a header field")
        fields.append((name.strip().lower(), value.strip()))
    return Head(int(parts[1]), parts[2] if len(parts) > 2 else "", tuple(fields))
