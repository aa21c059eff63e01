"""A socket to a server, plain or TLS, that stamps every read and hands over its bytes unparsed."""

import asyncio
import contextlib
import socket
import ssl
import struct
import sys
import time
from collections.abc import Callable

from auditor.errors import UsageError

BUFFER_BYTES = 1 << 18
"""Most that one read takes: a server that sends faster than one core reads fills it."""
OTHER_FILES = 64
"""Open files beside the connections."""
_TIMESPEC = struct.Struct("@qq")
# Linux: SO_TIMESTAMPNS, which Python does not name; the ancillary message has the same number.
_SO_TIMESTAMPNS = 35 if sys.platform == "linux" else None

_ANCILLARY = 64
# One for all connections: a read is copied out of it before the next one can begin.
_BUFFER = bytearray(BUFFER_BYTES)
_VIEW, _BUFFERS = memoryview(_BUFFER), [_BUFFER]

OnRead = Callable[[int, int, bytes], None]
"""Called with the client's time (ns, monotonic), the kernel's time (ns, realtime, 0 if none) and the bytes; no bytes
mean that the peer closed."""


class Connection:
    """One connection. `read_into` delivers every read to a callback until `stop_reading`."""

    def __init__(self, sock: socket.socket, tls: "_Tls | None") -> None:
        self._sock, self._tls = sock, tls
        self._loop = asyncio.get_running_loop()
        self._on_read: OnRead | None = None
        self.is_used = False
        """Whether a request went over it before."""
        self.failure: OSError | None = None
        """Why the last read failed."""
        self.kernel_stamps = _ask_for_stamps(sock)
        self.peer = _peer(sock)

    @classmethod
    async def open(cls, host: str, port: int, *, context: ssl.SSLContext | None, timeout_s: float) -> "Connection":
        """Connect, trying each address of the host; raises OSError, ssl.SSLError or TimeoutError."""
        async with asyncio.timeout(timeout_s):
            sock = await _connect(host, port)
            try:
                tls = None if context is None else await _Tls.handshake(sock, context, host)
            except BaseException:
                sock.close()
                raise
        return cls(sock, tls)

    async def send(self, data: bytes) -> tuple[int, int]:
        """Send all of it; the times just before the first byte and just after the last, monotonic ns."""
        out = data if self._tls is None else self._tls.encrypt(data)
        before = time.perf_counter_ns()
        await self._loop.sock_sendall(self._sock, out)
        return before, time.perf_counter_ns()

    def start_reading(self, on_read: OnRead) -> None:
        """Deliver every read to `on_read` from now on."""
        self._on_read = on_read
        self._loop.add_reader(self._sock.fileno(), self._readable)

    def stop_reading(self) -> None:
        """Deliver no more."""
        if self._on_read is not None:
            self._on_read = None
            self._loop.remove_reader(self._sock.fileno())

    def close(self) -> None:
        """Close the socket."""
        self.stop_reading()
        self._sock.close()

    def is_stale(self) -> bool:
        """Whether the peer closed, or sent something unasked, while the connection lay idle."""
        try:
            if self._tls is None:
                return self._sock.recv(1, socket.MSG_PEEK) is not None
            data = self._sock.recv(BUFFER_BYTES)
            plain, over = self._tls.decrypt(data, self._sock) if data else (b"", True)
            return bool(plain) or over  # session tickets are neither
        except BlockingIOError:
            return False
        except OSError:
            return True

    def _readable(self) -> None:
        try:
            if self.kernel_stamps:
                count, ancillary, _, _ = self._sock.recvmsg_into(_BUFFERS, _ANCILLARY)
                t_ns = time.perf_counter_ns()
                kernel_ns = _kernel_ns(ancillary)
            else:
                count = self._sock.recv_into(_BUFFER)
                t_ns, kernel_ns = time.perf_counter_ns(), 0
            data = bytes(_VIEW[:count])
            if self._tls is not None and data:
                data, over = self._tls.decrypt(data, self._sock)
                if not data and not over:
                    return
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self.failure, t_ns, kernel_ns, data = error, time.perf_counter_ns(), 0, b""
        if self._on_read is not None:
            self._on_read(t_ns, kernel_ns, data)

    def waiting_bytes(self) -> int:
        """Bytes that arrived and were not read yet; 0 where the system does not tell, and of a closed socket."""
        return _waiting_bytes(self._sock) if self._sock.fileno() >= 0 else 0


