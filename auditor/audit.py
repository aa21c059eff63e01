"""The conductor: runs the stages of an audit in order and writes the run folder. Time and ids are passed in."""

import asyncio
import os
import platform
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import httpx

from auditor import __version__
from auditor.capture.asking import Target, negotiate
from auditor.capture.local import LocalServer
from auditor.capture.probe import probe
from auditor.capture.recount import recount
from auditor.capture.replay import Monitor, replay
from auditor.capture.stream import CapturingTransport, make_client
from auditor.capture.wirelog import WireWriter
from auditor.core import folder as names
from auditor.core.account import Account, account_for
from auditor.core.adapter import Adapter
from auditor.core.claim import Case, Claim
from auditor.core.facts import HostFacts, RunFacts, ServerFacts
from auditor.core.folder import RunFolder, RunRecord, write
from auditor.core.judge import judge
from auditor.core.plan import Plan, token_count
from auditor.core.planning import Wishes, make_plan, make_rehearsal
from auditor.core.record import canonical_json, sha256
from auditor.core.rounds import scrape_lines
from auditor.core.tokenlog import to_jsonl, token_lines
from auditor.core.verdict import RunSummary, Verdict
from auditor.errors import AuditError, EvidenceError, ServerError
from auditor.report.page import write_report
from auditor.servers import load_adapters


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """A server to measure."""

    key: str
    url: str
    launched: LocalServer | None = None
    """The embedded server behind it, where this tool started it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One audit, as asked for."""

    claim: Claim
    case: Case
    claim_bytes: bytes
    servers: tuple[ServerChoice, ...]
    """The subject first; then, with it, servers without speculation or other extras."""
    wishes: Wishes
    run: str
    """Id of the run."""
    started_ns: int
    """Since the epoch."""
    seed: int
    folder: Path
    command: str
    api_key: str | None = None
    api: str = "chat"
    model: str | None = None
    kind: str | None = None
    tokenizer: str | None = None
    secrets: tuple[str, ...] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True)
class Result:
    """A judged run."""

    folder: Path
    verdict: Verdict
    account: Account
    stopped: str | None
    """Why the replay ended early."""


Watch = Callable[[Monitor], Any]
"""Called about twice a second while requests are in flight."""


async def look(job: Job) -> tuple[RunFacts, Plan]:
    """Probe the servers and make the plan; sends no prompt."""
    adapters = load_adapters()
    headers = {"authorization": f"Bearer {job.api_key}"} if job.api_key else {}
    servers: list[ServerFacts] = []
    async with httpx.AsyncClient(headers=headers, trust_env=False) as client:
        for choice in job.servers:
            launched = choice.launched.launched if choice.launched else None
            facts, _ = await probe(
                client,
                base_url=choice.url,
                key=choice.key,
                adapters=adapters,
                launched=launched,
                model=choice.launched.model if choice.launched else job.model,
                kind=job.kind,
            )
            servers.append(facts.model_copy(update={"api": job.api}))
    make = make_rehearsal if all(server.embedded for server in servers) else make_plan
    digest = sha256(job.claim_bytes)
    plan = make(job.case, digest, servers, job.wishes, seed=job.seed, tool_version=__version__)
    return RunFacts(servers={server.key: server for server in servers}, host=_host()), plan


def run(job: Job, watch: Watch | None = None) -> Result:
    """Measure, account, judge and report; raises AuditError.

    Whatever was received before something broke is kept in the folder and judged as partial.
    """
    facts, plan = asyncio.run(look(job))
    _make_folder(job.folder)
    stopped = asyncio.run(_measure(job, facts, plan, watch))
    result = judge_folder(job.folder, stopped=stopped)
    if stopped and not any(line.tally.delivered for line in result.account.ledger.exchanges):
        raise _nothing_measured(stopped, job)
    return result


def judge_folder(path: Path, *, stopped: str | None = None) -> Result:
    """Account for and judge the evidence in a run folder, and write what follows from it. Pure but for the files."""
    run_folder = RunFolder(path)
    plan, facts, record = run_folder.plan(), run_folder.facts(), run_folder.run()
    claim, case = run_folder.claim()
    if sha256(run_folder.read(names.CLAIM)) != plan.claim_digest:
        raise EvidenceError("is not the claim that was planned for", where=str(path / names.CLAIM))
    evidence = run_folder.evidence()
    account = account_for(evidence, plan, adapters_of(facts), run_folder.recount())
    summary = RunSummary(
        run=record.run,
        tool_version=record.tool_version,
        started=record.started,
        plan_digest=record.plan_digest,
        wire_digest=sha256(run_folder.read(names.WIRE)),
        quick=plan.quick,
        rehearsal=plan.rehearsal,
        partial=account.ledger.is_partial,
        server=facts.servers[plan.subject.server].url,
        server_kind=facts.servers[plan.subject.server].kind,
        command=record.command,
    )
    verdict = judge(claim, case, plan, facts, account, summary)
    write(path, names.LEDGER, account.ledger.to_json())
    write(path, names.TOKENS, to_jsonl(token_lines(account.counted)))
    write(path, names.METRICS, to_jsonl(scrape_lines(account.scrapes)))
    write(path, names.VERDICT, verdict.to_json())
    write_report(path)
    write(path, names.MANIFEST, canonical_json(run_folder.manifest()))
    return Result(path, verdict, account, stopped)


