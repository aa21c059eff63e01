"""Reads one measured exchange: its deliveries, their tokens, and the steps of the target model behind them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from auditor.core.adapter import Details
from auditor.core.chunks import DONE, Chunk, ChunkError, Usage, read_chunk
from auditor.core.evidence import Response

ReadDetails = Callable[[dict[str, Any]], Details | None]


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event that carried something to the client."""

    at_ns: int
    read: int
    text: str
    reasoning: str
    tool: str
    tokens: int | None
    """Tokens in it; None where nothing tells."""
    token_ids: tuple[int, ...] | None
    details: Details | None

    @property
    def is_visible(self) -> bool:
        """Whether a reader sees anything of it."""
        return bool(self.text or self.reasoning or self.tool)


@dataclass(frozen=True, slots=True)
class Step:
    """Tokens that came out of one step of the target model, or of several that cannot be told apart."""

    first: int
    """Index of its first delivery."""
    deliveries: int
    tokens: int | None
    """Tokens delivered by it, visible or not."""
    drafted: int | None
    accepted: int | None
    phase: str | None
    """`first`, `plain` or `verify`; None where it cannot be told."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A measured exchange, read."""

    deliveries: tuple[Delivery, ...]
    steps: tuple[Step, ...] | None
    """None where the server does not show its steps."""
    usage: Usage | None
    """The last usage that was sent."""
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
        """Token ids in the stream, None unless every delivery has them."""
        if not self.deliveries or any(d.token_ids is None for d in self.deliveries):
            return None
        return sum(len(d.token_ids or ()) for d in self.deliveries)


def read_stream(response: Response, details: ReadDetails, *, event_is_step: bool) -> Stream:
    """Read the events of a response; nothing in them raises."""
    reader = _Reader(details)
    for arrival in response.arrivals:
        reader.take(arrival.at_ns, arrival.read, arrival.event.data)
    deliveries = tuple(reader.deliveries)
    return Stream(
        deliveries=deliveries,
        steps=_steps(deliveries, reader.final, event_is_step=event_is_step),
        usage=reader.usage,
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
    def __init__(self, details: ReadDetails) -> None:
        self._details = details
        self.deliveries: list[Delivery] = []
        self.usage: Usage | None = None
        self.final: Details | None = None
        self.finish_reason: str | None = None
        self.error: str | None = None
        self.is_done = False
        self.unreadable = 0
        self.nan_events = 0
        self.choices: set[int] = set()
        self.running = 0
        self.has_running = False

    def take(self, at_ns: int, read: int, data: bytes) -> None:
        if data.strip() == DONE:
            self.is_done = True
            return
        try:
            chunk = read_chunk(data)
        except ChunkError:
            self.unreadable += 1
            return
        details = self._details(chunk.raw)
        self.usage = chunk.usage or self.usage
        self.error = self.error or chunk.error
        self.finish_reason = chunk.finish_reason or self.finish_reason
        self.nan_events += chunk.has_nan
        self.choices.update(chunk.choices)
        if details is not None:
            self.final = details if self.final is None else _newer(self.final, details)
        ids = chunk.token_ids if details is None or details.token_ids is None else details.token_ids
        tokens = self._tokens(chunk, details, ids)
        if chunk.choices and (chunk.bears_text or tokens):
            self.deliveries.append(
                Delivery(at_ns, read, chunk.text, chunk.reasoning, chunk.tool, tokens, ids, details)
            )

    def last_running(self) -> int | None:
        """The last running count; the adapter's own may still move with the event that ends the stream."""
        if not self.has_running:
            return None
        final = self.final.tokens if self.final else None
        return self.running if final is None else final

    def _tokens(self, chunk: Chunk, details: Details | None, ids: tuple[int, ...] | None) -> int | None:
        """Tokens in this event, by the running count or the ids."""
        running = chunk.usage.completion if chunk.usage and chunk.choices else None
        if details is not None and details.tokens is not None and chunk.choices:
            running = details.tokens
        # A count that comes first at the end is a total, not this event's share.
        if running is None or (self.deliveries and not self.has_running):
            return None if ids is None else len(ids)
        self.has_running = True
        new, self.running = running - self.running, running
        return len(ids) if ids is not None else new


def _newer(old: Details, new: Details) -> Details:
    """The later counts, keeping what only the earlier event told."""
    names = ("tokens", "drafted", "accepted", "verify_steps", "accepted_per_step", "drafted_per_step")
    kept = {name: getattr(old, name) for name in names if getattr(new, name) is None}
    return replace(new, **kept, reported={**old.reported, **new.reported})


def _steps(
    deliveries: tuple[Delivery, ...], final: Details | None, *, event_is_step: bool
) -> tuple[Step, ...] | None:
    if not deliveries:
        return None
    if all(d.details is not None and d.details.step is not None for d in deliveries):
        return tuple(_marked_steps(deliveries, final))
    if event_is_step and all(d.tokens for d in deliveries):
        return tuple(_event_steps(deliveries, final))
    return None


def _marked_steps(deliveries: tuple[Delivery, ...], final: Details | None) -> Iterator[Step]:
    """Steps where each event names its step and the counts of drafts so far (llama.cpp).

    A token that has no event of its own, as the end-of-sequence token, is told by the last counts alone.
    """
    start = tokens = drafted = accepted = 0
    marks = [(index + 1, delivery.details) for index, delivery in enumerate(deliveries)]
    if final is not None and final.step is not None:
        marks.append((len(deliveries), final))
    for position, (end, details) in enumerate(marks):
        following = marks[position + 1][1] if position + 1 < len(marks) else None
        if details is None or (following is not None and following.step == details.step):
            continue
        now = (details.tokens or 0, details.drafted or 0, details.accepted or 0)
        new_tokens, new_drafted, new_accepted = now[0] - tokens, now[1] - drafted, now[2] - accepted
        if not new_tokens and not new_drafted:
            continue
        phase: str | None = "first" if start == 0 and new_drafted == 0 else "verify" if new_drafted else "plain"
        # Held-back text hides the border between steps: more tokens than one verified draft can give.
        if phase == "verify" and new_tokens > new_accepted + 1:
            phase = None
        yield Step(start, end - start, new_tokens, new_drafted, new_accepted, phase)
        start, (tokens, drafted, accepted) = end, now


def _event_steps(deliveries: tuple[Delivery, ...], final: Details | None) -> Iterator[Step]:
    """Steps where each event is one unless the server merged some (vLLM, SGLang), with drafts per step where the
    server lists them."""
    accepted = final.accepted_per_step if final else None
    drafted = final.drafted_per_step if final else None
    all_verify = accepted is not None and len(accepted) == len(deliveries) - 1
    for index, delivery in enumerate(deliveries):
        tokens = delivery.tokens or 0
        if index == 0:
            yield Step(0, 1, tokens, 0, 0, "first")
        elif all_verify and accepted is not None:
            width = drafted[index - 1] if drafted and len(drafted) == len(accepted) else None
            yield Step(index, 1, tokens, width, accepted[index - 1], "verify")
        else:
            yield Step(index, 1, tokens, None, None, None)
