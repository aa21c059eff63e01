"""Reads one measured exchange: its deliveries, their tokens, and the steps of the target model behind them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from auditor.core.adapter import Details, Shape, openai_shape
from auditor.core.counting.deliveries import Deliveries
from auditor.core.counting.evidence import Response, ResponseTaker
from auditor.core.counting.patterns import Patterns
from auditor.core.counting.steps import Delivery, Step, steps_of
from auditor.core.wire.chunks import DONE, Chunk, ChunkError, Usage, read_chunk

ReadDetails = Callable[[dict[str, Any]], Details | None]

MAX_HELD = 1 << 20
"""Bytes of an unfinished event that wait for the rest of it."""
MOST_TOKENS = 1 << 16
"""Tokens that one event may claim to bring: each becomes a line of the token log."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A measured exchange, read."""

    deliveries: Deliveries
    steps: tuple[Step, ...] | None
    """None where the server does not show its steps."""
    usage: Usage | None
    """The last usage that was sent."""
    is_usage_final: bool
    """Whether that is the usage of the whole answer, and no running count of an answer that was cut."""
    running_tokens: int | None
    """The last running count, None when events carry none."""
    final: Details | None
    """The last counts of the adapter."""
    finish_reason: str | None
    error: str | None
    """An error object within the stream."""
    is_done: bool
    """Whether `[DONE]` came."""
    unreadable: int
    """Events that are not JSON objects."""
    nan_events: int
    choices: int
    """Choices per request."""

    @property
    def text(self) -> str:
        """All visible text in order of arrival, reasoning and tool calls included."""
        return self.deliveries.whole_text

    @property
    def id_count(self) -> int | None:
        """Token ids in the stream, None unless every delivery with tokens has them."""
        ids = self.deliveries.token_ids
        if ids is None:
            return None
        if any(one is None and tokens != 0 for one, tokens in zip(ids, self.deliveries.tokens, strict=True)):
            return None
        return sum(len(one or ()) for one in ids)


def read_stream(
    response: Response, details: ReadDetails, *, event_is_step: bool, shape: Callable[[], Shape] = openai_shape
) -> Stream:
    """Read the events of a response; nothing in them raises. `shape` makes what gives them in the OpenAI shape."""
    reader = _Reader(details, shape())
    for arrival in response.arrivals:
        reader.take(arrival.at_ns, arrival.read, arrival.event.data)
    return reader.end(event_is_step=event_is_step)


class StreamTaker:
    """Takes the reads of one exchange apart as they come: first the response, then the stream in it.

    Events that differ from an event that was read whole in nothing but their text are not parsed again: an event's
    JSON with other characters in the place of its text is the same event with that text.
    """

    def __init__(
        self, method: str, details: ReadDetails, *, event_is_step: bool, shape: Callable[[], Shape] = openai_shape
    ) -> None:
        self._response, self._reader = ResponseTaker(method), _Reader(details, shape())
        self._event_is_step = event_is_step
        self._patterns = Patterns(details) if shape is openai_shape else None
        self._index = -1
        self._held = b""
        self._result: tuple[Response, Stream] | None = None

    def take(self, at_ns: int, data: bytes) -> None:
        """The next read: when it arrived, and its bytes."""
        if self._result is not None:
            return
        self._index += 1
        piece = self._response.take(data)
        if not piece:
            return
        if self._patterns is None or not self._response.has_plain_lines:
            self._feed(at_ns, piece)
            return
        piece, self._held = self._held + piece, b""
        end = piece.rfind(b"\n\n") + 2
        if b"\r" in piece or len(piece) - end > MAX_HELD:
            self._feed(at_ns, piece)
            return
        if end > 1:
            self._held = piece[end:]
            self._events(at_ns, piece[:end])
        else:
            self._held = piece

    def end(self, how: str | None) -> None:
        """Nothing more comes."""
        for event in self._response.events(self._held):
            self._reader.take(0, self._index, event.data)
        self._result = self._response.end(how), self._reader.end(event_is_step=self._event_is_step)
        del self._reader

    def result(self) -> tuple[Response, Stream]:
        """The response, without its events, and the stream; there after `end`."""
        assert self._result is not None
        return self._result

    def _events(self, at_ns: int, piece: bytes) -> None:
        """Whole events."""
        pattern = self._patterns.known if self._patterns else None
        if pattern is None or (texts := pattern.texts(piece)) is None:
            self._one_by_one(at_ns, piece)
        else:
            self._reader.deliveries.extend_plain(at_ns, self._index, *texts)

    def _one_by_one(self, at_ns: int, piece: bytes) -> None:
        assert self._patterns is not None
        at = 0
        while at < len(piece):
            pattern = self._patterns.known
            if pattern is not None and piece.startswith(pattern.before, at):
                # All that follow at once, or else one.
                for end in (piece.rfind(pattern.after, at), piece.find(pattern.after, at)):
                    stop = end + len(pattern.after)
                    if end > at and (texts := pattern.texts(piece[at:stop])) is not None:
                        self._reader.deliveries.extend_plain(at_ns, self._index, *texts)
                        break
                else:
                    stop = at
                if stop > at:
                    at = stop
                    continue
            stop = piece.find(b"\n\n", at) + 2
            raw, at = piece[at:stop], stop
            for event in self._response.events(raw):
                chunk = self._reader.take(at_ns, self._index, event.data)
                if chunk is not None:
                    self._patterns.learn(event, chunk)

    def _feed(self, at_ns: int, piece: bytes) -> None:
        for event in self._response.events(piece):
            self._reader.take(at_ns, self._index, event.data)