def adapters_of(facts: RunFacts) -> dict[str, Adapter]:
    """The adapter of each server of a run; raises EvidenceError where one is not installed."""
    adapters = load_adapters()
    found = {}
    for key, server in facts.servers.items():
        if server.kind not in adapters:
            raise EvidenceError(f"the adapter {server.kind} of server {key} is not installed")
        found[key] = adapters[server.kind]
    return found


async def _measure(job: Job, facts: RunFacts, plan: Plan, watch: Watch | None) -> str | None:
    """Write the plan, send it, and count the text again; returns why the replay ended early."""
    adapters = adapters_of(facts)
    secrets = (*job.secrets, *([job.api_key] if job.api_key else []))
    log = WireWriter(job.folder / names.WIRE, secrets=secrets)
    targets: dict[str, Target] = {}
    async with AsyncExitStack() as stack:
        stack.push_async_callback(log.close)
        log.start()
        for key, server in facts.servers.items():
            transport = CapturingTransport(log)
            client = await stack.enter_async_context(make_client(transport, api_key=job.api_key))
            target = Target(server, adapters[key], client, transport)
            ready = await negotiate(target, ignore_eos=plan.ignore_eos)
            targets[key] = Target(ready, adapters[key], client, transport)
        facts = facts.model_copy(
            update={
                "servers": {key: target.facts for key, target in targets.items()},
                "kernel_stamps": any(target.transport.kernel_stamps for target in targets.values()),
            }
        )
        _write_before(job, facts, plan)
        monitor = Monitor(planned_tokens=token_count(plan))
        stopped = await _watched(replay(plan, targets, log, monitor), monitor, watch)
        if not stopped:
            await asyncio.to_thread(log.flush)
            counts = await recount(job.folder, plan, targets, job.tokenizer)
            if counts is not None:
                write(job.folder, names.RECOUNT, counts.to_json())
    return stopped


async def _watched(replaying: Any, monitor: Monitor, watch: Watch | None) -> str | None:
    """Run the replay so that Ctrl-C ends it and not the tool, and let `watch` look on."""
    task: asyncio.Task[str | None] = asyncio.ensure_future(replaying)
    loop = asyncio.get_running_loop()
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.add_signal_handler(signal.SIGINT, task.cancel)
        loop.add_signal_handler(signal.SIGTERM, task.cancel)
    while not task.done():
        await asyncio.wait([task], timeout=0.5)
        if watch is not None:
            watch(monitor)
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop.remove_signal_handler(signal.SIGINT)
        loop.remove_signal_handler(signal.SIGTERM)
    return task.result()


def _write_before(job: Job, facts: RunFacts, plan: Plan) -> None:
    """Everything that must stand before the first measured request."""
    record = RunRecord(
        run=job.run,
        tool_version=__version__,
        started=datetime.fromtimestamp(job.started_ns / 1e9, UTC).isoformat(timespec="seconds"),
        started_ns=job.started_ns,
        command=job.command,
        plan_digest=plan.digest(),
    )
    write(job.folder, names.CLAIM, job.claim_bytes)
    write(job.folder, names.PLAN, plan.to_json())
    write(job.folder, names.FACTS, facts.to_json())
    write(job.folder, names.RUN, record.to_json())


def _make_folder(path: Path) -> None:
    try:
        path.mkdir(parents=True)
    except OSError as error:
        raise AuditError(
            f"the run folder cannot be made ({error.strerror})", where=str(path), remedy="choose another with --reports"
        ) from error


def _nothing_measured(stopped: str, job: Job) -> AuditError:
    if stopped == "interrupted":
        raise KeyboardInterrupt
    return ServerError(f"nothing was measured: {stopped}", where=job.servers[0].url, remedy="see the server's log")


def _host() -> HostFacts:
    return HostFacts(
        platform=platform.platform(),
        python=sys.version.split()[0],
        cpus=os.cpu_count() or 1,
        machine=platform.machine(),
        packages={name: version(name) for name in ("httpx", "orjson", "pydantic", "zstandard")},
    )


def plan_only(job: Job) -> tuple[RunFacts, Plan]:
    """What would be sent, and to whom: the probe and the plan, nothing measured."""
    return asyncio.run(look(job))
