"""A request made of what the server sent: events decoded, tokens counted by every rung that the stream allows."""

from collections.abc import Iterable

from auditor.core.adapter import Details, no_details
from auditor.core.counting.evidence import Arrival, Response
from auditor.core.counting.exchange import counts_of
from auditor.core.counting.reading import ReadDetails, Stream, read_stream
from auditor.core.imports.decoding import clean
from auditor.core.imports.record import Drafts, Request
from auditor.core.wire.sse import EventReader, ServerEvent
from auditor.terms import Rung

Piece = tuple[int | None, bytes]
"""When a piece of the body came, ns, and its bytes; None where that is not told."""


def arrivals_of(pieces: Iterable[Piece]) -> tuple[Arrival, ...]:
    """The events of a body; an event that is complete without a blank line at the end is taken too."""
    reader, found, at = EventReader(), list[Arrival](), 0
    for number, (time, data) in enumerate(pieces):
        at = at if time is None else time
        found += [Arrival(at, number, event) for event in reader.feed(data)]
    return (*found, *(Arrival(at, len(found), event) for event in reader.feed(b"\n\n")))


def arrivals_of_events(events: Iterable[tuple[int, bytes]]) -> tuple[Arrival, ...]:
    """Events that a tool has taken apart: when each came, ns, and its data."""
    return tuple(Arrival(at, number, ServerEvent("", data)) for number, (at, data) in enumerate(events))


def stream_of(arrivals: tuple[Arrival, ...], details: ReadDetails = no_details) -> Stream:
    """The stream behind these events, in the OpenAI shape; nothing in them raises. `details` reads what servers add."""
    response = Response(
        head=None, arrivals=arrivals, body=b"", whole=True, unfinished_event=False, oversized_events=0, problem=None
    )
    return read_stream(response, details, event_is_step=False)


def request_of(
    stream: Stream, *, sent_ns: int | None, end_ns: int | None = None, is_timed: bool = True, id_: str | None = None
) -> Request:
    """One request, counted from its stream. Without `sent_ns` durations run from the first event; without `is_timed`
    there are none."""
    counts = counts_of(stream, None)
    rung = next((one for one in Rung if one in counts), None)
    times = [one.at_ns for one in stream.deliveries] if is_timed else []
    origin = sent_ns if sent_ns is not None else min(times, default=0)
    events = tuple(at - origin for at in times)
    tokens = [one.tokens for one in stream.deliveries]
    usage = stream.usage
    return Request(
        id=id_,
        send_ns=sent_ns,
        ttft_ns=events[0] if events and sent_ns is not None else None,
        last_ns=events[-1] if events and sent_ns is not None else None,
        e2e_ns=end_ns - sent_ns if end_ns is not None and sent_ns is not None else None,
        events_ns=events if is_timed else None,
        event_tokens=tuple(one for one in tokens if one is not None) if is_timed and None not in tokens else None,
        prompt_tokens=usage.prompt if usage else None,
        cached_tokens=usage.cached if usage else None,
        output_tokens=None if rung is None else counts[rung],
        rung=rung,
        counts=counts,
        reasoning_tokens=usage.reasoning if usage else None,
        drafts=_drafts(stream.final),
        finish_reason=clean(stream.finish_reason, 40) if stream.finish_reason else None,
        error=_problem(stream),
        text=stream.text,
    )


def _drafts(final: Details | None) -> Drafts | None:
    """What was drafted, as the server counts it at the end."""
    names = ("verify_steps", "drafted", "accepted", "draft_width")
    found = {name: getattr(final, name) for name in names} if final else {}
    return Drafts(**found) if any(value is not None for value in found.values()) else None


def _problem(stream: Stream) -> str | None:
    if stream.error is not None:
        return clean(stream.error, 300) or "the server sent an error"
    if not stream.deliveries:
        return "no event with text or tokens"
    return None
