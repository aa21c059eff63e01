"""Requests as they are sent: their bodies, and which extra fields a server takes."""

from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from auditor.capture.stream import CapturingTransport, Flight
from auditor.core.adapter import Adapter
from auditor.core.chunks import DONE, ChunkError, read_chunk
from auditor.core.facts import ServerFacts
from auditor.core.plan import Plan, Request
from auditor.core.prompts import Message
from auditor.core.sse import EventReader
from auditor.errors import ServerError

PATHS = {"chat": "/v1/chat/completions", "completions": "/v1/completions"}
_REFUSES_FIELDS = (400, 422)
_TRIAL_TOKENS = 4


@dataclass(frozen=True, slots=True)
class Target:
    """A server to measure, with the client that captures."""

    facts: ServerFacts
    adapter: Adapter
    client: httpx.AsyncClient
    transport: CapturingTransport

    @property
    def url(self) -> str:
        """Where its answers come from."""
        return self.facts.url + PATHS[self.facts.api]

    @property
    def metrics_url(self) -> str | None:
        """Where its counters are; None where it has none."""
        return self.facts.url + self.adapter.metrics_path if self.facts.metrics and self.adapter.metrics_path else None


def body_of(request: Request, plan: Plan, facts: ServerFacts) -> dict[str, Any]:
    """The JSON body of a planned request for this server."""
    body = _body(facts, request.messages, request.max_tokens, plan.temperature)
    if plan.top_p is not None:
        body["top_p"] = plan.top_p
    return body


def _body(facts: ServerFacts, messages: tuple[Message, ...], max_tokens: int, temperature: float) -> dict[str, Any]:
    said: dict[str, Any] = {"messages": [message.model_dump() for message in messages]}
    if facts.api == "completions":
        said = {"prompt": "\n\n".join(message.content for message in messages)}
    return {
        "model": facts.model,
        **said,
        "max_tokens": max_tokens,
        "temperature": temperature,
        "stream": True,
        **facts.request_fields,
    }


async def negotiate(target: Target, *, ignore_eos: bool) -> ServerFacts:
    """Find the extra fields that the server takes, by asking for a few tokens; returns the facts with them.

    A server that refuses is asked again without the fields it names, or without all of them where it names none.
    Raises ServerError when it refuses a request without extra fields.
    """
    adapter = target.adapter
    fields: dict[str, Any] = {"stream_options": {"include_usage": True}, **adapter.request_fields}
    if ignore_eos:
        fields |= adapter.length_fields
    dropped: dict[str, str] = {}
    while True:
        facts = target.facts.model_copy(update={"request_fields": fields, "dropped_fields": dropped})
        status, words = await _try(target, facts)
        if status == 200 and words is None:
            return facts
        if status not in (*_REFUSES_FIELDS, 200) or not fields:
            raise refused(status, words, facts)
        named = [name for name in fields if words and name in words] or list(fields)
        dropped = dropped | dict.fromkeys(named, (words or f"HTTP {status}")[:200])
        fields = {name: value for name, value in fields.items() if name not in named}


async def _try(target: Target, facts: ServerFacts) -> tuple[int, str | None]:
    """Status and error of a short request; an error within the stream counts as one."""
    hello = (Message(role="user", content="Say hello."),)
    flight = Flight({"purpose": "probe"}, keep=True)
    body = _body(facts, hello, _TRIAL_TOKENS, 0.0)
    request = target.client.build_request("POST", target.url, json=body, extensions={"flight": flight})
    try:
        response = await target.client.send(request, stream=True)
        try:
            data = await response.aread()
        finally:
            await response.aclose()
    except httpx.TransportError as error:
        raise unreachable_now(error, facts) from error
    if response.status_code != 200:
        return response.status_code, error_words(data)
    return 200, _error_within(data)


def _error_within(stream: bytes) -> str | None:
    """The first error object in an event stream."""
    for event in EventReader().feed(stream + b"\n\n"):
        if event.data.strip() != DONE:
            try:
                chunk = read_chunk(event.data)
            except ChunkError:
                continue
            if chunk.error:
                return chunk.error
    return None


def refused(status: int, words: str | None, facts: ServerFacts) -> ServerError:
    """The server's refusal, in one line that says what to do."""
    remedies = {
        401: "give the key with --api-key or AUDIT_API_KEY",
        403: "give a key that may use this model",
        404: "give the model's name with --model, and the address without /v1",
        429: "wait, or ask its owner for a higher limit",
    }
    remedy = remedies.get(status, "see the server's log")
    return ServerError(f"the server refused (HTTP {status}): {words or 'no words'}", where=facts.url, remedy=remedy)


def unreachable_now(error: httpx.TransportError, facts: ServerFacts) -> ServerError:
    """A broken connection as a ServerError."""
    words = str(error) or type(error).__name__
    return ServerError(f"the connection failed: {words}", where=facts.url, remedy="see that the server is up")


def error_words(data: bytes) -> str | None:
    """The message in an error body, else its first words; None when it is empty."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return " ".join(data[:200].decode("utf-8", "replace").split()) or None
    error = value.get("error", value) if isinstance(value, dict) else value
    message = error.get("message") or error.get("detail") if isinstance(error, dict) else error
    return " ".join(str(message or error).split())[:300]
