"""The receiving side, behind httpx's own seam: a transport that logs every byte with its time and parses none.

URL, headers, auth, TLS settings and errors stay httpx's. Of a response only its head and its end are looked for; the
caller wakes twice, not once per token.
"""

import asyncio
import re
import ssl
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import httpx

from auditor.capture.connection import Connection, keep_stamping
from auditor.capture.failures import map_error
from auditor.capture.heads import origin, request_head, struck_head
from auditor.capture.wirelog import WireWriter
from auditor.core.counting.evidence import is_event_stream, reader_of
from auditor.core.wire.http1 import ResponseReader, TailReader
from auditor.core.wire.log import Kind
from auditor.core.wire.ndjson import LineReader

CONNECT_TIMEOUT_S = 10.0
_LOOKED_AT = 4
"""Sockets that are looked at in turn for unread bytes."""
_HEAD_END = b"\r\n\r\n"
_SMALL = 4096
"""Bytes of a read below which it is looked at closely."""
_LOOKS = 8
"""First reads of an event stream that are taken apart, where they are small, to see that its framing is sound."""
LIMIT_BYTES = 32 << 20
"""What one answer may take beside its tokens; the connection is closed on one that sends more."""


@dataclass(slots=True)
class Flight:
    """A request on its way: what to write beside it, how long to wait, and how it goes."""

    meta: dict[str, Any]
    """Purpose and place in the plan; written to the log."""
    first_token_ns: int = 600 * 10**9
    stall_ns: int = 120 * 10**9
    limit_bytes: int = LIMIT_BYTES
    keep: bool = False
    """Whether the body of an event stream is handed to the caller as well."""
    exchange: int = 0
    events: int = 0
    """Roughly the events so far; for the progress display and the time limits. In a large read they are guessed."""
    last: bytes = b""
    """The last read; for the progress display only."""
    how: str | None = None
    words: str | None = None
    held: list[tuple[int, int, bytes]] | None = None
    """Reads that are not in the log yet: times and bytes. What is no event stream is logged when it is whole, so that
    a secret in it is found wherever it was cut."""


@dataclass(slots=True)
class _Wait:
    """What the readers of one response share."""

    reader: ResponseReader
    tail: TailReader | None = None
    """What looks for the end instead of the reader, once an event stream runs that goes to the log alone."""
    is_complete: bool = False
    """Whether all of it came."""
    looks: int = 0
    """Reads that were taken apart."""
    body: list[bytes] = field(default_factory=list)
    head: asyncio.Event = field(default_factory=asyncio.Event)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    last_ns: int = 0
    """When the server last said something."""
    size: int = 0
    """Bytes that came."""
    is_stream: bool = False
    """Whether it is an event stream."""
    event_mark: bytes = b"data:"
    """What stands in it once per event, roughly."""
    event_bytes: int = 256
    """Roughly the size of an event."""


class _IdleClosedError(Exception):
    """A kept connection was closed by the server before it answered."""


