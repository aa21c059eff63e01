"""A server of bytes: what it receives is kept, and what it sends, when and in which pieces is up to the test."""

import asyncio
import json
import shutil
import socket
import ssl
import struct
import subprocess
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

Handler = Callable[["Peer"], Awaitable[None]]


@dataclass
class Asked:
    """One request."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        """The body."""
        return json.loads(self.body)


@dataclass
class Peer:
    """One connection, on the server's side."""

    server: "RawServer"
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    received: bytearray = field(default_factory=bytearray)
    sent: bytearray = field(default_factory=bytearray)
    writes: list[tuple[int, int, bytes]] = field(default_factory=list)
    """Monotonic ns before and after each write, and its bytes."""

    async def asked(self) -> Asked | None:
        """The next request; None when the client has closed."""
        head = bytearray()
        while b"\r\n\r\n" not in head:
            piece = await self.reader.read(1)
            if not piece:
                return None
            head += piece
        first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        body = await self.reader.readexactly(int(headers.get("content-length", 0)))
        self.received += head + body
        asked = Asked(method, target, headers, body)
        self.server.asked.append(asked)
        return asked

    async def send(self, *pieces: bytes, pause_s: float = 0.0) -> None:
        """Send each piece as a write of its own."""
        for piece in pieces:
            self.sent += piece  # before the client can have it, and look here
            before = time.perf_counter_ns()
            self.writer.write(piece)
            await self.writer.drain()
            self.writes.append((before, time.perf_counter_ns(), piece))
            await asyncio.sleep(pause_s)

    async def gone(self) -> None:
        """Wait until the client closes."""
        with suppress(OSError):
            while await self.reader.read(1 << 16):
                pass

    def reset(self) -> None:
        """Close with a reset instead of an orderly end."""
        sock = self.writer.get_extra_info("socket")
        with suppress(OSError, AttributeError):  # closed already
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class RawServer:
    """A running server; see `raw_server`."""

    def __init__(self, handler: Handler, host: str, context: ssl.SSLContext | None) -> None:
        self.asked: list[Asked] = []
        self.peers: list[Peer] = []
        self.errors: list[BaseException] = []
        self._handler, self._host, self._context = handler, host, context
        self._ready = threading.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self.thread.start()
        self._ready.wait()

    @property
    def url(self) -> str:
        """Its base address."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http{'s' if self._context else ''}://{host}:{self.port}"

    def posts(self) -> list[Asked]:
        """The requests with a body."""
        return [asked for asked in self.asked if asked.method == "POST"]

    def stop(self) -> None:
        """End it, with all its connections, at once."""
        if self.thread.is_alive():
            self._loop.call_soon_threadsafe(self._end.set)
            self.thread.join()

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        # What a client or a test broke off is no news.
        self._loop.set_exception_handler(lambda loop, context: None)
        server = await asyncio.start_server(self._connected, self._host, self.port, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._end.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        for peer in self.peers:
            peer.reset()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A plain function: tasks of our own are cancelled in silence.
        peer = Peer(self, reader, writer)
        self.peers.append(peer)
        task = asyncio.get_running_loop().create_task(self._handle(peer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _handle(self, peer: Peer) -> None:
        try:
            await self._handler(peer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        except Exception as error:  # noqa: BLE001 - raw_server raises it in the test
            self.errors.append(error)
        finally:
            peer.writer.close()


@contextmanager
def raw_server(
    handler: Handler, *, host: str = "127.0.0.1", context: ssl.SSLContext | None = None
) -> Iterator[RawServer]:
    """Serve every connection with the handler; what it could not do fails the test."""
    server = RawServer(handler, host, context)
    try:
        yield server
    finally:
        server.stop()
    assert not server.errors, server.errors


def chunked(*pieces: bytes) -> list[bytes]:
    """The pieces as chunks of a chunked body, without the last."""
    return [b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces]


LAST_CHUNK = b"0\r\n\r\n"


def head(status: str = "200 OK", **fields: str) -> bytes:
    """The head of a response; underscores in names become dashes."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode()


STREAM_HEAD = head(Content_Type="text/event-stream", Transfer_Encoding="chunked")


def plain(body: bytes, status: str = "200 OK", content_type: str = "application/json", **fields: str) -> bytes:
    """A response of stated length."""
    return head(status, Content_Type=content_type, Content_Length=str(len(body)), **fields) + body


def event(value: Any) -> bytes:
    """One server-sent event; bytes are sent as they are."""
    return b"data: " + (value if isinstance(value, bytes) else json.dumps(value).encode()) + b"\n\n"


def delta(text: str, **choice: Any) -> dict[str, Any]:
    """An event that delivers a text."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None, **choice}
    return {"id": "c1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}


def last(reason: str = "length", tokens: int | None = None) -> dict[str, Any]:
    """The event that ends an answer, with usage where the tokens are given."""
    value = delta("", finish_reason=reason)
    if tokens is not None:
        value["usage"] = {"prompt_tokens": 7, "completion_tokens": tokens, "total_tokens": 7 + tokens}
    return value


def self_signed(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate for 127.0.0.1 that nobody signed, and the context of a server that shows it."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no certificate to show")
    shown, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", str(key), "-out", str(shown), "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(shown, key)
    return shown, context
