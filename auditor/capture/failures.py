"""How a connection broke: as the log names it, and in httpx's words."""

import asyncio
import errno
import os
import socket
import ssl

import httpx


def map_error(
    error: BaseException, request: httpx.Request, *, connecting: bool
) -> tuple[str, httpx.TransportError | None]:
    """How the log names it, and what httpx would raise; None for what is not the transport's."""
    if isinstance(error, TimeoutError):
        if connecting:
            return "timeout", httpx.ConnectTimeout("no connection within the time limit", request=request)
        return "timeout", httpx.ReadTimeout(str(error) or "the request could not be sent in time", request=request)
    if isinstance(error, ssl.SSLError):
        words = getattr(error, "verify_message", None) or error.reason or str(error)
        return "error", httpx.ConnectError(f"TLS: {words}", request=request)
    if isinstance(error, socket.gaierror):
        return "error", httpx.ConnectError(f"the name {request.url.host!r} is not known", request=request)
    if isinstance(error, OSError):
        # asyncio puts the address where the system's words should be.
        words = os.strerror(error.errno) if error.errno else str(error)
        if connecting:
            return "error", httpx.ConnectError(words, request=request)
        how = "reset" if error.errno in (errno.ECONNRESET, errno.EPIPE) else "error"
        return how, httpx.ReadError(words, request=request)
    if isinstance(error, asyncio.CancelledError):
        return "cancelled", None
    return "error", None
