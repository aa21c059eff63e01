"""Sends one request and says how it went, in words for people; again while the server puts it off."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any

import httpx
import orjson

from auditor.capture.stream import Flight
from auditor.core.address import public_url
from auditor.core.counting.evidence import not_a_stream
from auditor.core.wire.http1 import Head
from auditor.errors import ServerError, UsageError

MAX_ATTEMPTS = 5
"""How often a request that the server puts off is sent."""
LONGEST_WAIT_S = 60.0
"""A server that asks for a longer wait is not waited for."""
_PUT_OFF = (429, 503)
_REMEDIES = {
    None: "see that the server is up, and its log",
    400: "change what it names with --tokens, --prompts, --model or --api",
    401: "give the key with --api-key or AUDIT_API_KEY",
    403: "give a key that may use this model",
    404: "give the model's name with --model, and the address without /v1",
    413: "give shorter --prompts",
    429: "wait, or ask its owner for a higher limit",
}


@dataclass(frozen=True, slots=True)
class Reply:
    """How one request went."""

    status: int | None
    """HTTP status; None where the connection broke."""
    problem: str | None
    """What went wrong; None when nothing did. An error within a stream is not looked for."""
    data: bytes = b""
    """The body, where it is handed out."""
    wait_s: float | None = None
    """How long the server asks to wait."""
    fields: tuple[tuple[str, str], ...] = ()
    """Header fields of an answer with HTTP 200."""

    def as_error(self, where: str, what: str) -> ServerError:
        """The same as an error, with what to do about it."""
        remedy = _REMEDIES.get(self.status, "see the server's log")
        if self.status is not None and 300 <= self.status < 400:
            remedy = "give the address it leads to"
        return ServerError(f"{what}: {self.problem or 'no words'}", where=where, remedy=remedy)


def prepared(client: httpx.AsyncClient, url: str, body: dict[str, Any]) -> httpx.Request:
    """The request, built; what is left is to send it."""
    return client.build_request("POST", url, json=body)


async def send(client: httpx.AsyncClient, url: str, body: dict[str, Any], flight: Flight) -> Reply:
    """POST it and wait for the end of the answer; nothing that goes wrong on the way raises."""
    request = prepared(client, url, body)
    request.extensions["flight"] = flight
    return await _reply(partial(client.send, request, stream=True))


async def send_prepared(transport: httpx.AsyncBaseTransport, request: httpx.Request, flight: Flight) -> Reply:
    """The same for a request that was built before, without a client between it and the socket.

    What a client would add, redirects and authentication in several turns, no measured request has.
    """
    request.extensions["flight"] = flight

    async def handed() -> httpx.Response:
        response = await transport.handle_async_request(request)
        response.request = request
        return response

    return await _reply(handed)


async def _reply(ask: Callable[[], Awaitable[httpx.Response]]) -> Reply:
    try:
        response = await ask()
        try:
            data = await response.aread()
        finally:
            await response.aclose()
    except httpx.DecodingError:
        return Reply(None, "the answer is compressed, though identity was asked for, and cannot be read")
    except httpx.TransportError as error:
        return Reply(None, str(error) or type(error).__name__)
    status = response.status_code
    if status == 200:
        fields = tuple(response.headers.multi_items())
        return Reply(200, not_a_stream(Head(status, "", fields)), data, fields=fields)
    words = " ".join(part for part in (f"HTTP {status}", _destination(response)) if part)
    said = error_words(data)
    return Reply(status, f"{words}: {said}" if said else words, data, _retry_after_s(response))


async def patiently(ask: Callable[[int], Awaitable[Reply]]) -> Reply:
    """Ask, with the number of the attempt from 0, until the server no longer puts it off or has done so too often."""
    for attempt in range(MAX_ATTEMPTS):
        reply = await ask(attempt)
        wait_s = 2.0**attempt if reply.wait_s is None else reply.wait_s
        if reply.status not in _PUT_OFF or wait_s > LONGEST_WAIT_S:
            return reply
        if attempt < MAX_ATTEMPTS - 1:
            await asyncio.sleep(wait_s)
    return reply


def error_words(data: bytes) -> str | None:
    """The message in an error body, else its first words; None when it is empty."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        if data.lstrip()[:1] == b"<":
            return "a page of HTML"
        return " ".join(data[:200].decode("utf-8", "replace").split()) or None
    error = value.get("error", value) if isinstance(value, dict) else value
    if isinstance(error, dict):
        error = next((error[name] for name in ("message", "detail") if name in error), error)
    return " ".join(str(error or "").split())[:300] or None


def _destination(response: httpx.Response) -> str | None:
    """Where a redirect leads to, without what must not be shown."""
    if not response.has_redirect_location:
        return None
    try:
        return f"to {public_url(str(response.url.join(response.headers['location'])))}"
    except (UsageError, httpx.InvalidURL):
        return None


def _retry_after_s(response: httpx.Response) -> float | None:
    """Retry-After in seconds from now."""
    value = response.headers.get("retry-after", "").strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None
