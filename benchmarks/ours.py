"""One measurement with the tool itself, as `audit run` makes it, in a process of its own; prints JSON.

The plan, the probe, the replay, the transport, the log and the account are those of a run; nothing here receives a
byte. `--hold` puts the writing of the log off until the load is over: that is capture into memory.
"""

import asyncio
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import click
import numpy as np

from auditor.audit import adapters_of, look
from auditor.capture import measure as measuring
from auditor.capture import wirelog
from auditor.capture.connection import allow_connections
from auditor.capture.striking import Striker
from auditor.core import folder as names
from auditor.core.claim.claim import parse_claim
from auditor.core.counting.account import Account, account_for, readers_of
from auditor.core.counting.evidence import assemble
from auditor.core.counting.gaps import gap_summary
from auditor.core.counting.tokenlog import token_log
from auditor.core.facts import RunFacts
from auditor.core.plan.making import Wishes
from auditor.core.plan.plan import Plan, Round
from auditor.core.wire.log import Kind, WireScan
from auditor.job import Job, ServerChoice
from benchmarks.machine import Cores

CLAIM = """schema: 1
id: benchmark
title: A load for the client
reported:
  value: 1
"""
SMALL = 8192
"""Bytes of a read in which the times are looked at one by one."""
_SENT = re.compile(rb'"content":"(\d{16}) "')


@click.command()
@click.option("--url", required=True)
@click.option("--server-pid", type=int, required=True)
@click.option("--cores", required=True, help="Cores of the server and of this process, with a comma.")
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--streams", type=int, required=True)
@click.option("--tokens", type=int, required=True)
@click.option("--hold", is_flag=True, help="Write nothing until the load is over.")
@click.option("--stall-ms", type=float, default=0.0, help="Stop the event loop so long, again and again.")
@click.option("--account", "account", is_flag=True, help="Make the account, the ledger and the token log as well.")
def main(url: str, server_pid: int, cores: str, folder: Path, streams: int, tokens: int, **options: Any) -> None:
    """Measure once."""
    folder.mkdir(parents=True)
    if options["hold"]:
        wirelog.TURN_S = wirelog.FLUSH_S = 1e9
        wirelog.FRAME_BYTES = 1 << 40
    claim = parse_claim(CLAIM, "benchmark")
    job = Job(
        claim=claim,
        case=claim.case(None),
        claim_bytes=CLAIM.encode(),
        servers=(ServerChoice("subject", url),),
        wishes=Wishes(streams=streams, tokens=tokens, repeats=1, quick=True),
        run="benchmark",
        started_ns=time.time_ns(),
        seed=1,
        folder=folder,
        command="benchmark",
    )
    watch = _Watch(url, Cores([int(core) for core in cores.split(",")], [server_pid, os.getpid()]))
    facts, plan = asyncio.run(_measured(job, watch, options["stall_ms"] / 1000))
    found = {"foreign": watch.foreign, "cpu_s": watch.cpu_s, "truth": watch.truth, **_seen(folder, plan)}
    if options["account"]:
        found |= _accounted(folder, plan, facts)
    json.dump(found, sys.stdout)


class _Watch:
    """Processor time while the measured round ran."""

    def __init__(self, url: str, cores: Cores) -> None:
        self._url, self._cores = url, cores
        self.foreign = self.cpu_s = 0.0
        self.truth: dict[str, Any] = {}
        self._began_s = 0.0

    def on_round(self, one: Round) -> None:
        """A round begins."""
        if one.cell.role == "subject":
            urlopen(f"{self._url}/reset").read()
            self._cores.start()
            self._began_s = time.process_time()

    async def over(self, *_: Any) -> None:
        """The replay is over."""
        self.foreign, self.cpu_s = self._cores.foreign(), time.process_time() - self._began_s
        self.truth = json.loads(urlopen(f"{self._url}/stats").read())


async def _measured(job: Job, watch: _Watch, stall_s: float) -> tuple[RunFacts, Plan]:
    access = job.access()
    facts, plan = await look(job, access)
    allow_connections(max(cell.streams for cell in plan.cells))
    kept: list[RunFacts] = []
    measuring._count_again = watch.over  # the recount follows the load and is none of it
    stalling = asyncio.ensure_future(_stall(stall_s)) if stall_s else None
    await measuring.measure(
        job.folder,
        plan,
        facts,
        access=access,
        adapters=adapters_of(facts),
        striker=Striker(()),
        tokenizer=None,
        before=kept.append,
        watch=None,
        on_round=watch.on_round,
    )
    if stalling is not None:
        stalling.cancel()
    return kept[0], plan


