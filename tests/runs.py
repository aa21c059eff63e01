"""Recorded streams of real servers, and run folders made of them, through the same path as a live run.

    one = recording("llamacpp", "draft/chat_stream_tpt")    a stream of tests/data/recorded
    counted(one)                                            its ledger line and its stream
    account(Cells(subject=((one,), (one,))))                the account of two repeats
    make_run(folder, Cells(subject=((one,), (one,))))       a run folder: claim, plan, facts, wire log

A round is a tuple of recordings sent side by side. `judge_folder` and every command read such a folder.
"""

import base64
import json
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from auditor.core.counting.account import Account, account_for
from auditor.core.counting.evidence import Evidence, assemble
from auditor.core.counting.exchange import Counted
from auditor.core.facts import Fact, HostFacts, RunFacts, ServerFacts, known
from auditor.core.folder import CLAIM, FACTS, PLAN, RECOUNT, RUN, WIRE, Recount, RunRecord
from auditor.core.plan.plan import Cell, Plan, Role
from auditor.core.plan.prompts import Message, Prompt
from auditor.core.record import sha256
from auditor.core.wire.http1 import ResponseReader
from auditor.core.wire.log import Kind, WireRecord, frame
from auditor.servers import load_adapters

RECORDED = Path(__file__).parent / "data" / "recorded"
KINDS = {
    "llamacpp": "llamacpp",
    "vllm-0.32-cpu": "vllm",
    "vllm-0.24-h200": "vllm",
    "transformers-5.19-cpu": "transformers",
}
"""The archives, and the adapter that reads what is in each."""


