"""Writes a judged run into the database, which is an index: the run folder remains the proof."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.audit import Result
from auditor.core.amendment import amendments_of
from auditor.core.counting.ledger import ExchangeLedger
from auditor.core.folder import RunFolder, is_judgeable
from auditor.core.judging.summary import line_decode_rate
from auditor.core.judging.verdict import Verdict
from auditor.core.record import sha256
from auditor.db.rows import (
    AmendmentRow,
    ArtefactRow,
    ExchangeRow,
    FindingRow,
    ImportRow,
    LedgerRow,
    RunRow,
    ServerRow,
    VerdictRow,
)
from auditor.db.store import Store, open_store
from auditor.errors import AuditError

if TYPE_CHECKING:
    from auditor.core.claim.claim import Case
    from auditor.review.imports import Taken


def index_run(result: Result, *, text: str, database: str | None, say: Callable[[str], None]) -> None:
    """Store the run; a database that cannot be used is said and loses nothing, since the folder holds it all."""
    try:
        original = _store(result, text, database)
    except AuditError as error:
        say(f"audit: the run is not in the database: {error}")
        return
    if original is None:
        index_amendments(result.folder, database, say)
    else:
        say(_copy_words(original, "judged"))


def _store(result: Result, text: str, database: str | None) -> Path | None:
    """The folder of the same run that the database lists already, where it is another; then nothing is stored."""
    run_folder = RunFolder(result.folder)
    plan, facts, record = run_folder.plan(), run_folder.facts(), run_folder.run()
    ledger, verdict = result.account.ledger, result.verdict
    now_ns = time.time_ns()
    with open_store(database) as store:
        if (original := _original(store, record.run, result.folder)) is not None:
            return original
        revision = store.add_claim(
            claim_id=verdict.claimed.claim,
            title=verdict.claimed.title,
            text=text,
            digest=plan.claim_digest,
            added_ns=now_ns,
        )
        store.save_run(
            RunRow(
                run_id=record.run,
                claim_id=revision.claim_id,
                claim_revision=revision.revision,
                plan_digest=record.plan_digest,
                folder=str(result.folder),
                started_ns=record.started_ns,
                finished_ns=now_ns,
                quick=plan.quick,
                rehearsal=plan.rehearsal,
                partial=ledger.is_partial,
            ),
            exchanges=[_exchange(line) for line in ledger.exchanges],
            ledgers=[
                LedgerRow(
                    cell=cell.cell,
                    document=cell.model_dump(mode="json"),
                    **{name: getattr(cell.tally, name) for name in _TERMS},
                )
                for cell in ledger.cells
            ],
            findings=[FindingRow(f.id, f.outcome.value, f.sentence, f.remedy) for f in verdict.findings],
            verdict=_verdict(verdict, now_ns),
            artefacts=[_artefact(result.folder, name, digest) for name, digest in run_folder.manifest().items()],
            servers=[
                ServerRow(key, server.url, server.kind, _text(server.value("version")), record.started_ns)
                for key, server in facts.servers.items()
            ],
        )
    return None


def index_amendments(folder: Path, database: str | None, say: Callable[[str], None]) -> None:
    """Store the amendments of a run that is stored; what stands against it is said, and nothing is lost.

    Those of a copy beside the folder that the database lists are not stored, as a verdict of the copy is not.
    """
    try:
        run = RunFolder(folder)
        name = run.run().run
        found = [
            AmendmentRow(one.seq, one.kind, one.text, one.by, one.url, one.at_ns, sha256(one.line()))
            for one in amendments_of(run)
        ]
        with open_store(database) as store:
            if (original := _original(store, name, folder)) is not None:
                say(_copy_words(original, "amended"))
            else:
                store.save_amendments(name, found)
    except AuditError as error:
        say(f"audit: the amendments are not in the database: {error}")


def _original(store: Store, run: str, folder: Path) -> Path | None:
    """Where the database lists a run, if that is another folder that still holds it; one that was moved does not."""
    listed = next((Path(one.folder) for one in store.runs() if one.run_id == run), None)
    if listed is None or not is_judgeable(listed) or listed.samefile(folder):
        return None
    return listed


def _copy_words(original: Path, done: str) -> str:
    listed = f"the database lists this run at {original}, which is another folder"
    return f"audit: {listed}; this copy was {done} and is not listed"


_TERMS = ("delivered", "first", "plain_steps", "verify_steps", "drafted", "accepted", "rejected", "overshoot")


def _exchange(line: ExchangeLedger) -> ExchangeRow:
    tally = line.tally
    return ExchangeRow(
        exchange=line.exchange,
        cell=line.cell,
        status=line.status,
        request=line.index,
        delivered=tally.delivered,
        rung=line.rung.value if line.rung else None,
        drafted=tally.drafted,
        accepted=tally.accepted,
        rejected=tally.rejected,
        verify_steps=tally.verify_steps,
        events=tally.events,
        ttft_ns=line.times.ttft_ns,
        e2e_ns=line.times.e2e_ns,
        decode_rate=line_decode_rate(line),
    )


def _verdict(verdict: Verdict, now_ns: int) -> VerdictRow:
    estimate = verdict.delivered.estimate if verdict.delivered else None
    return VerdictRow(
        kind=verdict.kind.value,
        exit_code=verdict.exit_code,
        sentence=verdict.sentence,
        judged_ns=now_ns,
        document=verdict.model_dump(mode="json"),
        digest=sha256(verdict.to_json()),
        claimed_low=verdict.claimed.low,
        claimed_high=verdict.claimed.high,
        delivered=estimate.value if estimate else None,
        delivered_low=estimate.low if estimate else None,
        delivered_high=estimate.high if estimate else None,
        unit="tok/s",
    )


def _artefact(folder: Path, name: str, digest: str) -> ArtefactRow:
    return ArtefactRow(name, digest, (folder / name).stat().st_size)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def index_import(
    taken: "Taken",
    folder: Path,
    case: "Case | None",
    *,
    now_ns: int,
    database: str | None,
    say: Callable[[str], None],
) -> None:
    """Store an import; a database that cannot be used is said and loses nothing, since the folder holds it all."""
    first = taken.beside[0] if taken.beside else None
    row = ImportRow(
        folder=str(folder),
        import_id=taken.id,
        claim_id=case.claim_id if case else None,
        format=taken.imported.format,
        tool=taken.imported.tool,
        grade=taken.imported.grade.value,
        sha256=taken.imported.originals[0].sha256,
        bytes=sum(one.size for one in taken.imported.originals),
        imported_ns=now_ns,
        verdict=first.verdict.value if first else None,
        sentence=first.sentence if first else None,
    )
    try:
        with open_store(database) as store:
            store.save_import(row)
    except AuditError as error:
        say(f"audit: the import is not in the database: {error}")
