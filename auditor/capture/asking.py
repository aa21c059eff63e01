"""Requests as they are sent: their bodies, and which extra fields a server takes."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx

from auditor.capture.sending import Reply, patiently, send
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


async def negotiate(target: Target, plan: Plan) -> ServerFacts:
    """Find the extra fields that the server takes, by asking for a few tokens; returns the facts with them.

    A server that refuses is asked again without the fields it names, or without all of them where it names none.
    Raises ServerError when it refuses a request without extra fields.
    """
    adapter = target.adapter
    fields: dict[str, Any] = {"stream_options": {"include_usage": True}, **adapter.request_fields}
    if plan.ignore_eos:
        fields |= adapter.length_fields
    dropped: dict[str, str] = {}
    while True:
        facts = target.facts.model_copy(update={"request_fields": fields, "dropped_fields": dropped})
        reply = await patiently(partial(_try, target, facts, plan))
        words = reply.problem
        within = _error_within(reply.data) if words is None else None
        if words is None and within is None:
            return facts
        if not fields or (within is None and reply.status not in _REFUSES_FIELDS):
            raise _refused(reply, within, facts)
        said = words or within or ""
        named = [name for name in fields if name in said] or list(fields)
        dropped = dropped | dict.fromkeys(named, said[:200])
        fields = {name: value for name, value in fields.items() if name not in named}


async def _try(target: Target, facts: ServerFacts, plan: Plan, attempt: int) -> Reply:
    """A short request, as the measured ones will be."""
    hello = (Message(role="user", content="Say hello."),)
    flight = Flight(
        {"purpose": "probe", "attempt": attempt},
        first_token_ns=plan.stop.first_token_ns,
        stall_ns=plan.stop.stall_ns,
        keep=True,
    )
    return await send(target.client, target.url, _body(facts, hello, _TRIAL_TOKENS, 0.0), flight)


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


def _refused(reply: Reply, within: str | None, facts: ServerFacts) -> ServerError:
    """The server's refusal, in one line that says what to do."""
    if within is not None:
        return ServerError(f"the server answers with an error: {within}", where=facts.url, remedy="see its log")
    if reply.status is None:
        return reply.as_error(facts.url, "the connection failed")
    if reply.status == 200:
        what = "the server cannot be measured"
        return ServerError(
            f"{what}: {reply.problem}", where=facts.url, remedy="see that the address is the server's own"
        )
    return reply.as_error(facts.url, "the server refused")
