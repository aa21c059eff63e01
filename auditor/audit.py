"""The conductor: runs the stages of an audit in order and writes the run folder. Time and ids are passed in."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from auditor import __version__
from auditor.capture.access import Access
from auditor.capture.asking import route_of
from auditor.capture.connection import allow_connections
from auditor.capture.host import host_facts
from auditor.capture.local_state import recall_url
from auditor.capture.measure import INTERRUPTED, Measured, Watch, measure
from auditor.capture.probe import probe
from auditor.capture.recount import load_tokenizer
from auditor.capture.striking import Striker
from auditor.core import folder as names
from auditor.core.adapter import Adapter
from auditor.core.address import public_url
from auditor.core.counting.account import Account, account_for, readers_of
from auditor.core.counting.rounds import scrape_lines
from auditor.core.counting.tokenlog import to_jsonl, token_log
from auditor.core.facts import RunFacts, ServerFacts
from auditor.core.folder import RunFolder, RunRecord, is_judgeable, new_folder, write, write_pieces
from auditor.core.hardware.judged import with_hardware
from auditor.core.judging.judge import Beside, judge
from auditor.core.judging.verdict import RunSummary, Verdict
from auditor.core.observed import FACT_NAMES
from auditor.core.plan.making import make_plan, make_rehearsal
from auditor.core.plan.plan import Plan
from auditor.core.record import canonical_json, sha256
from auditor.core.validity.canaries import digest_of, make_canaries
from auditor.errors import AuditError, EvidenceError, InterruptedRunError, ServerError, UsageError
from auditor.job import Job
from auditor.reference.traps import bundled_traps
from auditor.report.page import write_report
from auditor.review.runlog import LogTail
from auditor.servers import load_adapters


@dataclass(frozen=True, slots=True)
class Result:
    """A judged run."""

    folder: Path
    verdict: Verdict
    account: Account
    stopped: str | None
    """Why the replay ended early."""


async def look(job: Job, access: Mapping[str, Access]) -> tuple[RunFacts, Plan]:
    """Probe the servers and make the plan; sends no prompt."""
    adapters = load_adapters()
    servers: list[ServerFacts] = []
    for choice in job.servers:
        known = recall_url(public_url(choice.url))
        launched = choice.launched.launched if choice.launched else known["launched"] if known else None
        async with access[choice.key].probing_client() as client:
            facts, _ = await probe(
                client,
                base_url=access[choice.key].url,
                key=choice.key,
                adapters=adapters,
                launched=launched,
                model=choice.launched.model if choice.launched else job.model,
                kind=job.kind,
            )
        facts = facts.model_copy(update={"api": job.api, "embedded": choice.launched is not None})
        if job.hardware is not None and not servers:
            facts = with_hardware(facts, job.hardware)
        if "counters" in job.without:
            facts = facts.model_copy(update={"metrics": False, "metrics_path": None})
        route_of(adapters[facts.kind], facts)
        servers.append(facts)
    is_small = all(server.embedded for server in servers) and not job.wishes.whole
    make = make_rehearsal if is_small else make_plan
    digest = sha256(job.claim_bytes)
    plan = make(job.case, digest, servers, job.wishes, seed=job.seed, tool_version=__version__)
    if job.canaries:
        plan = plan.model_copy(update={"canaries": digest_of(make_canaries(plan.seed))})
    return RunFacts(servers={server.key: server for server in servers}, host=host_facts()), plan


def plan_only(job: Job) -> tuple[RunFacts, Plan]:
    """What would be sent, and to whom: the probe and the plan, nothing measured."""
    with _safe(job) as (access, _):
        return asyncio.run(look(job, access))


def run(job: Job, watch: Watch | None = None) -> Result:
    """Measure, account, judge and report; raises AuditError.

    Whatever was received before something broke, or Ctrl-C, is kept in the folder and judged as partial. A folder that
    could not be judged, because nothing of the plan was sent, is removed.
    """
    with _safe(job) as (access, striker):
        tokenizer = load_tokenizer(job.tokenizer) if job.tokenizer else None
        other = load_tokenizer(job.other_tokenizer) if job.other_tokenizer else None
        tail = _log_tail(job)
        facts, plan = asyncio.run(look(job, access))
        _refuse_secrets(job, plan, striker)
        allow_connections(max(cell.streams for cell in plan.cells))
        with new_folder(job.folder):
            measuring = measure(
                job.folder,
                plan,
                facts,
                access=access,
                adapters=_adapters(job, facts),
                striker=striker,
                tokenizer=tokenizer,
                other_tokenizer=other,
                canaries=make_canaries(plan.seed) if job.canaries else (),
                before=partial(_write_before, job, plan, striker),
                watch=watch,
                on_round=None if tail is None else lambda one: tail.begin(one.cell.key, one.repeat),
            )
            if job.sampler is not None:
                job.sampler.start()
            try:
                measured = asyncio.run(measuring)
            finally:
                samples = b"" if job.sampler is None else job.sampler.stop()
            if job.sampler is not None:
                write(job.folder, names.TELEMETRY, samples)
            if tail is not None and tail.borders:
                _keep_log(job, tail, facts.servers[plan.subject.server], striker)
            result = judge_folder(job.folder, stopped=measured.stopped and striker.in_text(measured.stopped))
            if not any(line.tally.delivered for line in result.account.ledger.exchanges):
                raise _nothing_measured(measured, result, facts)
            return result


def judge_folder(path: Path, *, stopped: str | None = None) -> Result:
    """Account for and judge the evidence in a run folder, and write what follows from it. Pure but for the files."""
    account, verdict = judged(path)
    write(path, names.LEDGER, account.ledger.to_json())
    write_pieces(path, names.TOKENS, token_log(account.counted))
    write(path, names.METRICS, to_jsonl(scrape_lines(account.scrapes)))
    write(path, names.VERDICT, verdict.to_json())
    write_report(path)
    write(path, names.MANIFEST, canonical_json(RunFolder(path).manifest()))
    return Result(path, verdict, account, stopped)


def judged(path: Path) -> tuple[Account, Verdict]:
    """The account and the verdict of the evidence in a run folder, which is left as it is; raises EvidenceError."""
    run_folder = RunFolder(path)
    run_folder.check(*names.EVIDENCE)
    plan, facts, record = run_folder.plan(), run_folder.facts(), run_folder.run()
    claim, case = run_folder.claim()
    recount, adapters = run_folder.recount(), adapters_of(facts)
    account = account_for(run_folder.evidence(readers_of(plan, adapters)), plan, adapters, recount)
    summary = RunSummary(
        run=record.run,
        tool_version=record.tool_version,
        started=record.started,
        plan_digest=record.plan_digest,
        wire_digest=run_folder.digest(names.WIRE),
        quick=plan.quick,
        rehearsal=plan.rehearsal,
        partial=account.ledger.is_partial,
        server=facts.servers[plan.subject.server].url,
        server_kind=facts.servers[plan.subject.server].kind,
        command=record.command,
    )
    verdict = judge(
        claim,
        case,
        plan,
        facts,
        account,
        summary,
        Beside(
            witnesses=run_folder.witnesses(case),
            timeline=run_folder.timeline(),
            hardware=run_folder.hardware(),
            telemetry=run_folder.telemetry(),
            recount=recount,
            canaries=run_folder.canaries(),
            reference=run_folder.reference(),
            left_out=record.left_out,
        ),
    )
    return account, verdict


def adapters_of(facts: RunFacts) -> dict[str, Adapter]:
    """The adapter of each server of a run; raises EvidenceError where one is not installed."""
    adapters = load_adapters()
    found = {}
    for key, server in facts.servers.items():
        if server.kind not in adapters:
            raise EvidenceError(f"the adapter {server.kind} of server {key} is not installed")
        found[key] = adapters[server.kind]
    return found


@contextmanager
def _safe(job: Job) -> Iterator[tuple[dict[str, Access], Striker]]:
    """How to reach the servers; no error that leaves this block tells what opens them, and each tells what is left."""
    access = job.access()
    striker = Striker([*job.secrets, *(secret for one in access.values() for secret in one.secrets)])
    try:
        yield access, striker
    except AuditError as error:
        raise striker.in_error(error) from None
    except (KeyboardInterrupt, asyncio.CancelledError):
        if not is_judgeable(job.folder):
            raise InterruptedRunError("interrupted before anything was measured") from None
        remedy = "`audit judge` it to see what was measured"
        raise InterruptedRunError("interrupted", where=str(job.folder), remedy=remedy) from None
    except Exception as error:
        if is_judgeable(job.folder):
            error.add_note(f"what was measured is in {job.folder}: `audit judge` it")
        raise


def _log_tail(job: Job) -> LogTail | None:
    """The log of the subject that is followed: the one that was given, else that of an embedded server."""
    launched = job.servers[0].launched
    path = job.server_log or (str(launched.log) if launched else None)
    if path is None or "server log" in job.without:
        return None
    return LogTail(path, () if "traps" in job.without else bundled_traps(FACT_NAMES).rules)


def _adapters(job: Job, facts: RunFacts) -> dict[str, Adapter]:
    """The adapter of each server; without a recount, none knows where its server tokenises."""
    found = adapters_of(facts)
    return {key: replace(one, tokenize=None) for key, one in found.items()} if "recount" in job.without else found


def _refuse_secrets(job: Job, plan: Plan, striker: Striker) -> None:
    """The claim and the prompts are evidence as they are: a key in them would be published. Raises UsageError."""
    if striker.finds(job.claim_bytes.decode("utf-8", "replace")):
        raise UsageError("the claim holds the server's key or password", remedy="take it out of the claim")
    for prompt in plan.prompts:
        if any(striker.finds(message.content) for message in prompt.messages):
            what = f"the prompt {prompt.id} holds the server's key or password"
            raise UsageError(what, remedy="take it out: prompts are part of the evidence")
    if job.canaries and any(striker.finds(canary.prompt) for canary in make_canaries(plan.seed)):
        what = "a question with a known answer holds the server's key or password"
        raise UsageError(what, remedy="give another --seed, or --no-canaries")


def _write_before(job: Job, plan: Plan, striker: Striker, facts: RunFacts) -> None:
    """Everything that must stand before the first request of the plan; the record of the run comes last."""
    record = RunRecord(
        run=job.run,
        tool_version=__version__,
        started=datetime.fromtimestamp(job.started_ns / 1e9, UTC).isoformat(timespec="seconds"),
        started_ns=job.started_ns,
        command=striker.in_text(job.command),
        plan_digest=plan.digest(),
        left_out=dict(job.left_out),
    )
    write(job.folder, names.CLAIM, job.claim_bytes)
    write(job.folder, names.PLAN, plan.to_json())
    write(job.folder, names.FACTS, striker.in_bytes(facts.to_json()))
    if job.hardware is not None:
        write(job.folder, names.HARDWARE, striker.in_bytes(job.hardware.to_json()))
    write(job.folder, names.RUN, record.to_json())


def _keep_log(job: Job, tail: LogTail, server: ServerFacts, striker: Striker) -> None:
    """The lines of the server's log, before what says that they are there."""
    log, text = tail.finish(server.key, server.kind, striker.in_bytes)
    write(job.folder, names.SERVER_LOG, text)
    write(job.folder, names.SERVER_LOG_RECORD, striker.in_bytes(log.to_json()))


def _nothing_measured(measured: Measured, result: Result, facts: RunFacts) -> AuditError:
    """No token of a measured answer came: whose fault that is, and what to do."""
    if measured.stopped == INTERRUPTED:
        return InterruptedRunError("interrupted before anything was measured")
    if measured.log_failure is not None:
        return measured.log_failure
    lines = result.account.ledger.exchanges
    where = next(iter(facts.servers.values())).url
    if measured.last_failure is not None:
        return measured.last_failure.as_error(where, "nothing was measured")
    why = measured.stopped or next((line.problem for line in lines if line.problem), None) or "no token came"
    return ServerError(f"nothing was measured: {why}", where=where, remedy="see the server's log")
