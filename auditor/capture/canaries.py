"""Asks the canaries: requests of their own, outside every round, recorded in the wire log and counted nowhere."""

import asyncio
import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from auditor.capture.asking import Target, chunks_of, merged
from auditor.capture.sending import Reply, patiently, send
from auditor.capture.stream import Flight
from auditor.core.adapter import Question
from auditor.core.plan.plan import Plan
from auditor.core.plan.prompts import Message
from auditor.core.validity.canaries import TOP, Canary, CanaryAnswer, Position, When

FIELDS: Mapping[str, object] = {"logprobs": True, "top_logprobs": TOP}
"""Asked of the chat API, where the server takes them."""
MOST_WAIT_NS = 60 * 10**9
"""Nobody waits longer for a canary, whatever the plan allows."""
_REFUSES = (400, 422)
_MOST_POSITIONS = 64


async def ask_canaries(canaries: Sequence[Canary], when: When, target: Target, plan: Plan) -> tuple[CanaryAnswer, ...]:
    """Ask all of them: before the load one after the other, after it at once. A server that gives no answer is asked no
    more."""
    fields = FIELDS if plan.api == "chat" else {}
    if when == "after":
        return tuple(await asyncio.gather(*(_ask(one, when, target, plan, fields) for one in canaries)))
    answers: list[CanaryAnswer] = []
    for canary in canaries:
        answers.append(await _ask(canary, when, target, plan, fields))
        if answers[-1].problem is not None:
            break
    return tuple(answers)


async def _ask(canary: Canary, when: When, target: Target, plan: Plan, fields: Mapping[str, object]) -> CanaryAnswer:
    reply = await patiently(partial(_try, canary, when, target, plan, fields))
    if reply.status in _REFUSES and fields:
        reply = await patiently(partial(_try, canary, when, target, plan, {}))
    if reply.problem is not None:
        return CanaryAnswer(canary=canary.id, when=when, problem=reply.problem[:200])
    return _answer(canary, when, target, reply)


async def _try(
    canary: Canary, when: When, target: Target, plan: Plan, fields: Mapping[str, object], attempt: int
) -> Reply:
    route = target.route
    question = Question(target.facts.model, (Message(role="user", content=canary.prompt),), canary.max_tokens, 0.0)
    # A canary may end where the model ends it: what forces a length is left out.
    own = {name: value for name, value in target.facts.request_fields.items() if name not in route.length_fields}
    body = merged(merged(route.body(question), own), fields)
    flight = Flight(
        {"purpose": "canary", "canary": canary.id, "when": when, "attempt": attempt},
        first_token_ns=min(plan.stop.first_token_ns, plan.stop.stall_ns, MOST_WAIT_NS),
        stall_ns=min(plan.stop.stall_ns, MOST_WAIT_NS),
        keep=True,
    )
    return await send(target.client, target.url, body, flight)


def _answer(canary: Canary, when: When, target: Target, reply: Reply) -> CanaryAnswer:
    """The text and the log-probabilities of a stream."""
    texts: list[str] = []
    positions: list[Position] = []
    finish = problem = None
    for chunk in chunks_of(reply, target):
        texts.append(chunk.reasoning + chunk.text)
        finish, problem = chunk.finish_reason or finish, chunk.error or problem
        positions += _positions(chunk.raw)
    return CanaryAnswer(
        canary=canary.id,
        when=when,
        text="".join(texts),
        finish=finish,
        problem=problem,
        positions=tuple(positions[:_MOST_POSITIONS]),
    )


def _positions(raw: Mapping[str, Any]) -> list[Position]:
    choices = raw.get("choices")
    found = []
    for choice in choices if isinstance(choices, list) else ():
        logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        for entry in content if isinstance(content, list) else ():
            if isinstance(entry, dict) and isinstance(entry.get("token"), str):
                top = entry.get("top_logprobs")
                pairs = [one for one in top if isinstance(one, dict)] if isinstance(top, list) else []
                values = {
                    one["token"]: value
                    for one in pairs
                    if (value := _number(one)) is not None and isinstance(one.get("token"), str)
                }
                found.append(Position(token=entry["token"], logprob=_number(entry), top=values))
    return found


def _number(entry: Mapping[str, Any]) -> float | None:
    value = entry.get("logprob")
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return round(float(value), 6)