class CapturingTransport(httpx.AsyncBaseTransport):
    """HTTP/1.1 with keep-alive over sockets of our own.

    A request's `extensions["flight"]` is its Flight; without one it is logged as a probe. The body of an event stream
    goes to the log and nowhere else; any other body is also handed to the caller.
    """

    def __init__(self, log: WireWriter, *, context: ssl.SSLContext | None = None) -> None:
        self._log, self._context = log, context
        self._idle: dict[tuple[str, str, int], list[Connection]] = {}
        self._stamping = keep_stamping()
        self.kernel_stamps = False
        self._reading: deque[Connection] = deque()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send it; returns when the response head is there. Raises httpx's transport errors.

        An idle connection that the server closes as the request goes out is replaced once, as a new exchange.
        """
        flight = request.extensions.get("flight") or Flight({"purpose": "probe"})
        body = await request.aread()
        try:
            return await self._exchange(request, body, flight, *await self._begin(request, flight))
        except _IdleClosedError:
            flight.how = flight.words = None
            return await self._exchange(request, body, flight, *await self._begin(request, flight, fresh=True))

    async def _begin(self, request: httpx.Request, flight: Flight, *, fresh: bool = False) -> tuple[Connection, bool]:
        """Open the exchange in the log and get a connection for it; the connection, and whether it lay idle."""
        flight.exchange, flight.held = self._log.new_exchange(), []
        meta = {**flight.meta, "method": request.method, "target": request.url.path}
        self._log.add_json(Kind.OPEN, flight.exchange, time.perf_counter_ns(), meta)
        start = time.perf_counter_ns()
        try:
            idle = None if fresh else self._take_idle(request.url)
            connection = idle or await self._open(request.url)
        except BaseException as error:
            self._fail(flight, request, error, connecting=True)
            raise
        what = {"start_ns": start, "reused": connection.is_used, "peer": connection.peer}
        what["tls"] = request.url.scheme == "https"
        self._log.add_json(Kind.CONNECT, flight.exchange, time.perf_counter_ns(), what)
        return connection, idle is not None

    async def _exchange(
        self, request: httpx.Request, body: bytes, flight: Flight, connection: Connection, was_idle: bool
    ) -> httpx.Response:
        wait = _Wait(ResponseReader(request_method=request.method))
        connection.is_used = True
        try:
            await self._send(connection, request, body, flight, wait)
            await _until(wait.head, wait, flight)
        except BaseException as error:
            connection.close()
            self._forget(connection)
            if was_idle and isinstance(error, OSError) and not isinstance(error, TimeoutError):
                self._end(flight, "eof")
                raise _IdleClosedError from error
            self._fail(flight, request, error)
            raise
        head = wait.reader.head
        if head is None:
            connection.close()
            self._forget(connection)
            if was_idle and not wait.size:
                raise _IdleClosedError
            raise httpx.RemoteProtocolError(flight.words or "the server closed without an answer", request=request)
        return httpx.Response(
            head.status,
            headers=[(name.encode("latin-1"), value.encode("latin-1")) for name, value in head.fields],
            stream=_Body(self, connection, request, flight, wait),
            extensions={"flight": flight},
        )

    async def open_ahead(self, url: httpx.URL, count: int) -> None:
        """Open connections before they are needed, so that connecting is in nobody's time to first token."""
        idle = self._idle.setdefault(origin(url), [])
        while len(idle) < count:
            try:
                idle.append(await self._open(url))
            except OSError:  # the request itself will say what is wrong, and is recorded
                return

    def unread(self) -> int:
        """The most bytes that lie unread in one of a few sockets, others at each call."""
        self._reading.rotate(_LOOKED_AT)
        return max((one.waiting_bytes() for one in islice(self._reading, _LOOKED_AT)), default=0)

    async def aclose(self) -> None:
        """Close the idle connections."""
        if self._stamping is not None:
            self._stamping.close()
        for connections in self._idle.values():
            for connection in connections:
                connection.close()
        self._idle.clear()

    async def _open(self, url: httpx.URL) -> Connection:
        scheme, host, port = origin(url)
        context = None
        if scheme == "https":
            context = self._context or ssl.create_default_context()
        connection = await Connection.open(host, port, context=context, timeout_s=CONNECT_TIMEOUT_S)
        self.kernel_stamps = connection.kernel_stamps
        return connection

    def _take_idle(self, url: httpx.URL) -> Connection | None:
        idle = self._idle.setdefault(origin(url), [])
        while idle:
            connection = idle.pop()
            if not connection.is_stale():
                return connection
            connection.close()
        return None

    async def _send(
        self, connection: Connection, request: httpx.Request, body: bytes, flight: Flight, wait: _Wait
    ) -> None:
        def on_read(t_ns: int, kernel_ns: int, data: bytes) -> None:
            if data:
                self._take(connection, flight, wait, t_ns, kernel_ns, data)
            else:
                wait.is_complete = wait.reader.eof()
                self._finish(connection, flight, wait, "eof")

        wait.last_ns = time.perf_counter_ns()
        connection.start_reading(on_read)
        self._reading.append(connection)
        async with asyncio.timeout(flight.first_token_ns / 1e9):
            sent, done = await connection.send(request_head(request) + body)
        self._log.add(Kind.SEND, flight.exchange, sent, struck_head(request) + body)
        self._log.add(Kind.SENT, flight.exchange, done)

    def _take(
        self, connection: Connection, flight: Flight, wait: _Wait, t_ns: int, kernel_ns: int, data: bytes
    ) -> None:
        """One read: log it, and see whether the head or the end is in it."""
        if flight.held is None:
            self._log.add(Kind.READ, flight.exchange, t_ns, data, kernel_ns)
        else:
            flight.held.append((t_ns, kernel_ns, data))
        wait.size += len(data)
        try:
            if wait.size > flight.limit_bytes:
                raise ValueError(f"more than {flight.limit_bytes >> 20} MiB came for one answer")
            if wait.tail is not None:
                wait.is_complete = wait.tail.feed(data)
            else:
                self._read_begin(flight, wait, data)
        except ValueError as error:
            flight.words = str(error)
            self._finish(connection, flight, wait, "error")
            return
        is_life = True
        if wait.is_stream:
            is_life = _count_events(flight, wait, data)
        if is_life:
            wait.last_ns = t_ns
        if wait.is_complete:
            self._finish(connection, flight, wait, "complete")

    def _read_begin(self, flight: Flight, wait: _Wait, data: bytes) -> None:
        """A read that is taken apart: until the head is there, and to the end where the body is wanted."""
        piece, begun = b"", data
        while data and wait.reader.head is None:
            end = data.find(_HEAD_END) + len(_HEAD_END)
            cut = end if end >= len(_HEAD_END) else len(data)
            piece, data = wait.reader.feed(data[:cut]), data[cut:]
        head = wait.reader.head
        is_stream = is_event_stream(head)
        is_looked_at = len(data) < _SMALL and wait.looks < _LOOKS
        wait.looks += 1
        if not is_stream or flight.keep or not wait.reader.is_chunked or is_looked_at:
            piece += wait.reader.feed(data)
        wait.is_complete = wait.reader.complete
        if head is not None and not wait.head.is_set():
            wait.is_stream = is_stream
            wait.event_mark = b"\n" if isinstance(reader_of(head), LineReader) else b"data:"
            if wait.is_stream and head.status == 200:
                self._log_held(flight)
            wait.head.set()
        if flight.keep or not wait.is_stream:
            wait.body.append(piece)
        elif not is_looked_at and wait.reader.is_chunked and not wait.is_complete:
            wait.tail = TailReader()
            wait.is_complete = wait.tail.feed(begun)

    def _log_held(self, flight: Flight) -> None:
        if flight.held:
            self._log.add_answer(flight.exchange, flight.held)
        flight.held = None

    def _finish(self, connection: Connection, flight: Flight, wait: _Wait, how: str) -> None:
        """The exchange is over: write how, and wake whoever waits."""
        if flight.how is None:
            if connection.failure is not None:
                how, flight.words = "reset", connection.failure.strerror or str(connection.failure)
            self._end(flight, how)
        connection.stop_reading()
        wait.head.set()
        wait.over.set()

    def _end(self, flight: Flight, how: str) -> None:
        flight.how = how
        self._log_held(flight)
        what = {"how": how} | ({"words": flight.words} if flight.words else {})
        self._log.add_json(Kind.CLOSE, flight.exchange, time.perf_counter_ns(), what)

    def _fail(self, flight: Flight, request: httpx.Request, error: BaseException, *, connecting: bool = False) -> None:
        """Write how it broke, and raise the same in httpx's words where httpx has words for it."""
        how, mapped = map_error(error, request, connecting=connecting)
        flight.words = flight.words or str(mapped or error) or type(error).__name__
        if flight.how is None:
            self._end(flight, how)
        if mapped is not None:
            raise mapped from error

    def _forget(self, connection: Connection) -> None:
        with suppress(ValueError):
            self._reading.remove(connection)

    def _release(self, connection: Connection, request: httpx.Request, wait: _Wait) -> None:
        head = wait.reader.head
        keep = (
            wait.is_complete
            and not wait.reader.rest
            and connection.failure is None
            and head is not None
            and (head.get("connection") or "").lower() != "close"
        )
        if keep:
            self._idle.setdefault(origin(request.url), []).append(connection)
        else:
            connection.close()


