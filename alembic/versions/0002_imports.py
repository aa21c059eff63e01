"""Imports: result files that others publish."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "imports",
        sa.Column("folder", sa.String(500), nullable=False),
        sa.Column("import_id", sa.String(200), nullable=False),
        sa.Column("claim_id", sa.String(200)),
        sa.Column("format", sa.String(50), nullable=False),
        sa.Column("tool", sa.String(200), nullable=False),
        sa.Column("grade", sa.String(50), nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("imported_ns", sa.BigInteger, nullable=False),
        sa.Column("verdict", sa.String(50)),
        sa.Column("sentence", sa.Text),
        sa.PrimaryKeyConstraint("folder", name="pk_imports"),
    )
    op.create_index("ix_imports_claim_id", "imports", ["claim_id"])
    op.create_index("ix_imports_sha256", "imports", ["sha256"])


def downgrade() -> None:
    op.drop_table("imports")
