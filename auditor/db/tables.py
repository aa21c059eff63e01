"""The tables: claims and their revisions, servers, runs and what was found in them.

Nothing but the shape of the data, and all that Alembic needs. Every time is `BIGINT` and its name ends in `_ns`;
moments count from 1970 in UTC. NULL means not known, never 0. The run folder is the evidence; the database only
indexes it.

Decided: keys are the ids that the records already have, so rows made on two machines meet without translation; only a
server has an id of its own, the digest of what makes it that server.
"""

from typing import Any

from sqlalchemy import JSON, BigInteger, Double, ForeignKey, ForeignKeyConstraint, Index, MetaData, String, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

REVISION = "0003"
"""The newest migration in `alembic/versions`; kept here so that a look at the database need not import Alembic."""


class Base(DeclarativeBase):
    """The one metadata; its naming convention gives each constraint a name that a later migration can use."""

    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {int: BigInteger, float: Double, dict[str, Any]: JSON}


class Claim(Base):
    """A claim, whatever its text was at the time."""

    __tablename__ = "claims"

    claim_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    current: Mapped[int]
    """The revision that was added or seen last."""
    added_ns: Mapped[int]


class Revision(Base):
    """One text of a claim file. A row is never changed."""

    __tablename__ = "claim_revisions"

    claim_id: Mapped[str] = mapped_column(ForeignKey("claims.claim_id"), primary_key=True)
    revision: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Counts from 1 within the claim."""
    title: Mapped[str] = mapped_column(Text)
    text: Mapped[str] = mapped_column(Text)
    digest: Mapped[str] = mapped_column(String(64))
    added_ns: Mapped[int]

    __table_args__ = (Index(None, "claim_id", "digest", unique=True),)


class Server(Base):
    """A server as it was seen; another version at the same address is another row."""

    __tablename__ = "servers"

    server_id: Mapped[str] = mapped_column(String(64), primary_key=True)
    """SHA-256 of address, kind and version."""
    url: Mapped[str] = mapped_column(Text)
    """Without credentials and query."""
    kind: Mapped[str] = mapped_column(String(50))
    version: Mapped[str | None] = mapped_column(Text)
    first_seen_ns: Mapped[int]
    last_seen_ns: Mapped[int]


class Run(Base):
    """One replay of one revision of a claim."""

    __tablename__ = "runs"

    run_id: Mapped[str] = mapped_column(String(200), primary_key=True)
    claim_id: Mapped[str] = mapped_column(String(200))
    claim_revision: Mapped[int]
    plan_digest: Mapped[str] = mapped_column(String(64))
    folder: Mapped[str] = mapped_column(Text)
    started_ns: Mapped[int] = mapped_column(index=True)
    finished_ns: Mapped[int | None]
    quick: Mapped[bool]
    rehearsal: Mapped[bool]
    partial: Mapped[bool]
    status: Mapped[str] = mapped_column(String(50))

    __table_args__ = (
        ForeignKeyConstraint(["claim_id", "claim_revision"], ["claim_revisions.claim_id", "claim_revisions.revision"]),
        Index(None, "claim_id", "claim_revision"),
    )


class RunServer(Base):
    """Which server a run asked, under which name (`subject`, `plain`, ...)."""

    __tablename__ = "run_servers"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"), primary_key=True)
    key: Mapped[str] = mapped_column(String(50), primary_key=True)
    server_id: Mapped[str] = mapped_column(ForeignKey("servers.server_id"), index=True)


class Exchange(Base):
    """One request and its stream, in sum."""

    __tablename__ = "exchanges"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"), primary_key=True)
    exchange: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    cell: Mapped[str] = mapped_column(String(200))
    request: Mapped[int | None]
    status: Mapped[str] = mapped_column(String(50))
    delivered: Mapped[int | None]
    rung: Mapped[str | None] = mapped_column(String(50))
    drafted: Mapped[int | None]
    accepted: Mapped[int | None]
    rejected: Mapped[int | None]
    verify_steps: Mapped[int | None]
    events: Mapped[int | None]
    ttft_ns: Mapped[int | None]
    e2e_ns: Mapped[int | None]
    decode_rate: Mapped[float | None]
    """Tokens per second."""


class Ledger(Base):
    """The terms of N = F + P + S + A - O for one cell of a run, and the whole ledger as JSON."""

    __tablename__ = "ledgers"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"), primary_key=True)
    cell: Mapped[str] = mapped_column(String(200), primary_key=True)
    delivered: Mapped[int | None]
    first: Mapped[int | None]
    plain_steps: Mapped[int | None]
    verify_steps: Mapped[int | None]
    drafted: Mapped[int | None]
    accepted: Mapped[int | None]
    rejected: Mapped[int | None]
    overshoot: Mapped[int | None]
    document: Mapped[dict[str, Any]]


class Finding(Base):
    """What one check found in a run, in the order of the report."""

    __tablename__ = "findings"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    check_id: Mapped[str] = mapped_column(String(200), index=True)
    outcome: Mapped[str] = mapped_column(String(50))
    sentence: Mapped[str] = mapped_column(Text)
    remedy: Mapped[str | None] = mapped_column(Text)


class Verdict(Base):
    """A judgement of a run. Rows are appended, never changed; the highest `seq` stands."""

    __tablename__ = "verdicts"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Counts from 1 within the run."""
    kind: Mapped[str] = mapped_column(String(50))
    exit_code: Mapped[int]
    sentence: Mapped[str] = mapped_column(Text)
    claimed_low: Mapped[float | None]
    claimed_high: Mapped[float | None]
    delivered: Mapped[float | None]
    delivered_low: Mapped[float | None]
    delivered_high: Mapped[float | None]
    unit: Mapped[str | None] = mapped_column(String(50))
    judged_ns: Mapped[int]
    document: Mapped[dict[str, Any]]
    digest: Mapped[str] = mapped_column(String(64))


class Artefact(Base):
    """A file of a run folder, by digest."""

    __tablename__ = "artefacts"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"), primary_key=True)
    name: Mapped[str] = mapped_column(String(500), primary_key=True)
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    bytes: Mapped[int]


class Amendment(Base):
    """A reply, correction or withdrawal. Rows are appended, never changed."""

    __tablename__ = "amendments"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.run_id"), primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """Counts from 1 within the run."""
    kind: Mapped[str] = mapped_column(String(50))
    text: Mapped[str] = mapped_column(Text)
    by: Mapped[str | None] = mapped_column(String(200))
    url: Mapped[str | None] = mapped_column(Text)
    at_ns: Mapped[int]
    digest: Mapped[str] = mapped_column(String(64))
    """SHA-256 of its line in `amendments.jsonl`."""


class Import(Base):
    """A result file that was imported, by the folder that holds its record and its bytes."""

    __tablename__ = "imports"

    folder: Mapped[str] = mapped_column(String(500), primary_key=True)
    import_id: Mapped[str] = mapped_column(String(200))
    claim_id: Mapped[str | None] = mapped_column(String(200), index=True)
    """The claim that it was laid beside, which need not be stored."""
    format: Mapped[str] = mapped_column(String(50))
    tool: Mapped[str] = mapped_column(String(200))
    grade: Mapped[str] = mapped_column(String(50))
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    bytes: Mapped[int]
    imported_ns: Mapped[int]
    verdict: Mapped[str | None] = mapped_column(String(50))
    sentence: Mapped[str | None] = mapped_column(Text)
