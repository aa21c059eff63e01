"""Amendments: what was said of a verdict since."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "amendments",
        sa.Column("run_id", sa.String(200), nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False, autoincrement=False),
        sa.Column("kind", sa.String(50), nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("by", sa.String(200)),
        sa.Column("url", sa.Text),
        sa.Column("at_ns", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.PrimaryKeyConstraint("run_id", "seq", name="pk_amendments"),
        sa.ForeignKeyConstraint(["run_id"], ["runs.run_id"], name="fk_amendments_run_id_runs"),
    )


def downgrade() -> None:
    op.drop_table("amendments")
