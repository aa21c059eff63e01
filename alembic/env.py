"""Runs the migrations.

The tool and the tests pass a connection or an engine in. From the `alembic` command, for whoever writes a migration,
it is the database that AUDIT_DATABASE_URL names, else `audit.db`.
"""

import os

from alembic import context
from sqlalchemy import Connection, Engine

from auditor.db.engine import locate, make_engine, writing
from auditor.db.tables import Base


def run(connection: Connection) -> None:
    """Everything in the transaction that the caller began."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_as_batch=True,
        compare_server_default=True,
    )
    with context.begin_transaction():
        context.run_migrations()


if context.is_offline_mode():
    raise SystemExit("migrations look at the database; run them without --sql")

given = context.config.attributes.get("connection")
if isinstance(given, Connection):
    run(given)
else:
    engine = (
        given
        if isinstance(given, Engine)
        else make_engine(locate(os.environ.get("AUDIT_DATABASE_URL")), foreign_keys=False)
    )
    with writing(engine).begin() as opened:
        run(opened)
