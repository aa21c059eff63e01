"""The one door to the database: records in, records out, each call one transaction.

Nothing but this module and `saving` maps records to rows. No session is kept between calls, so a store may stay open
for the whole of a run without holding a lock.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from difflib import get_close_matches
from types import TracebackType
from typing import Self, TypeVar

from sqlalchemy import Engine, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from auditor.db import tables
from auditor.db.engine import Place, locate, make_engine, one_line, writing
from auditor.db.migrate import begin_reading, begin_writing, prepare
from auditor.db.rows import (
    AmendmentRow,
    ArtefactRow,
    ClaimRevision,
    ClaimSummary,
    ExchangeRow,
    FindingRow,
    ImportRow,
    JudgementRow,
    LedgerRow,
    RunRow,
    RunSummary,
    ServerRow,
    VerdictRow,
)
from auditor.db.saving import save_amendments, save_run
from auditor.errors import UsageError

T = TypeVar("T")
_ATTEMPTS = 5
"""How often a write is tried anew when another process has just stored the same key."""


def open_store(url: str | None) -> "Store":
    """Open the database at this address; None is `audit.db` in the working folder.

    The default file is created, or upgraded after a copy was kept. Any other must have been made ready by
    `audit db upgrade`. Raises UsageError for a bad address and DatabaseError where the database cannot be used.
    """
    place = locate(url)
    engine = make_engine(place)
    prepare(place, engine)
    return Store(place, engine)


class Store:
    """An open database; use it in a `with`.

    Every method is one transaction and raises DatabaseError, in one line, where it fails; also where another version
    of the tool upgraded the database meanwhile.
    """

    def __init__(self, place: Place, engine: Engine) -> None:
        self._place, self._engine = place, engine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def name(self) -> str:
        """Where it is, without a password."""
        return self._place.name

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def add_claim(self, *, claim_id: str, title: str, text: str, digest: str, added_ns: int) -> ClaimRevision:
        """Store the text of a claim: a new revision, unless a text with this digest is there already.

        The text that was added last is the current revision, also when it is an old one that came back.
        """

        def add(session: Session) -> ClaimRevision:
            claim = session.get(tables.Claim, claim_id, with_for_update=True)
            if claim is None:
                claim = tables.Claim(claim_id=claim_id, current=0, added_ns=added_ns)
                session.add(claim)
                session.flush()
            known = session.scalar(select(tables.Revision).filter_by(claim_id=claim_id, digest=digest))
            if known is not None:
                claim.current = known.revision
                return ClaimRevision(claim_id, known.revision, digest, is_new=False)
            newest = session.scalar(select(func.max(tables.Revision.revision)).filter_by(claim_id=claim_id)) or 0
            claim.current = newest + 1
            session.add(
                tables.Revision(
                    claim_id=claim_id,
                    revision=newest + 1,
                    title=title,
                    text=text,
                    digest=digest,
                    added_ns=added_ns,
                )
            )
            return ClaimRevision(claim_id, newest + 1, digest, is_new=True)

        return self._write(add)

    def claims(self) -> list[ClaimSummary]:
        """Every claim in its current revision, by id."""
        claim, revision, run = tables.Claim, tables.Revision, tables.Run
        query = (
            select(claim.claim_id, revision.title, revision.revision, revision.added_ns)
            .join(revision, (revision.claim_id == claim.claim_id) & (revision.revision == claim.current))
            .order_by(claim.claim_id)
        )
        counts = select(run.claim_id, func.count()).group_by(run.claim_id)

        def read(session: Session) -> list[ClaimSummary]:
            runs = {row[0]: row[1] for row in session.execute(counts)}
            last: dict[str, str] = {}
            for summary in _runs(session, None):
                if summary.verdict is not None:
                    last.setdefault(summary.claim_id, summary.verdict)
            return [
                ClaimSummary(*row, runs=runs.get(row[0], 0), last_verdict=last.get(row[0]))
                for row in session.execute(query)
            ]

        return self._read(read)

    def claim_text(self, claim_id: str, revision: int | None = None) -> str:
        """The claim file as it was stored; the current revision by default. Raises UsageError for an unknown one."""

        def read(session: Session) -> str:
            claim = session.get(tables.Claim, claim_id)
            if claim is None:
                raise _unknown_claim(claim_id, session.scalars(select(tables.Claim.claim_id)).all())
            wanted = claim.current if revision is None else revision
            row = session.get(tables.Revision, (claim_id, wanted))
            if row is None:
                newest = session.scalar(select(func.max(tables.Revision.revision)).filter_by(claim_id=claim_id))
                raise UsageError(f"claim {claim_id!r} has no revision {wanted}", remedy=f"it has 1 to {newest}")
            return row.text

        return self._read(read)

    def save_run(
        self,
        run: RunRow,
        exchanges: Sequence[ExchangeRow] = (),
        ledgers: Sequence[LedgerRow] = (),
        findings: Sequence[FindingRow] = (),
        verdict: VerdictRow | None = None,
        artefacts: Sequence[ArtefactRow] = (),
        servers: Sequence[ServerRow] = (),
    ) -> None:
        """Store a run and all that was derived from it, or nothing.

        Saved again, the derived rows are replaced; a verdict is appended where its digest differs from the last one.
        """
        self._write(
            lambda session: save_run(
                session,
                run,
                exchanges=exchanges,
                ledgers=ledgers,
                findings=findings,
                verdict=verdict,
                artefacts=artefacts,
                servers=servers,
            )
        )

    def save_amendments(self, run_id: str, amendments: Sequence[AmendmentRow]) -> None:
        """Append those of a run that are not stored yet.

        Raises DatabaseError where the run is not stored, and where what is stored is not what these begin with: a line
        of the run's file was changed or taken out.
        """
        self._write(lambda session: save_amendments(session, run_id, amendments))

    def runs(self, claim_id: str | None = None) -> list[RunSummary]:
        """The runs of a claim, or of all, with the verdict that stands; newest first."""
        return self._read(lambda session: _runs(session, claim_id))

    def judgements(self) -> list[JudgementRow]:
        """Every verdict that a run ever had, by run, the oldest first."""
        table = tables.Verdict
        columns = (getattr(table, field.name) for field in fields(JudgementRow))
        query = select(*columns).order_by(table.run_id, table.seq)
        return self._read(lambda session: [JudgementRow(*row) for row in session.execute(query)])

    def save_import(self, row: ImportRow) -> None:
        """Store an import; the same folder again replaces its row."""
        self._write(lambda session: session.merge(tables.Import(**asdict(row))))

    def imports(self, claim_id: str | None = None) -> list[ImportRow]:
        """The imports that were laid beside a claim, or all; newest first."""
        table = tables.Import
        query = select(table).order_by(table.imported_ns.desc(), table.folder)
        if claim_id is not None:
            query = query.where(table.claim_id == claim_id)
        names = [field.name for field in fields(ImportRow)]
        return self._read(
            lambda session: [
                ImportRow(**{name: getattr(one, name) for name in names}) for one in session.scalars(query)
            ]
        )

    def _read(self, work: Callable[[Session], T]) -> T:
        with one_line(self._place), Session(self._engine) as session:
            begin_reading(self._place, session.connection())
            return work(session)

    def _write(self, work: Callable[[Session], T]) -> T:
        with one_line(self._place):
            for _ in range(_ATTEMPTS - 1):
                try:
                    return self._transaction(work)
                except IntegrityError:
                    # Someone else stored the same key between our look and our insert; look again.
                    continue
            return self._transaction(work)

    def _transaction(self, work: Callable[[Session], T]) -> T:
        with Session(writing(self._engine)) as session, session.begin():
            begin_writing(self._place, session.connection())
            return work(session)


def _runs(session: Session, claim_id: str | None) -> list[RunSummary]:
    run, verdict = tables.Run, tables.Verdict
    last = select(verdict.run_id, func.max(verdict.seq).label("seq")).group_by(verdict.run_id).subquery()
    query = (
        select(
            run.run_id,
            run.claim_id,
            run.claim_revision,
            run.started_ns,
            verdict.kind.label("verdict"),
            verdict.exit_code,
            verdict.sentence,
            verdict.delivered,
            verdict.unit,
            run.folder,
            run.quick,
            run.rehearsal,
            run.partial,
        )
        .outerjoin(last, last.c.run_id == run.run_id)
        .outerjoin(verdict, (verdict.run_id == run.run_id) & (verdict.seq == last.c.seq))
        .order_by(run.started_ns.desc(), run.run_id.desc())
    )
    if claim_id is not None:
        query = query.where(run.claim_id == claim_id)
    amended: dict[str, tuple[str, ...]] = {}
    table = tables.Amendment
    for run_id, kind in session.execute(select(table.run_id, table.kind).order_by(table.run_id, table.seq)):
        amended[run_id] = (*amended.get(run_id, ()), kind)
    return [RunSummary(**row._asdict(), amendments=amended.get(row.run_id, ())) for row in session.execute(query)]


def _unknown_claim(claim_id: str, known: Sequence[str]) -> UsageError:
    near = get_close_matches(claim_id, known, n=3, cutoff=0.5)
    remedy = f"did you mean {' or '.join(near)}?" if near else "`audit claims list` names them"
    return UsageError(f"there is no claim {claim_id!r} in the database", remedy=remedy)