class _Tls:
    """TLS over a socket whose reads we make ourselves, so that they keep the kernel's stamps."""

    def __init__(self, context: ssl.SSLContext, host: str) -> None:
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._object = context.wrap_bio(self._incoming, self._outgoing, server_hostname=host)

    @classmethod
    async def handshake(cls, sock: socket.socket, context: ssl.SSLContext, host: str) -> "_Tls":
        tls, loop = cls(context, host), asyncio.get_running_loop()
        while True:
            try:
                tls._object.do_handshake()
            except ssl.SSLWantReadError:
                await loop.sock_sendall(sock, tls._outgoing.read())
                data = await loop.sock_recv(sock, BUFFER_BYTES)
                if not data:
                    raise ConnectionResetError("the server closed during the TLS handshake") from None
                tls._incoming.write(data)
            else:
                await loop.sock_sendall(sock, tls._outgoing.read())
                return tls

    def encrypt(self, data: bytes) -> bytes:
        self._object.write(data)
        return self._outgoing.read()

    def decrypt(self, data: bytes, sock: socket.socket) -> tuple[bytes, bool]:
        """Plain bytes, and whether the peer ended the TLS session."""
        self._incoming.write(data)
        pieces = []
        over = False
        try:
            while piece := self._object.read(BUFFER_BYTES):
                pieces.append(piece)
            over = True
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            over = True
        if answer := self._outgoing.read():  # key updates and alerts
            with contextlib.suppress(OSError):
                sock.send(answer)
        return b"".join(pieces), over


async def _connect(host: str, port: int) -> socket.socket:
    loop = asyncio.get_running_loop()
    failure: OSError | None = None
    for family, kind, protocol, _, address in await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        sock = socket.socket(family, kind, protocol)
        sock.setblocking(False)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, address)
        except OSError as error:
            sock.close()
            failure = failure or error
        except BaseException:
            sock.close()
            raise
        else:
            return sock
    raise failure or OSError(f"{host} has no address")


def allow_connections(count: int) -> None:
    """Let the process open so many connections beside its files; raises UsageError where the system does not."""
    try:
        import resource
    except ImportError:  # a system without such limits
        return
    need = count + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= need:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (need, hard))
    except (OSError, ValueError):
        what = f"{count:,} streams need {need:,} open files, and {hard:,} are allowed"
        raise UsageError(what, remedy="raise the limit (`ulimit -Hn`), or give fewer --streams") from None


def keep_stamping() -> socket.socket | None:
    """A socket that keeps the kernel stamping as long as it is open; None where it does not.

    The kernel begins to stamp some time after the first socket asks for it and stops when the last one closes.
    """
    try:
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    except OSError:
        return None
    if _ask_for_stamps(sock):
        return sock
    sock.close()
    return None


def _ask_for_stamps(sock: socket.socket) -> bool:
    if _SO_TIMESTAMPNS is None or not hasattr(sock, "recvmsg_into"):
        return False
    try:
        sock.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return True


def _kernel_ns(ancillary: list[tuple[int, int, bytes]]) -> int:
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS and len(data) >= _TIMESPEC.size:
            seconds, nanoseconds = _TIMESPEC.unpack_from(data)
            return int(seconds * 1_000_000_000 + nanoseconds)
    return 0


def _waiting_bytes(sock: socket.socket) -> int:
    try:
        import fcntl
        import termios

        found = fcntl.ioctl(sock.fileno(), termios.FIONREAD, b"\0\0\0\0")
    except (ImportError, OSError):
        return 0
    return int.from_bytes(found, sys.byteorder)


def _peer(sock: socket.socket) -> str:
    try:
        address = sock.getpeername()
    except OSError:
        return ""
    return f"{address[0]}:{address[1]}" if isinstance(address, tuple) else str(address)
