"""Whether a run answers a challenge: its plan, what was sent, what came back, when, and on what hardware."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from auditor.core.bundle.differing import differences
from auditor.core.bundle.verification import Check
from auditor.core.challenge.challenge import Challenge
from auditor.core.challenge.tasks import code_of
from auditor.core.counting.account import Account
from auditor.core.counting.evidence import request_body
from auditor.core.counting.exchange import Counted
from auditor.core.facts import RunFacts
from auditor.core.folder import RunRecord
from auditor.core.hardware import HostHardware
from auditor.core.plan.making import make_plan
from auditor.core.plan.plan import Plan, Request, schedule
from auditor.core.record import sha256
from auditor.core.validity.canaries import digest_of, make_canaries
from auditor.core.wire.log import Kind, WireRecord
from auditor.core.wording import listed, plural
from auditor.errors import UsageError
from auditor.terms import Outcome

_SHOWN = 3
"""Settings that are named where they differ; what is more is counted."""
ONE_SERVER = "subject"
"""Key of the server of an answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A run, as far as a challenge asks about it."""

    plan: Plan
    facts: RunFacts
    record: RunRecord
    account: Account
    wire: Sequence[WireRecord]
    hardware: HostHardware | None
    has_telemetry: bool


def answered(challenge: Challenge, answer: Answer, now_ns: int) -> list[Check]:
    """Everything that a challenge asks of a run; `now_ns` is the verifier's clock, since the epoch."""
    measured = [one for one in answer.account.counted if one.line.cell == answer.plan.subject.key]
    return [
        _planned(challenge, answer),
        _sent(answer.plan, measured),
        _repeated(challenge, answer.plan, measured),
        _timely(challenge, answer, now_ns),
        _hardware(answer),
    ]


def _planned(challenge: Challenge, answer: Answer) -> Check:
    """Prompts, settings and nonces: the plan is the one that follows from the challenge and the server's facts."""
    plan = answer.plan
    server = answer.facts.servers.get(ONE_SERVER)
    if server is None:
        return _no("settings", "the run is on other servers than an answer has")
    # Facts that only the negotiation told were not there when the plan was made; none of them is asked for it.
    try:
        wanted = make_plan(
            challenge.the_case(),
            sha256(challenge.claim.encode()),
            [server],
            challenge.wishes,
            seed=challenge.seed,
            tool_version=plan.tool_version,
        )
        if plan.canaries is not None:  # The answerer's to leave out, and nobody's to choose.
            wanted = wanted.model_copy(update={"canaries": digest_of(make_canaries(challenge.seed))})
    except UsageError as error:
        return _no("settings", f"no plan follows from the challenge and the server's facts: {error}")
    found = list(differences(_settings(plan), _settings(wanted)))
    if found:
        named = listed([f"{path} is {own}, not {asked}" for path, own, asked in found[:_SHOWN]])
        more = f", and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
        return _no("settings", f"the plan is not the challenge's: {named}{more}")
    digest = sha256("".join(prompt.digest() for prompt in challenge.prompts).encode())
    words = f"{plural(len(challenge.prompts), 'prompt')} (digest {digest[:12]}) and all settings are the challenge's"
    return _yes("settings", words)


def _settings(plan: Plan) -> dict[str, Any]:
    """The plan with its cells and prompts by name, for a difference to be named by them."""
    document = plan.model_dump(mode="json")
    named = {"cells": {cell["key"]: cell for cell in document["cells"]}}
    return {**document, **named, "prompts": {prompt["id"]: prompt for prompt in document["prompts"]}}


def _sent(plan: Plan, measured: Sequence[Counted]) -> Check:
    """Every planned request was sent, with the nonce that follows from the challenge ahead of its prompt."""
    planned = {(one.repeat, one.index): one for round_ in schedule(plan) for one in round_.requests
               if round_.cell.key == plan.subject.key}  # fmt: skip
    for one in measured:
        request = planned.get((one.line.repeat, one.line.index))
        if request is None or not _holds(one, request):
            return _no("nonces sent", f"request {one.line.exchange} does not hold its prompt and nonce as planned")
    whole = {(one.line.repeat, one.line.index) for one in measured if one.line.status == "complete"}
    if missing := len(planned) - len(whole):
        words = f"{missing:,} of {plural(len(planned), 'planned request')} have no complete answer"
        return _check("nonces sent", Outcome.ERROR, words, "ask for the whole run again")
    return _yes("nonces sent", f"{plural(len(planned), 'request')}, each with its prompt and its own nonce")


