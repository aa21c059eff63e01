"""How a run becomes rows, within a transaction that the store began."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from auditor.db import tables
from auditor.db.rows import (
    AmendmentRow,
    ArtefactRow,
    ExchangeRow,
    FindingRow,
    LedgerRow,
    RunRow,
    ServerRow,
    VerdictRow,
)
from auditor.errors import DatabaseError

DERIVED = (tables.Exchange, tables.Ledger, tables.Finding, tables.Artefact, tables.RunServer)


def save_run(
    session: Session,
    run: RunRow,
    *,
    exchanges: Sequence[ExchangeRow],
    ledgers: Sequence[LedgerRow],
    findings: Sequence[FindingRow],
    verdict: VerdictRow | None,
    artefacts: Sequence[ArtefactRow],
    servers: Sequence[ServerRow],
) -> None:
    """Write the run, replace its derived rows and append its verdict where it is another than the last.

    Raises DatabaseError where the claim's revision is not stored, or the id is of a run of another claim or plan.
    """
    _write_run(session, run)
    for table in DERIVED:
        session.execute(delete(table).where(table.run_id == run.run_id))
    _insert(session, tables.Exchange, run.run_id, map(asdict, exchanges))
    _insert(session, tables.Ledger, run.run_id, map(asdict, ledgers))
    _insert(session, tables.Finding, run.run_id, ({"seq": n, **asdict(row)} for n, row in enumerate(findings, 1)))
    _insert(session, tables.Artefact, run.run_id, map(asdict, artefacts))
    seen = [{"key": row.key, "server_id": _see(session, row)} for row in sorted(servers, key=server_id)]
    _insert(session, tables.RunServer, run.run_id, seen)
    if verdict is not None:
        _append_verdict(session, run.run_id, verdict)


def save_amendments(session: Session, run_id: str, amendments: Sequence[AmendmentRow]) -> None:
    """Append the amendments that are not stored yet; raises DatabaseError as `Store.save_amendments` says."""
    table = tables.Amendment
    # The lock lets two writers of one run take turns.
    if session.get(tables.Run, run_id, with_for_update=True) is None:
        raise DatabaseError("the run is not stored", where=f"run {run_id}", remedy="`audit judge` stores it")
    stored = session.scalars(select(table).filter_by(run_id=run_id).order_by(table.seq)).all()
    if [one.digest for one in stored] != [one.digest for one in amendments[: len(stored)]]:
        what = f"{len(stored)} of its amendments are stored, and the folder's do not begin with them"
        remedy = "a line of amendments.jsonl was changed or taken out: restore the file"
        raise DatabaseError(what, where=f"run {run_id}", remedy=remedy)
    _insert(session, table, run_id, map(asdict, amendments[len(stored) :]))


def _write_run(session: Session, run: RunRow) -> None:
    if session.get(tables.Revision, (run.claim_id, run.claim_revision)) is None:
        raise DatabaseError(
            f"revision {run.claim_revision} of claim {run.claim_id!r} is not stored",
            where=f"run {run.run_id}",
            remedy="add the claim before its run",
        )
    # The lock lets two writers of one run take turns, so neither loses its verdict.
    stored = session.get(tables.Run, run.run_id, with_for_update=True)
    values = _storable(asdict(run))
    if stored is None:
        session.add(tables.Run(**values))
    elif (stored.claim_id, stored.plan_digest) != (run.claim_id, run.plan_digest):
        raise DatabaseError(
            f"the database holds another run with this id, of claim {stored.claim_id!r}",
            where=f"run {run.run_id}",
            remedy="give the run folder another name or name another database",
        )
    else:
        for name, value in values.items():
            setattr(stored, name, value)
    session.flush()


def _insert(session: Session, table: type[tables.Base], run_id: str, rows: Iterable[dict[str, Any]]) -> None:
    values = [{"run_id": run_id, **_storable(row)} for row in rows]
    if values:
        session.execute(insert(table), values)


def _append_verdict(session: Session, run_id: str, verdict: VerdictRow) -> None:
    table = tables.Verdict
    last = session.scalar(select(table).filter_by(run_id=run_id).order_by(table.seq.desc()).limit(1))
    if last is not None and last.digest == verdict.digest:
        return
    session.add(table(run_id=run_id, seq=1 if last is None else last.seq + 1, **_storable(asdict(verdict))))


def _see(session: Session, row: ServerRow) -> str:
    name = server_id(row)
    server = session.get(tables.Server, name, with_for_update=True)
    if server is None:
        session.add(
            tables.Server(
                server_id=name,
                url=_bare(row.url),
                kind=row.kind,
                version=row.version,
                first_seen_ns=row.seen_ns,
                last_seen_ns=row.seen_ns,
            )
        )
        session.flush()
    else:
        server.first_seen_ns = min(server.first_seen_ns, row.seen_ns)
        server.last_seen_ns = max(server.last_seen_ns, row.seen_ns)
    return name


def server_id(row: ServerRow) -> str:
    """The same for the same server on every machine; also the order in which rows are locked."""
    return hashlib.sha256(repr((_bare(row.url), row.kind, row.version)).encode()).hexdigest()


def _bare(url: str) -> str:
    """The address without user, password, query and fragment."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _storable(row: dict[str, Any]) -> dict[str, Any]:
    """Texts may quote what a server sent; PostgreSQL takes no NUL, and no database takes half a surrogate pair."""
    return {name: _text(value) if isinstance(value, str) else value for name, value in row.items()}


def _text(value: str) -> str:
    return value.replace("\0", "\N{REPLACEMENT CHARACTER}").encode("utf-8", "replace").decode()
