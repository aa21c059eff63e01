"""Requests that go by the clock: when they are due, and that a slow answer keeps none of them back."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest
from rawserver import LAST_CHUNK, STREAM_HEAD, Peer, chunked, delta, event, last, plain, raw_server

from auditor.audit import adapters_of, look
from auditor.capture.measure import measure
from auditor.capture.striking import Striker
from auditor.core import folder as names
from auditor.core.claim.claim import parse_claim
from auditor.core.counting.client import client_loads
from auditor.core.counting.evidence import Evidence, assemble
from auditor.core.plan.making import Wishes
from auditor.core.plan.plan import Cell, Plan, due_ns
from auditor.core.wire.log import read_wire
from auditor.job import Job, ServerChoice

CLAIM = "schema: 1\nid: small\ntitle: A small claim\nreported: {value: 100}\n"
LENGTH, REQUESTS = 7, 12


def cell(**load: object) -> Cell:
    fields = {"key": "subject", "server": "s", "role": "subject", "streams": 1, "repeats": 1, "prompts": ("p",)}
    return Cell.model_validate({**fields, "requests": 1000, "max_tokens": 5, **load})


def planned(seed: int) -> Plan:
    return Plan.model_construct(seed=seed)


def test_constant_arrivals_are_a_grid() -> None:
    due = due_ns(planned(1), cell(rate=100.0, arrivals="constant"), 0)
    assert due[:3] == (0, 10_000_000, 20_000_000)


def test_poisson_arrivals_have_the_rate_and_are_those_of_the_seed() -> None:
    one = cell(rate=100.0, arrivals="poisson")
    due = due_ns(planned(1), one, 0)
    assert due == due_ns(planned(1), one, 0)
    assert due != due_ns(planned(2), one, 0)
    assert due != due_ns(planned(1), one, 1)
    gaps = [later - earlier for earlier, later in pairwise(due)]
    mean = sum(gaps) / len(gaps)
    assert mean == pytest.approx(10**7, rel=0.1)
    spread = (sum((gap - mean) ** 2 for gap in gaps) / len(gaps)) ** 0.5
    assert spread == pytest.approx(mean, rel=0.15), "gaps of a Poisson process spread as much as they last"


def measured(url: str, folder: Path, load: dict[str, object]) -> tuple[Plan, Evidence]:
    """A run as a run makes it, but for a cell of few requests."""
    claim = parse_claim(CLAIM, "claim.yaml")
    choice = (ServerChoice("subject", url),)
    wishes = Wishes(tokens=LENGTH, repeats=1, quick=True)
    job = Job(claim, claim.case(None), CLAIM.encode(), choice, wishes, "run-1", 1, 1, folder, "audit run")

    async def go() -> Plan:
        access = job.access()
        facts, made = await look(job, access)
        made = made.model_copy(update={"cells": (made.subject.model_copy(update=load),)})
        folder.mkdir()
        before: list[object] = []
        await measure(folder, made, facts, access=access, adapters=adapters_of(facts), striker=Striker(()),
                      tokenizer=None, before=before.append, watch=None)  # fmt: skip
        return made

    made = asyncio.run(go())
    log = read_wire(folder / names.WIRE)
    return made, assemble(log.records, log.damage)


def test_a_slow_answer_keeps_no_request_back(tmp_path: Path) -> None:
    """No answer ends before the last request has come: a loop that waits for answers would wait for ever."""
    load = {"rate": 100.0, "arrivals": "poisson", "requests": REQUESTS}
    came: list[int] = []
    all_came = asyncio.Event()

    async def answer(peer: Peer) -> None:
        while (asked := await peer.asked()) is not None:
            if asked.method == "GET":
                is_list = asked.target == "/v1/models"
                await peer.send(
                    plain(b'{"data": [{"id": "m"}]}' if is_list else b"{}", "200 OK" if is_list else "404 Not")
                )
                continue
            if asked.json.get("max_tokens") == LENGTH:
                came.append(1)
                if len(came) == REQUESTS:
                    all_came.set()
                await all_came.wait()
            await peer.send(
                STREAM_HEAD, *chunked(event(delta("one ")), event(last(tokens=1)), event(b"[DONE]")), LAST_CHUNK
            )

    with raw_server(answer) as server:
        made, evidence = measured(server.url, tmp_path / "run", load)
    own = [one for one in evidence.exchanges if one.purpose == "measure"]
    assert [one.how for one in own] == ["complete"] * REQUESTS
    assert all(one.send_ns < min(other.close_ns for other in own) for one in own), "all were in flight at once"
    offsets = due_ns(made, made.subject, 0)
    dues = sorted(one.meta["due_ns"] for one in own)
    assert [due - dues[0] for due in dues] == [due - offsets[0] for due in offsets]
    (load_seen,) = client_loads(evidence, ["subject"])
    assert load_seen.queue_p99_ns == max(one.send_ns - one.meta["due_ns"] for one in own)
