"""Requests as they are sent: their bodies, and which extra fields a server takes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import httpx

from auditor.capture.sending import Reply, patiently, send
from auditor.capture.stream import CapturingTransport, Flight
from auditor.core.adapter import Adapter, Question, Route
from auditor.core.counting.evidence import reader_of
from auditor.core.facts import Fact, FactName, ServerFacts
from auditor.core.judging.textcheck import FIELDS
from auditor.core.plan.plan import Plan, Request
from auditor.core.plan.prompts import Message
from auditor.core.wire.chunks import DONE, Chunk, ChunkError, read_chunk
from auditor.core.wire.http1 import Head
from auditor.errors import ServerError, UsageError

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
    def route(self) -> Route:
        """How it is asked; raises UsageError."""
        return route_of(self.adapter, self.facts)

    @property
    def url(self) -> str:
        """Where its answers come from."""
        return self.facts.url + self.route.path

    @property
    def metrics_url(self) -> str | None:
        """Where its counters are; None where it has none."""
        return self.facts.url + self.facts.metrics_path if self.facts.metrics_path else None


def route_of(adapter: Adapter, facts: ServerFacts) -> Route:
    """How a server is asked; raises UsageError where it has no such API that is known."""
    if (route := adapter.route(facts.api)) is not None:
        return route
    what = f"no API of its own is known of {adapter.title}"
    raise UsageError(what, where=facts.url, remedy="leave --api out, or give --api completions")


def body_of(request: Request, plan: Plan, target: Target) -> dict[str, Any]:
    """The JSON body of a planned request for this server."""
    asked = Question(target.facts.model, request.messages, request.max_tokens, plan.temperature, plan.top_p)
    body = merged(target.route.body(asked), target.facts.request_fields)
    return merged(body, FIELDS) if plan.cell(request.cell).text == "plain" else body


def merged(body: dict[str, Any], fields: Mapping[str, object]) -> dict[str, Any]:
    """The body with extra fields; a group of fields that is in both holds those of both."""
    found = dict(body)
    for name, value in fields.items():
        own = found.get(name)
        found[name] = {**own, **value} if isinstance(own, dict) and isinstance(value, Mapping) else value
    return found


async def negotiate(target: Target, plan: Plan) -> ServerFacts:
    """Find the extra fields that the server takes, by asking for a few tokens; returns the facts with them.

    A server that refuses is asked again without the fields it names, or without all of them where it names none.
    Raises ServerError when it refuses a request without extra fields.
    """
    route = target.route
    fields: dict[str, Any] = dict(route.request_fields)
    if plan.ignore_eos:
        fields = merged(fields, route.length_fields)
    dropped: dict[str, str] = {}
    while True:
        facts = target.facts.model_copy(update={"request_fields": fields, "dropped_fields": dropped})
        reply = await patiently(partial(_try, replace(target, facts=facts), plan))
        words = reply.problem
        chunks = [] if words is not None else chunks_of(reply, target)
        within = next((chunk.error for chunk in chunks if chunk.error), None)
        if words is None and within is None:
            return facts.model_copy(update={"facts": _with_seen(target, facts, chunks)})
        if not fields or (within is None and reply.status not in _REFUSES_FIELDS):
            raise _refused(reply, within, facts)
        said = words or within or ""
        named = [name for name in fields if name in said] or list(fields)
        dropped = dropped | dict.fromkeys(named, said[:200])
        fields = {name: value for name, value in fields.items() if name not in named}


async def _try(target: Target, plan: Plan, attempt: int) -> Reply:
    """A short request, as the measured ones will be."""
    hello = Question(target.facts.model, (Message(role="user", content="Say hello."),), _TRIAL_TOKENS, 0.0)
    body = merged(target.route.body(hello), target.facts.request_fields)
    flight = Flight(
        {"purpose": "probe", "attempt": attempt},
        first_token_ns=plan.stop.first_token_ns,
        stall_ns=plan.stop.stall_ns,
        keep=True,
    )
    return await send(target.client, target.url, body, flight)


def chunks_of(reply: Reply, target: Target) -> list[Chunk]:
    """The events of a kept reply that carry a chunk."""
    shape = target.route.shape()
    found = []
    for event in reader_of(Head(200, "", reply.fields)).feed(reply.data + b"\n\n"):
        if event.data.strip() == DONE:
            continue
        try:
            found.append(read_chunk(event.data, shape))
        except ChunkError:
            continue
    return found


def _with_seen(target: Target, facts: ServerFacts, chunks: Sequence[Chunk]) -> dict[FactName, Fact]:
    """The facts, and those that only an answer tells."""
    seen = target.adapter.seen(chunk.raw for chunk in chunks)
    return {**seen, **{name: fact for name, fact in facts.facts.items() if fact.value is not None or name not in seen}}


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
