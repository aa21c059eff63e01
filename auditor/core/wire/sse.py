"""Server-sent events, fed piece by piece: any split of the bytes gives the same events."""

from dataclasses import dataclass

MAX_EVENT = 16 << 20
"""Longest event that is taken apart, in bytes; a longer one is skipped and counted."""


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One event: its name (empty for the default) and its data."""

    name: str
    data: bytes


class EventReader:
    """Takes a body apart into events. Lines end with LF, CR LF or CR and with nothing else.

    Whoever feeds the pieces knows when each came; the events that a piece completes were whole with that piece.
    """

    def __init__(self) -> None:
        self.oversized = 0
        """Events longer than MAX_EVENT that were skipped."""
        self._line = bytearray()
        self._after_cr = False
        self._data: list[bytes] = []
        self._name = ""
        self._size = 0
        self._skipping = False

    @property
    def unfinished(self) -> bool:
        """Whether the bytes so far end inside an event."""
        return bool(self._line.strip()) or bool(self._data)

    @property
    def is_between(self) -> bool:
        """Whether the bytes so far end between two events, so that nothing of the next is held."""
        return not (self._line or self._data or self._name or self._size or self._skipping or self._after_cr)

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that end within this piece."""
        events: list[ServerEvent] = []
        if not data:
            return events
        after_cr, self._after_cr = self._after_cr, data.endswith(b"\r")
        if after_cr and data.startswith(b"\n"):
            data = data[1:]
        # splitlines() of bytes splits at LF, CR and CR LF only.
        for piece in data.splitlines(keepends=True):
            # One byte more than is allowed tells, however the bytes were split, that a line is too long.
            self._line += piece.rstrip(b"\r\n")[: MAX_EVENT + 1 - len(self._line)]
            if piece[-1] in b"\r\n":
                self._end_line(events)
        return events

    def _end_line(self, events: list[ServerEvent]) -> None:
        line = bytes(self._line)
        self._line.clear()
        if not line:
            self._end_event(events)
        elif not line.startswith(b":"):  # a comment, such as a keep-alive
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                self._size += len(value)
                self._skipping = self._skipping or self._size > MAX_EVENT or len(line) > MAX_EVENT
                if not self._skipping:
                    self._data.append(value)
            elif field == b"event":
                self._name = value.decode("utf-8", "replace")

    def _end_event(self, events: list[ServerEvent]) -> None:
        if self._skipping:
            self.oversized += 1
        elif self._data:
            events.append(ServerEvent(self._name, b"\n".join(self._data)))
        self._data, self._name, self._size, self._skipping = [], "", 0, False
