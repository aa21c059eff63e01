"""Events that differ in their text alone, told by their bytes: those before the text, and those behind it."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from auditor.core.adapter import Details
from auditor.core.wire.chunks import Chunk, read_chunk
from auditor.core.wire.sse import ServerEvent

_PLAIN = re.compile(rb'[^"\\\x00-\x1f]*')
"""What stands for itself in a JSON text."""
_OTHER = "other words \u2603"
_LEARNT = 16
"""Events of a stream that are tried; where none of them has the shape, none of its others will."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """The bytes of an event around its text."""

    before: bytes
    after: bytes

    def texts(self, events: bytes) -> tuple[str, list[int]] | None:
        """The texts of these events as one, and the length of each; None unless all have this pattern and a text."""
        before, after = self.before, self.after
        if not events.startswith(before) or not events.endswith(after):
            return None
        first, last = len(before), 2 - len(after)
        parts = [event[first:last] for event in events[:-2].split(b"\n\n")]
        if before + (after + before).join(parts) + after != events:
            return None
        whole = b"".join(parts)
        if b"" in parts or _PLAIN.fullmatch(whole) is None:
            return None
        if whole.isascii():
            return whole.decode(), list(map(len, parts))
        try:
            texts = [part.decode() for part in parts]
        except UnicodeDecodeError:
            return None
        return "".join(texts), list(map(len, texts))


class Patterns:
    """Learns the pattern of a stream from the events that are read whole."""

    def __init__(self, details: Callable[[dict[str, Any]], Details | None]) -> None:
        self.known: Pattern | None = None
        self._details, self._tries = details, 0

    def learn(self, event: ServerEvent, chunk: Chunk) -> None:
        """Take the pattern of an event that carries text and nothing that another event would change."""
        is_plain = chunk.text and chunk.choices and not event.name and replace(chunk, raw={}, text="") == replace(
            _NOTHING, choices=chunk.choices
        )  # fmt: skip
        if not is_plain or self._tries >= _LEARNT:
            return
        self._tries += 1
        spelled = chunk.text.encode()
        found = re.findall(rb'"(?:content|text)"\s*:\s*"(?=' + re.escape(spelled) + rb'")', event.data)
        if len(found) != 1 or _PLAIN.fullmatch(spelled) is None or self._details(chunk.raw) is not None:
            return
        begin, _, end = event.data.partition(found[0] + spelled + b'"')
        before, after = begin + found[0], b'"' + end
        other = read_chunk(before + _OTHER.encode() + after)
        # That the slot is the text, the whole text and nothing but the text is seen by putting other words there.
        if replace(other, raw={}) == replace(chunk, raw={}, text=_OTHER) and self._details(other.raw) is None:
            self.known = Pattern(b"data: " + before, after + b"\n\n")


_NOTHING = Chunk(raw={})