async def _stall(stall_s: float) -> None:
    """Burn the processor so long, and then let the event loop have it as long."""
    while True:
        until = time.perf_counter() + stall_s
        while time.perf_counter() < until:
            pass
        await asyncio.sleep(stall_s)


def _seen(folder: Path, plan: Plan) -> dict[str, Any]:
    """What the log says: tokens, reads, and the time from the first request to the last byte."""
    tokens = reads = 0
    measured: set[int] = set()
    first, last = 1 << 63, 0
    late: list[int] = []
    for record in WireScan(folder / names.WIRE):
        if record.kind is Kind.OPEN and record.json().get("cell") == plan.subject.key:
            if record.json()["purpose"] == "measure":
                measured.add(record.exchange)
        elif record.exchange not in measured:
            continue
        elif record.kind is Kind.SEND:
            first = min(first, record.t_ns)
        elif record.kind is Kind.READ:
            # The finish reason ends every event with a token and begins no other; one that two reads share is rare.
            tokens += record.payload.count(b'"logprobs":null,"finish_reason"')
            reads, last = reads + 1, max(last, record.t_ns)
            if len(record.payload) < SMALL:
                late += [record.t_ns - int(sent) for sent in _SENT.findall(record.payload)]
    seconds = (last - first) / 1e9
    size = (folder / names.WIRE).stat().st_size
    found = {"events": tokens - len(measured), "seconds": seconds, "reads": reads, "log_bytes": size}
    return {**found, "user_us": quantiles(np.array(late)) if late else ()}


def _accounted(folder: Path, plan: Plan, facts: RunFacts) -> dict[str, Any]:
    """The account, the ledger and the token log; and the stamps against the times in the tokens."""
    began_s = time.process_time()
    adapters = adapters_of(facts)
    evidence = assemble(WireScan(folder / names.WIRE), None, readers_of(plan, adapters))
    account = account_for(evidence, plan, adapters)
    names.write(folder, names.LEDGER, account.ledger.to_json())
    names.write_pieces(folder, names.TOKENS, token_log(account.counted))
    spent_s = time.process_time() - began_s
    cell = account.ledger.cell(plan.subject.key)
    assert cell is not None
    (one,) = cell.rounds
    lines = [line for line in account.ledger.exchanges if line.cell == plan.subject.key]
    times = [(line.times.first_ns or 0, line.times.last_ns or 0, line.times.tokens_after_first or 1) for line in lines]
    gaps = gap_summary(account.counted, plan.subject.key).itl_ns
    return {
        "account_s": spent_s,
        "delivered": one.tally.delivered,
        "complete": one.complete,
        "rate": (one.tally.delivered or 0) / (max(t[1] for t in times) - min(t[0] for t in times)) * 1e9,
        "peak_second_tokens": one.peak_second_tokens,
        "tpot_ms": sum((last - first) / after for first, last, after in times) / len(times) / 1e6,
        "itl_mean_ms": None if gaps is None else (one.decode_ns or 0) / gaps.n / 1e6,
        "ttft_ns": list(one.ttft_ns),
        "shared": sum(line.events_sharing_a_read for line in lines),
        "stamp_us": _errors(account),
    }


def _errors(account: Account) -> Sequence[float]:
    """The stamps of the account less the times in the tokens."""
    errors = [
        np.array([int(word) for word in item.stream.text.split()]) - item.stream.deliveries.at_ns
        for item in account.counted
        if item.stream.text[:16].isdigit() and len(item.stream.text) == 17 * len(item.stream.deliveries)
    ]
    return quantiles(-np.concatenate(errors)) if errors else ()


def quantiles(values: "np.ndarray[Any, Any]") -> Sequence[float]:
    """p50, p99, p99.9 and the most, in microseconds."""
    return [round(float(v), 1) for v in np.quantile(values, [0.5, 0.99, 0.999, 1.0]) / 1e3]


if __name__ == "__main__":
    main()
