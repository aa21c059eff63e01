"""The head of a request: as it is sent, and as it may be written down."""

import httpx

_PLAIN_HEADERS = frozenset(
    b"host accept accept-encoding connection user-agent content-type content-length x-request-id".split()
)
"""Header fields whose values may be written down; all others are struck out."""


def request_head(request: httpx.Request) -> bytes:
    """The head as it is sent."""
    return _head(request.method, request.url.raw_path, request.headers.raw)


def struck_head(request: httpx.Request) -> bytes:
    """The head as it may be written down: values outside the allow-list and queries are struck out."""
    fields = [(name, value if name.lower() in _PLAIN_HEADERS else b"***") for name, value in request.headers.raw]
    path, mark, _ = request.url.raw_path.partition(b"?")
    return _head(request.method, path + (b"?***" if mark else b""), fields)


def origin(url: httpx.URL) -> tuple[str, str, int]:
    """Scheme, host and port: what a connection can be used for."""
    return url.scheme, url.host, url.port or (443 if url.scheme == "https" else 80)


def _head(method: str, target: bytes, fields: list[tuple[bytes, bytes]]) -> bytes:
    line = b" ".join([method.encode(), target, b"HTTP/1.1"])
    return b"\r\n".join([line, *(name + b": " + value for name, value in fields), b"", b""])
