"""An upgrade while another client has the database open, or is writing."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, text

from auditor.db import engine as engine_module
from auditor.db.engine import locate, make_engine, writing
from auditor.db.migrate import begin_writing, upgrade
from auditor.db.store import Store, open_store
from auditor.db.tables import REVISION
from auditor.errors import DatabaseError

Run = Callable[..., "subprocess.CompletedProcess[str]"]
NEWER = f"the database is at revision 9999, this version knows none after {REVISION}; upgrade the auditor"

IMPATIENT = "from auditor.db import engine; engine.BUSY_S = 0.1; from auditor.cli import main; main()"
"""`audit` that waits for a moment only."""


def add(store: Store, claim_id: str = "late") -> None:
    store.add_claim(claim_id=claim_id, title="t", text="x", digest="d", added_ns=1)


def test_open_store_neither_reads_nor_writes_what_a_newer_version_upgraded(
    database_url: str, audit: Run, tomorrow: Path, python: Run
) -> None:
    with open_store(database_url) as store:
        add(store, "before")
        assert audit("db", "upgrade", "--database", database_url, package=tomorrow).returncode == 0
        calls: tuple[Callable[[], Any], ...] = (lambda: add(store), store.runs, store.claims)
        for call in calls:
            with pytest.raises(DatabaseError) as caught:
                call()
            assert str(caught.value).endswith(NEWER)
    names = "import sys; from auditor.db.store import open_store; print(open_store(sys.argv[1]).claims()[0].claim_id)"
    assert python(names, database_url, package=tomorrow).stdout == "before\n"


def test_upgrade_waits_for_a_transaction_that_writes(
    database_url: str, tomorrow: Path, audit: Run, python: Run
) -> None:
    """Beside an open write an upgrade gives up in one line and changes nothing; after it, it finds the row."""
    place, engine = locate(database_url), make_engine(locate(database_url))
    row = text("INSERT INTO claims (claim_id, current, added_ns) VALUES ('open', 1, 1)")
    with writing(engine).begin() as connection:
        begin_writing(place, connection)
        connection.execute(row)
        late = python(IMPATIENT, "db", "upgrade", "--database", database_url, package=tomorrow)
        assert late.returncode == 1
        assert late.stderr.endswith("locked by another process; wait for it to end and try again\n")
        assert late.stderr.count("\n") == 1
    assert _claims(engine) == [("open",)]
    with engine.connect() as connection:
        assert connection.scalar(text("SELECT version_num FROM alembic_version")) == REVISION
    assert audit("db", "upgrade", "--database", database_url, package=tomorrow).returncode == 0
    assert _claims(engine) == [("open",)]


def test_writer_waits_for_an_upgrade(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, engine = locate(database_url), make_engine(locate(database_url))
    with open_store(database_url) as store:
        with writing(engine).begin() as connection:
            begin_writing(place, connection, alone=True)
            monkeypatch.setattr(engine_module, "BUSY_S", 0.05)
            with pytest.raises(DatabaseError) as caught, open_store(database_url) as impatient:
                add(impatient)
            assert str(caught.value).endswith("locked by another process; wait for it to end and try again")
        add(store)
        assert [claim.claim_id for claim in store.claims()] == ["late"]
    assert upgrade(place).before == REVISION


def _claims(engine: Engine) -> list[Any]:
    with engine.connect() as connection:
        return [tuple(row) for row in connection.execute(text("SELECT claim_id FROM claims"))]