def _holds(one: Counted, request: Request) -> bool:
    """Whether the body that went out holds every turn of the prompt, with the nonce."""
    try:
        body = orjson.loads(request_body(one.exchange))
    except orjson.JSONDecodeError:
        return False
    texts = list(_texts(body))
    return all(any(message.content in text for text in texts) for message in request.messages)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _repeated(challenge: Challenge, plan: Plan, measured: Sequence[Counted]) -> Check:
    """Whether answers hold the codes that they were asked for."""
    codes = {prompt.id: code_of(challenge.nonce, index) for index, prompt in enumerate(challenge.prompts)}
    own = [one for one in measured if one.line.prompt in codes]
    found = sum(codes[one.line.prompt] in one.stream.text for one in own)
    words = f"{found:,} of {plural(len(own), 'answer')} repeat the code that their prompt asks for"
    if found:
        return _yes("nonces back", f"{words}: those were made after the challenge was issued")
    words += ": the model may not follow such a request, so the answers themselves are not bound to the challenge"
    return _check("nonces back", Outcome.NOT_AVAILABLE, words)


def _timely(challenge: Challenge, answer: Answer, now_ns: int) -> Check:
    """Whether the run lies within the challenge's time, by the clock of the machine that ran it."""
    start, end = span_ns(answer.record, answer.wire)
    if start < challenge.issued_ns:
        return _no("time", f"the run began {_ago(challenge.issued_ns - start)} before the challenge was issued")
    if end > challenge.expires_ns:
        return _no("time", f"the run ended {_ago(end - challenge.expires_ns)} after the challenge expired")
    words = "by its own machine's clock, the run lies between issue and expiry"
    if end > now_ns:
        return _no("time", f"{words}, but ends {_ago(end - now_ns)} from now: a clock is wrong")
    if now_ns > challenge.expires_ns:
        words += "; it is looked at after the expiry, so that it was in time rests on that clock, or on when you got it"
    else:
        words += "; by yours it ended before now, and the nonce shows that it began after the issue"
    return _yes("time", words)


def span_ns(record: RunRecord, wire: Sequence[WireRecord]) -> tuple[int, int]:
    """When the run began and ended, since the epoch, by its machine's clocks; each the one that says more."""
    shift = next((one.kernel_ns - one.t_ns for one in wire if one.kind is Kind.CLOCK), None)
    times = [one.t_ns for one in wire] or [0]
    if shift is None:
        shift = record.started_ns - times[0]
    return min(record.started_ns, times[0] + shift), max(record.started_ns, times[-1] + shift)


def _hardware(answer: Answer) -> Check:
    """Whether the machine was asked what it is."""
    if answer.hardware is None or not answer.hardware.gpus:
        words = "the machine was not asked for its GPUs"
        return _check("hardware", Outcome.NOT_AVAILABLE, words, "ask for a run with --nvml")
    names: Mapping[str, None] = dict.fromkeys(gpu.text("product") or "unnamed" for gpu in answer.hardware.gpus)
    words = f"{plural(len(answer.hardware.gpus), 'GPU')}: {', '.join(names)}, told by {answer.hardware.source}"
    sampled = "sampled during the run" if answer.has_telemetry else "not sampled during the run"
    return _yes("hardware", f"{words}, {sampled}")


def _ago(span: int) -> str:
    """A span of time in words."""
    seconds = span // 10**9
    return plural(seconds, "second") if seconds < 600 else plural(seconds // 60, "minute")


def _check(name: str, outcome: Outcome, sentence: str, remedy: str | None = None) -> Check:
    return Check(id=name, outcome=outcome, sentence=sentence, remedy=remedy)


def _yes(name: str, sentence: str) -> Check:
    return _check(name, Outcome.HOLDS, sentence)


def _no(name: str, sentence: str) -> Check:
    return _check(name, Outcome.FAILS, sentence)


TRUST = (
    "Who answered: the nonce shows that these answers were not made before the challenge, and not by which machine.",
    "That the claimant answered once: until a challenge expires he can run it often and send the best. A short time "
    "leaves less room.",
)
"""What no answer to a challenge can show."""
