"""From the wire log to exchanges: what was asked, what came back, and when each event was whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from auditor.core.wire.http1 import FramingError, Head, ResponseReader
from auditor.core.wire.log import Kind, WireRecord
from auditor.core.wire.ndjson import NDJSON, LineReader
from auditor.core.wire.sse import EventReader, ServerEvent

Purpose = Literal["probe", "warmup", "measure", "scrape", "recount"]

EVENT_STREAM = "text/event-stream"


@dataclass(frozen=True, slots=True)
class Read:
    """One socket read. `t_ns` is monotonic; `kernel_ns` is the kernel's receive time on the same clock, or None."""

    t_ns: int
    kernel_ns: int | None
    data: bytes

    @property
    def arrival_ns(self) -> int:
        """The kernel's time where there is one, else the client's."""
        return self.t_ns if self.kernel_ns is None else self.kernel_ns


@dataclass(slots=True)
class Exchange:
    """One request and all that came back, as captured. Times are monotonic; None where the moment never came."""

    id: int
    meta: dict[str, Any]
    request: bytes = b""
    open_ns: int | None = None
    connect_ns: int | None = None
    send_ns: int | None = None
    sent_ns: int | None = None
    reads: list[Read] = field(default_factory=list)
    close_ns: int | None = None
    how: str | None = None
    """How it ended: complete, eof, timeout, reset, cancelled, error; None when the log ends before it did."""
    words: str | None = None
    """What the system said when it broke."""

    @property
    def purpose(self) -> str:
        """Why it was made."""
        return str(self.meta.get("purpose", "measure"))


@dataclass(frozen=True, slots=True)
class Arrival:
    """One event and when its last byte arrived."""

    at_ns: int
    """The kernel's time where there is one, else the client's; monotonic."""
    read: int
    """Index of the read that completed it."""
    event: ServerEvent


@dataclass(frozen=True, slots=True)
class Response:
    """One response, taken apart."""

    head: Head | None
    """None when no whole response head arrived."""
    arrivals: tuple[Arrival, ...]
    body: bytes
    """The body when it is not an event stream, else empty."""
    whole: bool
    """Whether the framing of HTTP says that all of it came."""
    unfinished_event: bool
    """Whether the body ends inside an event."""
    oversized_events: int
    problem: str | None
    """What was wrong with the framing."""

    @property
    def status(self) -> int | None:
        """The HTTP status."""
        return None if self.head is None else self.head.status


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of the run."""

    t_ns: int
    what: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Evidence:
    """All exchanges and marks of a run."""

    exchanges: tuple[Exchange, ...]
    marks: tuple[Mark, ...]
    clock_error_ns: int | None
    """Largest stated error between the two clocks; None without kernel stamps."""
    damage: str | None
    """Why the log could not be read to its end; None when it could."""
    finished: bool
    """Whether the run reached its end mark."""


def assemble(records: Sequence[WireRecord], damage: str | None = None) -> Evidence:
    """Group the records of a wire log by exchange, in order of their ids."""
    exchanges: dict[int, Exchange] = {}
    marks: list[Mark] = []
    clocks = _Clocks(records)
    for record in records:
        if record.kind is Kind.MARK:
            marks.append(Mark(record.t_ns, record.json()))
        elif record.kind is Kind.OPEN:
            exchanges[record.exchange] = Exchange(record.exchange, record.json(), open_ns=record.t_ns)
        elif record.exchange in exchanges:
            _apply(exchanges[record.exchange], record, clocks)
    return Evidence(
        exchanges=tuple(exchanges[key] for key in sorted(exchanges)),
        marks=tuple(marks),
        clock_error_ns=clocks.error_ns,
        damage=damage,
        finished=any(mark.what.get("mark") == "end" for mark in marks),
    )


def _apply(exchange: Exchange, record: WireRecord, clocks: "_Clocks") -> None:
    match record.kind:
        case Kind.CONNECT:
            exchange.connect_ns = record.t_ns
            exchange.meta.update(record.json())
        case Kind.SEND:
            exchange.send_ns, exchange.request = record.t_ns, record.payload
        case Kind.SENT:
            exchange.sent_ns = record.t_ns
        case Kind.READ:
            exchange.reads.append(Read(record.t_ns, clocks.monotonic(record), record.payload))
        case Kind.CLOSE:
            what = record.json()
            exchange.close_ns, exchange.how, exchange.words = record.t_ns, what.get("how"), what.get("words")


class _Clocks:
    """Turns the kernel's realtime stamps into monotonic ones by the nearest earlier pair of both clocks."""

    def __init__(self, records: Sequence[WireRecord]) -> None:
        self._pairs = [record for record in records if record.kind is Kind.CLOCK]
        errors = [int(pair.json().get("error_ns", 0)) for pair in self._pairs]
        self.error_ns = max(errors) if errors else None
        self._at = 0

    def monotonic(self, record: WireRecord) -> int | None:
        if record.kernel_ns == 0 or not self._pairs:
            return None
        while self._at + 1 < len(self._pairs) and self._pairs[self._at + 1].t_ns <= record.t_ns:
            self._at += 1
        pair = self._pairs[self._at]
        # The kernel received the bytes before the client read them; a later stamp is clock error.
        return min(record.t_ns, record.kernel_ns - (pair.kernel_ns - pair.t_ns))


def read_response(exchange: Exchange) -> Response:
    """Take the reads of an exchange apart; what cannot be read is said in `problem`, never raised."""
    reader = ResponseReader(request_method=str(exchange.meta.get("method", "POST")))
    events: EventReader | LineReader | None = None
    arrivals: list[Arrival] = []
    body: list[bytes] = []
    problem = None
    for index, read in enumerate(exchange.reads):
        try:
            piece = reader.feed(read.data)
        except FramingError as error:
            problem = str(error)
            break
        if not is_event_stream(reader.head):
            body.append(piece)
            continue
        events = events or reader_of(reader.head)
        arrivals.extend(Arrival(read.arrival_ns, index, event) for event in events.feed(piece))
    if problem is None and exchange.how in ("eof", "complete"):
        reader.eof()
    return Response(
        head=reader.head,
        arrivals=tuple(arrivals),
        body=b"".join(body),
        whole=reader.complete,
        unfinished_event=events is not None and events.unfinished,
        oversized_events=events.oversized if events else 0,
        problem=problem,
    )


def is_event_stream(head: Head | None) -> bool:
    """Whether a response streams events."""
    return head is not None and (head.get("content-type") or "").lower().startswith((EVENT_STREAM, *NDJSON))


def reader_of(head: Head | None) -> EventReader | LineReader:
    """What takes the body of an event stream apart: server-sent events, or a JSON object on each line."""
    is_lines = head is not None and (head.get("content-type") or "").lower().startswith(NDJSON)
    return LineReader() if is_lines else EventReader()


def not_a_stream(head: Head) -> str | None:
    """Why an answer with HTTP 200 is no event stream that can be read; None when it is one."""
    coding = head.get("content-encoding") or "identity"
    if coding.lower() != "identity":
        return f"the answer is compressed ({coding[:40]}), though identity was asked for"
    if not is_event_stream(head):
        return f"the answer is no event stream but {(head.get('content-type') or 'of no stated type')[:60]}"
    return None


def request_body(exchange: Exchange) -> bytes:
    """The body of the request as it was sent."""
    return exchange.request.partition(b"\r\n\r\n")[2]
