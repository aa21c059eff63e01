"""Reads one measured exchange: its deliveries, their tokens, and the steps of the target model behind them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from auditor.core.adapter import Details, Shape, openai_shape
from auditor.core.counting.evidence import Response
from auditor.core.counting.steps import Delivery, Step, steps_of
from auditor.core.wire.chunks import DONE, Chunk, ChunkError, Usage, read_chunk

ReadDetails = Callable[[dict[str, Any]], Details | None]


@dataclass(frozen=True, slots=True)
class Stream:
    """A measured exchange, read."""

    deliveries: tuple[Delivery, ...]
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
        return "".join(d.reasoning + d.text + d.tool for d in self.deliveries)

    @property
    def id_count(self) -> int | None:
        """Token ids in the stream, None unless every delivery with tokens has them."""
        if not self.deliveries or any(d.token_ids is None and d.tokens != 0 for d in self.deliveries):
            return None
        return sum(len(d.token_ids or ()) for d in self.deliveries)


def read_stream(
    response: Response, details: ReadDetails, *, event_is_step: bool, shape: Callable[[], Shape] = openai_shape
) -> Stream:
    """Read the events of a response; nothing in them raises. `shape` makes what gives them in the OpenAI shape."""
    reader = _Reader(details, shape())
    for arrival in response.arrivals:
        reader.take(arrival.at_ns, arrival.read, arrival.event.data)
    deliveries = tuple(reader.deliveries)
    return Stream(
        deliveries=deliveries,
        steps=steps_of(deliveries, reader.final, event_is_step=event_is_step),
        usage=reader.usage,
        is_usage_final=reader.is_usage_final,
        running_tokens=reader.last_running(),
        final=reader.final,
        finish_reason=reader.finish_reason,
        error=reader.error,
        is_done=reader.is_done,
        unreadable=reader.unreadable,
        nan_events=reader.nan_events,
        choices=max(1, len(reader.choices)),
    )


class _Reader:
    def __init__(self, details: ReadDetails, shape: Shape) -> None:
        self._details, self._shape = details, shape
        self.deliveries: list[Delivery] = []
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

    def take(self, at_ns: int, read: int, data: bytes) -> None:
        if data.strip() == DONE:
            self.is_done = True
            return
        try:
            chunk = read_chunk(data, self._shape)
        except ChunkError:
            self.unreadable += 1
            return
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
            self.deliveries.append(Delivery(at_ns, read, chunk.text, chunk.reasoning, chunk.tool, tokens, ids, details))

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
        return new if new >= 0 else None


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