class _Reader:
    def __init__(self, details: ReadDetails, shape: Shape) -> None:
        self._details, self._shape = details, shape
        self.deliveries = Deliveries()
        self._marked: list[Delivery] = []
        self.usage: Usage | None = None
        self.is_usage_final = False
        self.final: Details | None = None
        self.finish_reason: str | None = None
        self.error: str | None = None
        self.is_done = False
        self.unreadable = 0
        self.nan_events = 0
        self.choices: set[int] = set()
        self.running: dict[int, int] = {}

    def take(self, at_ns: int, read: int, data: bytes) -> Chunk | None:
        """One event; None where it carries no chunk."""
        if data.strip() == DONE:
            self.is_done = True
            return None
        try:
            chunk = read_chunk(data, self._shape)
        except ChunkError:
            self.unreadable += 1
            return None
        details = self._details(chunk.raw)
        if chunk.usage is not None:
            # Running usage comes with text; the usage of the whole comes alone, or with the end and nowhere before.
            self.is_usage_final = not chunk.choices or (self.usage is None and chunk.finish_reason is not None)
            self.usage = chunk.usage
        self.error = self.error or chunk.error
        self.finish_reason = chunk.finish_reason or self.finish_reason
        self.nan_events += chunk.has_nan
        self.choices.update(chunk.choices)
        if details is not None:
            self.final = details if self.final is None else _newer(self.final, details)
        ids = chunk.token_ids if details is None or details.token_ids is None else details.token_ids
        tokens = self._tokens(chunk, details, ids)
        if chunk.choices and (chunk.bears_text or tokens):
            one = Delivery(at_ns, read, chunk.text, chunk.reasoning, chunk.tool, tokens, ids, details)
            self.deliveries.append(one)
            if self.deliveries.is_marked:
                self._marked.append(one)
        return chunk

    def end(self, *, event_is_step: bool) -> Stream:
        """The stream, when nothing more comes."""
        self.deliveries.close()
        marked: Sequence[Delivery] = self._marked if len(self._marked) == len(self.deliveries) else self.deliveries
        return Stream(
            deliveries=self.deliveries,
            steps=steps_of(marked, self.final, event_is_step=event_is_step),
            usage=self.usage,
            is_usage_final=self.is_usage_final,
            running_tokens=self.last_running(),
            final=self.final,
            finish_reason=self.finish_reason,
            error=self.error,
            is_done=self.is_done,
            unreadable=self.unreadable,
            nan_events=self.nan_events,
            choices=max(1, len(self.choices)),
        )

    def last_running(self) -> int | None:
        """The last running count, over all choices; the adapter's own may still move with the event that ends the
        stream."""
        if not self.running:
            return None
        final = self.final.tokens if self.final else None
        return sum(self.running.values()) if final is None or len(self.running) > 1 else final

    def _tokens(self, chunk: Chunk, details: Details | None, ids: tuple[int, ...] | None) -> int | None:
        """Tokens in this event, by the ids or the running count, which is one of each choice."""
        running = chunk.usage.completion if chunk.usage else None
        if details is not None and details.tokens is not None:
            running = details.tokens
        # A count that comes first at the end is a total, not this event's share.
        if running is None or not chunk.choices or (self.deliveries and not self.running):
            return None if ids is None else len(ids)
        choice = chunk.choices[0]
        new, self.running[choice] = running - self.running.get(choice, 0), running
        if ids is not None:
            return len(ids)
        return new if 0 <= new <= MOST_TOKENS else None


_KEPT = (
    "tokens",
    "drafted",
    "accepted",
    "ignored",
    "verify_steps",
    "draft_width",
    "accepted_per_step",
    "drafted_per_step",
)


def _newer(old: Details, new: Details) -> Details:
    """The later counts, keeping what only the earlier event told."""
    kept = {name: getattr(old, name) for name in _KEPT if getattr(new, name) is None}
    return replace(new, **kept, reported={**old.reported, **new.reported})
