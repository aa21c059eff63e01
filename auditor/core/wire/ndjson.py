"""Streams of JSON objects, one a line, fed piece by piece: any split of the bytes gives the same events."""

from auditor.core.wire.sse import MAX_EVENT, ServerEvent

NDJSON = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/json-lines")
"""Content types of such streams."""


class LineReader:
    """Takes a body apart into lines, each the data of one event. Lines end with LF, or CR LF; the last need not end.

    The same questions as of `auditor.core.wire.sse.EventReader`.
    """

    def __init__(self) -> None:
        self.oversized = 0
        """Lines longer than MAX_EVENT that were skipped."""
        self._line = bytearray()

    @property
    def unfinished(self) -> bool:
        """Whether the bytes so far end inside a line."""
        return bool(self._line.strip())

    def feed(self, data: bytes) -> list[ServerEvent]:
        """The events that end within this piece."""
        events: list[ServerEvent] = []
        *ended, rest = data.split(b"\n")
        for piece in ended:
            self._take(piece)
            is_too_long, line = len(self._line) > MAX_EVENT, bytes(self._line).strip()
            self._line.clear()
            if is_too_long:
                self.oversized += 1
            elif line:
                events.append(ServerEvent("", line))
        self._take(rest)
        return events

    def _take(self, piece: bytes) -> None:
        # One byte more than is allowed tells, however the bytes were split, that a line is too long.
        self._line += piece[: MAX_EVENT + 1 - len(self._line)]
