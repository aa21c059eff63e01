"""From the wire log to exchanges: what was asked, what came back, and when each event was whole."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from auditor.core.wire.http1 import FramingError, Head, ResponseReader
from auditor.core.wire.log import Kind, WireRecord
from auditor.core.wire.ndjson import NDJSON, LineReader
from auditor.core.wire.sse import EventReader, ServerEvent
from auditor.errors import EvidenceError

EVENT_STREAM = "text/event-stream"
MOST_EXCHANGES = 2_000_000
"""Exchanges of a log that are believed: each takes memory, however little it holds."""


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


class Taker(Protocol):
    """Takes the reads of an exchange one by one."""

    def take(self, at_ns: int, data: bytes) -> None:
        """The next read: when it arrived, and its bytes."""

    def end(self, how: str | None) -> None:
        """Nothing more comes."""


class Passed:
    """Takes reads that nobody asks for."""

    def take(self, at_ns: int, data: bytes) -> None:
        """Pass over it."""

    def end(self, how: str | None) -> None:
        """Nothing is left of it."""


Readers = Callable[["Exchange"], Taker | None]
"""What takes the reads of an exchange that was opened; None where they are kept."""


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

    last_ns: int | None = None
    """Arrival of the last read."""
    taker: "Taker | None" = None
    """What takes its reads as they are read from the log, instead of `reads`."""

    @property
    def purpose(self) -> str:
        """Why it was made."""
        return str(self.meta.get("purpose", "measure"))

    @property
    def method(self) -> str:
        """Of its request."""
        return str(self.meta.get("method", "POST"))


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


def assemble(records: Iterable[WireRecord], damage: str | None = None, readers: Readers | None = None) -> Evidence:
    """Group the records of a wire log by exchange, in order of their ids.

    With `readers` the reads of an exchange go where they say, and are not held. Raises EvidenceError for a log that
    opens more exchanges than a run does.
    """
    exchanges: dict[int, Exchange] = {}
    marks: list[Mark] = []
    clocks = _Clocks()
    for record in records:
        if record.kind is Kind.READ:
            if (exchange := exchanges.get(record.exchange)) is not None:
                _apply_read(exchange, record, clocks)
        elif record.kind is Kind.CLOCK:
            clocks.add(record)
        elif record.kind is Kind.MARK:
            marks.append(Mark(record.t_ns, record.json()))
        elif record.kind is Kind.OPEN:
            if len(exchanges) >= MOST_EXCHANGES:
                raise EvidenceError(f"the wire log opens more than {MOST_EXCHANGES:,} exchanges, which no run does")
            exchange = exchanges[record.exchange] = Exchange(record.exchange, record.json(), open_ns=record.t_ns)
            exchange.taker = readers(exchange) if readers else None
        elif record.exchange in exchanges:
            _apply(exchanges[record.exchange], record)
    for exchange in exchanges.values():
        if exchange.taker is not None and exchange.close_ns is None:
            exchange.taker.end(None)
    return Evidence(
        exchanges=tuple(exchanges[key] for key in sorted(exchanges)),
        marks=tuple(marks),
        clock_error_ns=clocks.error_ns,
        damage=damage,
        finished=any(mark.what.get("mark") == "end" for mark in marks),
    )


def _apply_read(exchange: Exchange, record: WireRecord, clocks: "_Clocks") -> None:
    kernel_ns = clocks.monotonic(record)
    exchange.last_ns = record.t_ns if kernel_ns is None else kernel_ns
    if exchange.taker is not None:
        exchange.taker.take(exchange.last_ns, record.payload)
    else:
        exchange.reads.append(Read(record.t_ns, kernel_ns, record.payload))


def _apply(exchange: Exchange, record: WireRecord) -> None:
    match record.kind:
        case Kind.CONNECT:
            exchange.connect_ns = record.t_ns
            exchange.meta.update(record.json())
        case Kind.SEND:
            exchange.send_ns, exchange.request = record.t_ns, record.payload
        case Kind.SENT:
            exchange.sent_ns = record.t_ns
        case Kind.CLOSE:
            what = record.json()
            exchange.close_ns, exchange.how, exchange.words = record.t_ns, what.get("how"), what.get("words")
            if exchange.taker is not None:
                exchange.taker.end(exchange.how)


class _Clocks:
    """Turns the kernel's realtime stamps into monotonic ones by the nearest earlier pair of both clocks."""

    def __init__(self) -> None:
        self._pairs: list[WireRecord] = []
        self.error_ns: int | None = None
        self._at = 0

    def add(self, pair: WireRecord) -> None:
        """Both clocks, read together."""
        self._pairs.append(pair)
        self.error_ns = max(self.error_ns or 0, int(pair.json().get("error_ns", 0)))

    def monotonic(self, record: WireRecord) -> int | None:
        if record.kernel_ns == 0 or not self._pairs:
            return None
        while self._at + 1 < len(self._pairs) and self._pairs[self._at + 1].t_ns <= record.t_ns:
            self._at += 1
        pair = self._pairs[self._at]
        # The kernel received the bytes before the client read them; a later stamp is clock error.
        return min(record.t_ns, record.kernel_ns - (pair.kernel_ns - pair.t_ns))


class ResponseTaker:
    """Takes a response apart as its reads come; what cannot be read is said in `problem`, never raised."""

    def __init__(self, method: str) -> None:
        self._reader = ResponseReader(request_method=method)
        self._events: EventReader | LineReader | None = None
        self._body: list[bytes] = []
        self._problem: str | None = None

    @property
    def head(self) -> Head | None:
        """Its head; None while it is not whole."""
        return self._reader.head

    @property
    def has_plain_lines(self) -> bool:
        """Whether server-sent events come, and none of the next was taken yet."""
        self._events = self._events or reader_of(self._reader.head)
        return isinstance(self._events, EventReader) and self._events.is_between

    def take(self, data: bytes) -> bytes:
        """The bytes of the event stream in the next read; those of any other body are kept."""
        if self._problem is not None:
            return b""
        try:
            piece = self._reader.feed(data)
        except FramingError as error:
            self._problem = str(error)
            return b""
        if is_event_stream(self._reader.head):
            return piece
        self._body.append(piece)
        return b""

    def events(self, piece: bytes) -> list[ServerEvent]:
        """The events that end with these bytes of the stream."""
        if not piece:
            return []
        self._events = self._events or reader_of(self._reader.head)
        return self._events.feed(piece)

    def end(self, how: str | None, arrivals: tuple[Arrival, ...] = ()) -> Response:
        """The response, when nothing more comes."""
        if self._problem is None and how in ("eof", "complete"):
            self._reader.eof()
        return Response(
            head=self._reader.head,
            arrivals=arrivals,
            body=b"".join(self._body),
            whole=self._reader.complete,
            unfinished_event=self._events is not None and self._events.unfinished,
            oversized_events=self._events.oversized if self._events else 0,
            problem=self._problem,
        )


def read_response(exchange: Exchange) -> Response:
    """Take the reads of an exchange apart; what cannot be read is said in `problem`, never raised."""
    taker = ResponseTaker(exchange.method)
    arrivals: list[Arrival] = []
    for index, read in enumerate(exchange.reads):
        events = taker.events(taker.take(read.data))
        arrivals.extend(Arrival(read.arrival_ns, index, event) for event in events)
    return taker.end(exchange.how, tuple(arrivals))


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
