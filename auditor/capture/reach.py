"""Why a server could not be reached, in one line that says what to do."""

import socket
import ssl
from collections.abc import Iterator

import httpx

from auditor.errors import ServerError


def unreachable(error: httpx.TransportError, where: str) -> ServerError:
    """The transport's error as ours; `where` is an address without credentials."""
    causes = list(_chain(error))
    for cause in causes:
        if isinstance(cause, socket.gaierror):
            return ServerError("no such host", where=where, remedy="check the name of the server")
        if isinstance(cause, ssl.SSLError):
            why = getattr(cause, "verify_message", "") or cause.reason or str(cause)
            return ServerError(
                f"TLS failed: {why}",
                where=where,
                remedy="set SSL_CERT_FILE to the authority's certificate, or check http against https",
            )
        if isinstance(cause, ConnectionRefusedError):
            return ServerError("connection refused", where=where, remedy="start the server, or check host and port")
    if isinstance(error, httpx.TimeoutException):
        return ServerError("no connection in time", where=where, remedy="check host, port and firewall")
    words = str(error) or type(error).__name__
    return ServerError(f"the connection failed: {words}", where=where, remedy="see whether the server is up")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error and whatever caused it."""
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        cause = left.pop(0)
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        left += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            left += cause.exceptions