class _Body(httpx.AsyncByteStream):
    """Waits for the end of a response; yields the body unless it went to the log alone."""

    def __init__(
        self,
        transport: CapturingTransport,
        connection: Connection,
        request: httpx.Request,
        flight: Flight,
        wait: _Wait,
    ) -> None:
        self._transport, self._connection, self._request = transport, connection, request
        self._flight, self._wait = flight, wait

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            await _until(self._wait.over, self._wait, self._flight)
        except BaseException as error:
            self._transport._fail(self._flight, self._request, error)
            raise
        for piece in self._wait.body:
            yield piece
        if not self._wait.is_complete:
            words = self._flight.words or "the connection closed before the response was complete"
            raise httpx.RemoteProtocolError(words, request=self._request)

    async def aclose(self) -> None:
        if self._flight.how is None:
            self._transport._fail(self._flight, self._request, asyncio.CancelledError("given up by the client"))
        self._connection.stop_reading()
        self._transport._forget(self._connection)
        self._transport._release(self._connection, self._request, self._wait)


_COMMENT = re.compile(rb"(?:[0-9A-Fa-f]+\r\n)?:")


def _count_events(flight: Flight, wait: _Wait, data: bytes) -> bool:
    """Count the events of a read, roughly; whether it is a sign of life.

    A comment that keeps a connection alive is none of the engine behind it.
    """
    flight.last = data
    if len(data) >= _SMALL:
        flight.events += len(data) // wait.event_bytes
        return True
    found = data.count(wait.event_mark)
    flight.events += found
    if found:
        wait.event_bytes = max(1, len(data) // found)
        return True
    return _COMMENT.match(data) is None


async def _until(event: asyncio.Event, wait: _Wait, flight: Flight) -> None:
    """Wait for it, as long as the server is not silent for too long; raises TimeoutError."""
    while not event.is_set():
        # The first event may be no more than the role; the time of the prompt is over with the second.
        begun = flight.events > 1 if wait.is_stream else wait.size > 0
        limit = flight.stall_ns if begun else flight.first_token_ns
        left = wait.last_ns + limit - time.perf_counter_ns()
        if left <= 0:
            raise TimeoutError(f"the server was silent for {limit / 1e9:g} s")
        try:
            # Nothing wakes this but the head or the end: the limit may be another by then.
            async with asyncio.timeout(min(left, flight.stall_ns) / 1e9):
                await event.wait()
        except TimeoutError:
            continue