@dataclass(frozen=True)
class Recording:
    """One request and what came back, as a recorder wrote it. Times are ns of the recorder's monotonic clock."""

    name: str
    kind: str
    request: bytes
    send_ns: int
    sent_ns: int
    reads: tuple[tuple[int, bytes], ...]
    end_ns: int
    how: str | None
    """`complete`, `eof`, `cancelled`, or None where the recording ends before the answer did."""
    before: str | None = None
    """The server's counters around it, where they were scraped."""
    after: str | None = None

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object that was asked; empty where it was none."""
        try:
            value = json.loads(self.request.partition(b"\r\n\r\n")[2])
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}

    @property
    def usage(self) -> dict[str, Any] | None:
        """The last usage in the bytes, found without the code under test."""
        raw = b"".join(data for _, data in self.reads)
        found = None
        for line in raw.split(b"\n"):
            if line.startswith(b"data: {"):
                found = json.loads(line[6:]).get("usage") or found
        return found


@cache
def archive(name: str) -> Mapping[str, bytes]:
    """The files of one recorder, by name."""
    with tarfile.open(RECORDED / f"{name}.tar.xz") as files:
        return {member.name: file.read() for member in files if (file := files.extractfile(member))}


def names(where: str, *, prefix: str = "", suffix: str) -> list[str]:
    """Names of recordings, without the suffix."""
    return sorted(
        name.removesuffix(suffix) for name in archive(where) if name.endswith(suffix) and name.startswith(prefix)
    )


def recording(where: str, name: str) -> Recording:
    """One recorded stream; `where` names the archive."""
    readers = {"llamacpp": _llamacpp, "vllm-0.24-h200": _vllm_024}
    return replace(readers.get(where, _by_event)(archive(where), name), kind=KINDS[where])


def _llamacpp(files: Mapping[str, bytes], name: str) -> Recording:
    """One read a line, the bytes as latin-1; times since the request was sent; no bytes at the end of the file."""
    clocks, *lines = [json.loads(line) for line in files[f"{name}.recv.jsonl"].splitlines()]
    start = int(clocks.get("monotonic_ns_at_send", 0))
    asked = json.loads(files.get(f"{name}.request.json", b"{}"))
    body = json.dumps(asked.get("body")).encode() if asked.get("body") is not None else b""
    reads = tuple((start + line["t_ns"], line["b"].encode("latin-1")) for line in lines if line.get("n"))
    is_closed = bool(lines) and lines[-1].get("n") == 0
    end = start + (lines[-1]["t_ns"] if lines else 0)
    return Recording(
        name=name,
        kind="llamacpp",
        request=f"POST {asked.get('path', '/')} HTTP/1.1\r\n\r\n".encode() + body,
        send_ns=start,
        sent_ns=start,
        reads=reads,
        end_ns=end,
        how=_how(reads, is_closed=is_closed),
        before=_text(files.get(f"{name}.metrics_before.txt")),
        after=_text(files.get(f"{name}.metrics_after.txt")),
    )


def _by_event(files: Mapping[str, bytes], name: str) -> Recording:
    """Events `send`, `sent`, `recv`, `eof` and others, the bytes as text or base64."""
    events = [json.loads(line) for line in files[f"{name}.jsonl"].splitlines()][1:]
    sends = [event for event in events if event["ev"] == "send"]
    reads = tuple((event["t_ns"], _bytes(event)) for event in events if event["ev"] == "recv")
    marks = {event["ev"]: event["t_ns"] for event in events}
    around = name.removesuffix("_0").removesuffix("_1")
    how = "cancelled" if "client_close" in marks else _how(reads, is_closed="eof" in marks)
    return Recording(
        name=name,
        kind="vllm",
        request=b"".join(_bytes(event) for event in sends),
        send_ns=sends[0]["t_ns"],
        sent_ns=marks.get("sent", sends[0]["t_ns"]),
        reads=reads,
        end_ns=events[-1]["t_ns"],
        how=how,
        before=_text(files.get(f"{around}_metrics_before.txt")),
        after=_text(files.get(f"{around}_metrics_after.txt")),
    )


def _vllm_024(files: Mapping[str, bytes], name: str) -> Recording:
    """`t` in ns since the request was sent, and `sent` or `raw`."""
    first, *lines = [json.loads(line) for line in files[f"{name}.jsonl"].splitlines()]
    reads = tuple((line["t"], line["raw"].encode()) for line in lines if line.get("raw"))
    return Recording(
        name=name,
        kind="vllm",
        request=b"POST /v1/chat/completions HTTP/1.1\r\n\r\n" + first["sent"].encode(),
        send_ns=first["t"],
        sent_ns=first["t"],
        reads=reads,
        end_ns=reads[-1][0],
        how=_how(reads, is_closed=False),
    )


def _bytes(event: Mapping[str, Any]) -> bytes:
    return base64.b64decode(event["b64"]) if "b64" in event else str(event["text"]).encode()


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def _how(reads: Sequence[tuple[int, bytes]], *, is_closed: bool) -> str | None:
    reader = ResponseReader()
    for _, data in reads:
        reader.feed(data)
    return "complete" if reader.complete else "eof" if is_closed else None


CLAIM_TEXT = """\
schema: 1
id: recorded
title: 130 tok/s on one server
source: {url: "https://forum.example/t/1", kind: forum post}
model: {id: SmolLM2-135M-Instruct}
reported: {value: 130}
"""
Round = tuple[Recording, ...]
GAP_NS = 2 * 10**9
"""Between rounds."""


@dataclass(frozen=True)
class Cells:
    """What was measured: the rounds of the judged cell, and of the same load on a server without speculation."""

    subject: tuple[Round, ...]
    plain: tuple[Round, ...] = ()
    is_finished: bool = True
    has_scrapes: bool = True

    def each(self) -> Iterator[tuple[str, Role, tuple[Round, ...]]]:
        """Key, role and rounds of every cell."""
        yield "subject", "subject", self.subject
        if self.plain:
            yield "plain", "reference", self.plain


def prompt_of(one: Recording) -> Prompt:
    """The prompt of a recording."""
    asked = one.body
    text = asked["messages"][-1]["content"] if "messages" in asked else asked.get("prompt", "")
    text = text if isinstance(text, str) else " ".join(map(str, text))
    return Prompt(id=one.name, kind="reviewer", origin="reviewer", messages=(Message(role="user", content=text),))


def plan_of(cells: Cells, claim: str = CLAIM_TEXT, **fields: Any) -> Plan:
    """A plan under which these recordings would have been made."""
    made, prompts = [], {}
    for key, role, rounds in cells.each():
        own = {one.name: prompt_of(one) for round_ in rounds for one in round_}
        prompts |= own
        made.append(
            Cell(
                key=key,
                server=key,
                role=role,
                streams=len(rounds[0]),
                repeats=len(rounds),
                requests=len(rounds[0]),
                prompts=tuple(own),
                max_tokens=_whole(rounds[0][0].body.get("max_tokens")),
            )
        )
    shared = {"tool_version": "0.1.0", "claim_digest": sha256(claim.encode()), "case": "recorded", "seed": 1}
    shared |= {"api": "chat", "temperature": 0.0, "ignore_eos": True}
    return Plan.model_validate({**shared, "cells": tuple(made), "prompts": tuple(prompts.values()), **fields})


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 16


def facts_of(cells: Cells, facts: Mapping[str, Fact] | None = None) -> RunFacts:
    """What the probe would have said; `facts` adds answers of the judged server."""
    servers = {}
    for key, _, rounds in cells.each():
        answers = {"model": known("SmolLM2-135M-Instruct", "GET /v1/models")}
        answers |= {"speculation": known(key == "subject", "the recording")}
        answers |= (facts or {}) if key == "subject" else {}
        servers[key] = ServerFacts(
            key=key,
            url="http://127.0.0.1:1",
            kind=rounds[0][0].kind,
            kind_reason="recorded",
            model="SmolLM2-135M-Instruct",
            metrics=cells.has_scrapes,
            facts=answers,
        )
    host = HostFacts(platform="Linux", python="3.11.7", cpus=2, machine="x86_64")
    return RunFacts(servers=servers, host=host)


def wire_records(cells: Cells) -> list[list[WireRecord]]:
    """The records of the wire log, a list for every round, as a live run would write them."""
    log = _Log()
    found = [[WireRecord(Kind.MARK, 0, 1, 0, b'{"mark": "start"}')]]
    for key, _, rounds in cells.each():
        for repeat, round_ in enumerate(rounds):
            start = min(one.send_ns for one in round_)
            own = _scrape(log, key, repeat, "before", round_[0].before) if cells.has_scrapes else []
            for index, one in enumerate(round_):
                meta = {"purpose": "measure", "cell": key, "repeat": repeat, "index": index}
                own += log.exchange(one, {**meta, "prompt": one.name, "attempt": 0}, shift_ns=log.now_ns - start)
            log.now_ns = own[-1].t_ns + GAP_NS
            own += _scrape(log, key, repeat, "after", round_[0].after) if cells.has_scrapes else []
            found.append(own)
    if cells.is_finished:
        found.append([WireRecord(Kind.MARK, 0, log.now_ns, 0, b'{"mark": "end"}')])
    return found


class _Log:
    def __init__(self) -> None:
        self.now_ns = GAP_NS
        self.exchanges = 0

    def exchange(self, one: Recording, meta: Mapping[str, Any], *, shift_ns: int) -> list[WireRecord]:
        """One exchange, its times moved by `shift_ns`."""
        self.exchanges += 1
        number, send = self.exchanges, one.send_ns + shift_ns
        close = json.dumps({"how": one.how}).encode()
        return [
            WireRecord(Kind.OPEN, number, send, 0, json.dumps(dict(meta)).encode()),
            WireRecord(Kind.SEND, number, send, 0, one.request),
            WireRecord(Kind.SENT, number, one.sent_ns + shift_ns, 0, b""),
            *(WireRecord(Kind.READ, number, t_ns + shift_ns, 0, data) for t_ns, data in one.reads),
            *([WireRecord(Kind.CLOSE, number, one.end_ns + shift_ns, 0, close)] if one.how else []),
        ]


def _scrape(log: _Log, cell: str, repeat: int, when: str, text: str | None) -> list[WireRecord]:
    """A scrape of the counters, answered with this text."""
    if text is None:
        return []
    body = text.encode()
    answer = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: %d\r\n\r\n" % len(body) + body
    log.now_ns += 10**6
    one = Recording(when, "", b"GET /metrics HTTP/1.1\r\n\r\n", 0, 0, ((1000, answer),), 1000, "complete")
    meta = {"purpose": "scrape", "cell": cell, "repeat": repeat, "when": when, "method": "GET"}
    return log.exchange(one, meta, shift_ns=log.now_ns)


def evidence_of(cells: Cells) -> Evidence:
    """The evidence of a run on these recordings."""
    return assemble([record for records in wire_records(cells) for record in records])


_adapters = cache(load_adapters)


def account(cells: Cells, recount: Recount | None = None) -> Account:
    """The account of a run on these recordings."""
    facts = facts_of(cells)
    by_key = {key: _adapters()[server.kind] for key, server in facts.servers.items()}
    return account_for(evidence_of(cells), plan_of(cells), by_key, recount)


def counted(one: Recording) -> Counted:
    """One recording, accounted for."""
    return account(Cells(subject=((one,),), has_scrapes=False)).counted[0]


def make_run(
    folder: Path,
    cells: Cells,
    *,
    claim: str = CLAIM_TEXT,
    facts: Mapping[str, Fact] | None = None,
    recount: Recount | None = None,
    **plan: Any,
) -> Path:
    """Write a run folder, unjudged; `plan` sets fields of the plan."""
    folder.mkdir(parents=True, exist_ok=True)
    made = plan_of(cells, claim, **plan)
    record = RunRecord(
        run="recorded-1",
        tool_version="0.1.0",
        started="2026-12-01T08:20:00+00:00",
        started_ns=1796113200000000000,
        command="audit run claim.yaml --server http://127.0.0.1:1",
        plan_digest=made.digest(),
    )
    frames = [frame(records, first=index == 0) for index, records in enumerate(wire_records(cells))]
    (folder / CLAIM).write_text(claim)
    (folder / PLAN).write_bytes(made.to_json())
    (folder / FACTS).write_bytes(facts_of(cells, facts).to_json())
    (folder / RUN).write_bytes(record.to_json())
    (folder / WIRE).write_bytes(b"".join(frames))
    if recount is not None:
        (folder / RECOUNT).write_bytes(recount.to_json())
    return folder


def halved(one: Recording, counters: str, names_: Sequence[str]) -> Recording:
    """The recording between two scrapes that differ by half of `counters`: those of two equal requests since the start."""
    zero, half = [], []
    for line in counters.splitlines():
        if line.startswith(tuple(names_)):
            series, value = line.rsplit(" ", 1)
            zero.append(f"{series} 0.0")
            half.append(f"{series} {float(value) / 2}")
    return replace(one, before="\n".join(zero) + "\n", after="\n".join(half) + "\n")
