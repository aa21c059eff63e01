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

    def feed(self, data: bytes) -> bytes:
        """Take the next bytes from the socket; raises FramingError."""
        body: list[bytes] = []
        data = self._pending + data
        self._pending = b""
        while data and not self.complete:
            used = self._step(data, body)
            if used == 0:
                self._pending = data
                return b"".join(body)
            data = data[used:]
        self.rest += data
        return b"".join(body)

    def eof(self) -> bool:
        """The peer closed; true if the response is whole."""
        if self._state == "until_close":
            self.complete = True
        return self.complete

    def _step(self, data: bytes, body: list[bytes]) -> int:
        """Use up some bytes; 0 when more are needed."""
        if self._state in ("length", "chunk"):
            take = data[: self._left]
            body.append(take)
            self._left -= len(take)
            if self._left == 0:
                self.complete = self._state == "length"
                self._state = "chunk_end"
            return len(take)
        if self._state == "until_close":
            body.append(data)
            return len(data)
        if self._state == "head":
            return self._read_head(data)
        return self._read_line(data)

    def _read_line(self, data: bytes) -> int:
        end = data.find(b"\n")
        if end < 0:
            if len(data) > _MAX_LINE:
                raise FramingError("a chunk-size line does not end")
            return 0
        line = data[:end].rstrip(b"\r")
        if self._state == "chunk_end":
            if line:
                raise FramingError("a chunk does not end where its size says")
            self._state = "chunk_size"
        elif self._state == "chunk_size":
            self._left = _chunk_size(line)
            self._state = "chunk" if self._left else "trailer"
        elif not line:
            self.complete = True
        return end + 1

    def _read_head(self, data: bytes) -> int:
        end = data.find(b"\r\n\r\n")
        if end < 0:
            if len(data) > MAX_HEAD:
                raise FramingError("the response head does not end")
            return 0
        head = _parse_head(data[:end])
        if head.status == 101:
            raise FramingError("the server switched to another protocol")
        if head.status < 200:
            return end + 4
        self.head = head
        self._choose_body(head)
        return end + 4

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
