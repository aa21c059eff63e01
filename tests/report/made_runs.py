"""Run folders for the tests of the report: streams in the shape of a real server, written to a wire log, and then
planned, accounted for and judged by the real code."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from auditor.audit import judge_folder
from auditor.core.claim.claim import parse_claim
from auditor.core.facts import HostFacts, RunFacts, ServerFacts, known, unknown
from auditor.core.folder import CLAIM, FACTS, PLAN, RUN, WIRE, RunRecord
from auditor.core.plan.making import Wishes, make_plan
from auditor.core.plan.plan import Cell, Plan, schedule
from auditor.core.record import sha256
from auditor.core.wire.log import Kind, WireRecord, frame

MS = 10**6
CLAIM_TEXT = """\
schema: 1
id: made-up
title: 130 tok/s on four cards
source: {url: "https://forum.example/t/1", kind: forum post}
disputed_by: a neighbour
hardware: {gpu: rtx-pro-6000-blackwell, count: 4}
model: {id: qwen3.5-397b-a17b}
engine: {name: vLLM}
speculation: {method: mtp, draft_tokens: 4}
reported: {value: 130}
"""
STEPS = ((0, 0), (4, 4), (4, 1), (0, 0), (4, 0), (4, 3))
"""Drafted and accepted by each step in turn, after the prefill."""


def _word(index: int) -> str:
    return f" word{index}"


def _same(plan: Plan) -> Plan:
    return plan


@dataclass(frozen=True)
class Made:
    """How a run folder is made."""

    claim: str = CLAIM_TEXT
    kind: str = "llamacpp"
    streams: int = 1
    tokens: int = 60
    repeats: int = 3
    plain: bool = False
    """Whether a second server without speculation is measured beside it."""
    is_finished: bool = True
    rounds: int | None = None
    """Rounds that were sent; None for all."""
    word: Callable[[int], str] = _word
    is_silent: bool = False
    """Whether the server closes every connection without a byte."""
    step_ms: int = 20
    command: str = "audit run claims/made-up.yaml --server http://127.0.0.1:8000"
    model: str = "SmolLM2-135M"
    change_plan: Callable[[Plan], Plan] = _same


def make_run(folder: Path, made: Made) -> Path:
    """Write the evidence of a run into `folder` and judge it; gives the folder."""
    folder.mkdir(parents=True)
    case = parse_claim(made.claim, "claim.yaml").case(None)
    servers = [_server("subject", made)] + ([_server("plain", made)] if made.plain else [])
    wishes = Wishes(streams=made.streams, tokens=made.tokens, repeats=made.repeats)
    plan = make_plan(case, sha256(made.claim.encode()), servers, wishes, seed=7, tool_version="0.1.0")
    plan = made.change_plan(plan)
    host = HostFacts(platform="Linux", python="3.11.7", cpus=2, machine="x86_64")
    run = RunRecord(
        run="20260401T120000Z-abcd",
        tool_version="0.1.0",
        started="2026-04-01T12:00:00+00:00",
        started_ns=1775044800 * 10**9,
        command=made.command,
        plan_digest=plan.digest(),
    )
    (folder / CLAIM).write_text(made.claim, encoding="utf-8")
    (folder / PLAN).write_bytes(plan.to_json())
    (folder / FACTS).write_bytes(RunFacts(servers={s.key: s for s in servers}, host=host).to_json())
    (folder / RUN).write_bytes(run.to_json())
    (folder / WIRE).write_bytes(frame(_records(plan, made), first=True))
    judge_folder(folder)
    return folder


def _server(key: str, made: Made) -> ServerFacts:
    speculates = key == "subject" and made.kind == "llamacpp"
    facts = {
        "model": known(made.model, "GET /v1/models"),
        "speculation": known(speculates, "GET /props") if made.kind == "llamacpp" else unknown("it does not tell"),
        "draft_tokens": known(4, "GET /props") if speculates else unknown("it does not tell"),
        "speculation_method": known("draft-simple", "GET /props") if speculates else unknown("it does not tell"),
    }
    return ServerFacts(
        key=key,
        url=f"http://{key}.example:8000",
        kind=made.kind,
        kind_reason="GET /v1/models",
        model=made.model,
        facts=facts,
        request_fields={"stream_options": {"include_usage": True}},
    )


def _records(plan: Plan, made: Made) -> Iterator[WireRecord]:
    """The wire log: rounds one after the other, the streams of a round side by side."""
    yield _record(Kind.MARK, 0, 0, {"mark": "start"})
    exchange, now = 1, 10 * MS
    rounds = [one for one in schedule(plan) if one.cell.role != "warmup"]
    for one in rounds[: made.rounds]:
        for start in range(0, len(one.requests), one.cell.streams):
            ends = []
            for request in one.requests[start : start + one.cell.streams]:
                meta = {"purpose": "measure", "cell": one.cell.key, "repeat": one.repeat, "index": request.index}
                meta |= {"prompt": request.prompt.id, "attempt": 0, "method": "POST"}
                yield _record(Kind.OPEN, exchange, now, meta)
                # Repeats differ a little, as they do.
                wait = made.step_ms * MS + one.repeat * MS // 50
                for record in _exchange(exchange, now, one.cell, made, wait):
                    yield record
                    ends.append(record.t_ns)
                exchange += 1
            now = max(ends) + MS
    if made.is_finished:
        yield _record(Kind.MARK, 0, now, {"mark": "end"})


def _exchange(exchange: int, now: int, cell: Cell, made: Made, wait: int) -> Iterator[WireRecord]:
    yield WireRecord(Kind.SEND, exchange, now, 0, b"POST /v1/chat/completions HTTP/1.1\r\n\r\n{}")
    yield WireRecord(Kind.SENT, exchange, now, 0, b"")
    if made.is_silent:
        yield _record(Kind.CLOSE, exchange, now + MS, {"how": "reset", "words": "connection reset"})
        return
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    yield WireRecord(Kind.READ, exchange, now + MS, 0, head)
    at = now + 5 * wait
    steps = STEPS if cell.server == "subject" else ((0, 0),)
    for events in _answer(cell.max_tokens, steps, made):
        yield WireRecord(Kind.READ, exchange, at, 0, b"".join(map(_chunk, events)))
        at += wait
    yield WireRecord(Kind.READ, exchange, at, 0, _chunk(b"data: [DONE]\n\n") + b"0\r\n\r\n")
    yield _record(Kind.CLOSE, exchange, at, {"how": "complete"})


def _answer(length: int, steps: Sequence[tuple[int, int]], made: Made) -> Iterator[list[bytes]]:
    """The events of each step of an answer; the last one is cut where the length is reached."""
    yield [_event(made, 0, {"predicted_n": 1, "predicted_ms": 0.001})]
    index, drafted, accepted, number = 1, 0, 0, 0
    while index < length:
        new_drafted, new_accepted = steps[number % len(steps)]
        number, drafted, accepted = number + 1, drafted + new_drafted, accepted + new_accepted
        counts = {"draft_n": drafted, "draft_n_accepted": accepted} if drafted else {}
        events = []
        for _ in range(min(new_accepted + 1, length - index)):
            index += 1
            timings = {"predicted_n": index, "predicted_ms": number * float(made.step_ms), **counts}
            events.append(_event(made, index - 1, timings, is_last=index == length))
        yield events
    usage = {"prompt_tokens": 20, "completion_tokens": length, "total_tokens": 20 + length}
    yield [_data({"choices": [], "usage": usage})]


def _event(made: Made, index: int, timings: dict[str, object], *, is_last: bool = False) -> bytes:
    choice = {"index": 0, "delta": {"content": made.word(index)}, "finish_reason": "length" if is_last else None}
    return _data({"choices": [choice], **({"timings": timings} if made.kind == "llamacpp" else {})})


def _data(value: dict[str, object]) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


def _record(kind: Kind, exchange: int, t_ns: int, value: dict[str, object]) -> WireRecord:
    return WireRecord(kind, exchange, t_ns, 0, json.dumps(value).encode())
