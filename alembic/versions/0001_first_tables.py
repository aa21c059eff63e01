"""First tables: claims, servers, runs and what was found in them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    _claims()
    _servers()
    _runs()
    _evidence()
    _judgement()


def downgrade() -> None:
    for table in (
        "artefacts",
        "verdicts",
        "findings",
        "ledgers",
        "exchanges",
        "run_servers",
        "runs",
        "servers",
        "claim_revisions",
        "claims",
    ):
        op.drop_table(table)


def _claims() -> None:
    op.create_table(
        "claims",
        sa.Column("claim_id", sa.String(200), nullable=False),
        _count("current", nullable=False),
        _count("added_ns", nullable=False),
        sa.PrimaryKeyConstraint("claim_id", name="pk_claims"),
    )
    op.create_table(
        "claim_revisions",
        sa.Column("claim_id", sa.String(200), nullable=False),
        _count("revision", nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        _count("added_ns", nullable=False),
        sa.PrimaryKeyConstraint("claim_id", "revision", name="pk_claim_revisions"),
        sa.ForeignKeyConstraint(["claim_id"], ["claims.claim_id"], name="fk_claim_revisions_claim_id_claims"),
    )
    op.create_index("ix_claim_revisions_claim_id_digest", "claim_revisions", ["claim_id", "digest"], unique=True)


def _servers() -> None:
    op.create_table(
        "servers",
        sa.Column("server_id", sa.String(64), nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("kind", sa.String(50), nullable=False),
        sa.Column("version", sa.Text),
        _count("first_seen_ns", nullable=False),
        _count("last_seen_ns", nullable=False),
        sa.PrimaryKeyConstraint("server_id", name="pk_servers"),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("run_id", sa.String(200), nullable=False),
        sa.Column("claim_id", sa.String(200), nullable=False),
        _count("claim_revision", nullable=False),
        sa.Column("plan_digest", sa.String(64), nullable=False),
        sa.Column("folder", sa.Text, nullable=False),
        _count("started_ns", nullable=False),
        _count("finished_ns"),
        sa.Column("quick", sa.Boolean, nullable=False),
        sa.Column("rehearsal", sa.Boolean, nullable=False),
        sa.Column("partial", sa.Boolean, nullable=False),
        sa.Column("status", sa.String(50), nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_runs"),
        sa.ForeignKeyConstraint(
            ["claim_id", "claim_revision"],
            ["claim_revisions.claim_id", "claim_revisions.revision"],
            name="fk_runs_claim_id_claim_revision_claim_revisions",
        ),
    )
    op.create_index("ix_runs_claim_id_claim_revision", "runs", ["claim_id", "claim_revision"])
    op.create_index("ix_runs_started_ns", "runs", ["started_ns"])
    op.create_table(
        "run_servers",
        sa.Column("run_id", sa.String(200), nullable=False),
        sa.Column("key", sa.String(50), nullable=False),
        sa.Column("server_id", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "key", name="pk_run_servers"),
        _of_run("run_servers"),
        sa.ForeignKeyConstraint(["server_id"], ["servers.server_id"], name="fk_run_servers_server_id_servers"),
    )
    op.create_index("ix_run_servers_server_id", "run_servers", ["server_id"])


def _evidence() -> None:
    op.create_table(
        "exchanges",
        sa.Column("run_id", sa.String(200), nullable=False),
        _count("exchange", nullable=False),
        sa.Column("cell", sa.String(200), nullable=False),
        _count("request"),
        sa.Column("status", sa.String(50), nullable=False),
        _count("delivered"),
        sa.Column("rung", sa.String(50)),
        *map(_count, ("drafted", "accepted", "rejected", "verify_steps", "events", "ttft_ns", "e2e_ns")),
        sa.Column("decode_rate", sa.Double),
        sa.PrimaryKeyConstraint("run_id", "exchange", name="pk_exchanges"),
        _of_run("exchanges"),
    )
    op.create_table(
        "ledgers",
        sa.Column("run_id", sa.String(200), nullable=False),
        sa.Column("cell", sa.String(200), nullable=False),
        *map(_count, ("delivered", "first", "plain_steps", "verify_steps")),
        *map(_count, ("drafted", "accepted", "rejected", "overshoot")),
        sa.Column("document", sa.JSON, nullable=False),
        sa.PrimaryKeyConstraint("run_id", "cell", name="pk_ledgers"),
        _of_run("ledgers"),
    )
    op.create_table(
        "artefacts",
        sa.Column("run_id", sa.String(200), nullable=False),
        sa.Column("name", sa.String(500), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        _count("bytes", nullable=False),
        sa.PrimaryKeyConstraint("run_id", "name", name="pk_artefacts"),
        _of_run("artefacts"),
    )
    op.create_index("ix_artefacts_sha256", "artefacts", ["sha256"])


def _judgement() -> None:
    op.create_table(
        "findings",
        sa.Column("run_id", sa.String(200), nullable=False),
        _count("seq", nullable=False),
        sa.Column("check_id", sa.String(200), nullable=False),
        sa.Column("outcome", sa.String(50), nullable=False),
        sa.Column("sentence", sa.Text, nullable=False),
        sa.Column("remedy", sa.Text),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_findings"),
        _of_run("findings"),
    )
    op.create_index("ix_findings_check_id", "findings", ["check_id"])
    figures = ("claimed_low", "claimed_high", "delivered", "delivered_low", "delivered_high")
    op.create_table(
        "verdicts",
        sa.Column("run_id", sa.String(200), nullable=False),
        _count("seq", nullable=False),
        sa.Column("kind", sa.String(50), nullable=False),
        _count("exit_code", nullable=False),
        sa.Column("sentence", sa.Text, nullable=False),
        *(sa.Column(name, sa.Double) for name in figures),
        sa.Column("unit", sa.String(50)),
        _count("judged_ns", nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_verdicts"),
        _of_run("verdicts"),
    )


def _count(name: str, *, nullable: bool = True) -> "sa.Column[int]":
    return sa.Column(name, sa.BigInteger, nullable=nullable, autoincrement=False)


def _of_run(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name=f"fk_{table}_run_id_runs")
