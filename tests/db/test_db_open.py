"""Opening a database: what is made ready unasked, what is refused, and in which words."""

import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url, text

from auditor.db import engine as engine_module
from auditor.db.engine import locate, make_engine
from auditor.db.migrate import upgrade
from auditor.db.rows import ExchangeRow, RunRow
from auditor.db.store import open_store
from auditor.db.tables import REVISION
from auditor.errors import DatabaseError, UsageError

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(url: str | None) -> str:
    with pytest.raises(DatabaseError) as caught, open_store(url):
        pass
    assert "\n" not in str(caught.value)
    return str(caught.value)


def fill(url: str | None) -> None:
    """A claim with a run in it."""
    with open_store(url) as store:
        store.add_claim(claim_id="fork", title="t", text="x", digest="d", added_ns=1)
        store.save_run(RunRow("run", "fork", 1, "p", "f", 1), exchanges=[ExchangeRow(1, "code", "complete")])


@pytest.mark.parametrize("url", [None, "sqlite:///audit.db", "sqlite:///./audit.db"])
def test_default_file_is_created_on_first_use(folder: Path, url: str | None) -> None:
    with open_store(url) as store:
        assert store.claims() == []
        assert store.name == "audit.db"
    assert sorted(path.name for path in folder.iterdir()) == ["audit.db"]


def test_default_file_left_empty_by_a_crash_is_filled(folder: Path) -> None:
    (folder / "audit.db").touch()
    with open_store(None) as store:
        assert store.runs() == []
    assert not list(folder.glob("audit.db.before-*"))


def test_default_stays_where_it_was_opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_store(None) as store:
        (folder / "elsewhere").mkdir()
        monkeypatch.chdir(folder / "elsewhere")
        store.add_claim(claim_id="fork", title="t", text="x", digest="d", added_ns=1)
    assert not list((folder / "elsewhere").iterdir())


def test_other_file_is_not_created(folder: Path) -> None:
    assert "there is no such database; create it with `audit db upgrade`" in refused("sqlite:///other.db")
    assert not list(folder.iterdir())


def test_other_database_without_tables_is_not_filled(empty_url: str) -> None:
    place = locate(empty_url)
    if place.file is not None:
        place.file.touch()
    assert "no tables yet; create them with `audit db upgrade`" in refused(empty_url)
    upgrade(place)
    with open_store(empty_url) as store:
        assert store.claims() == []


def test_older_default_is_upgraded_after_a_copy(folder: Path, audit: Run, tomorrow: Path) -> None:
    fill(None)
    for kept in ("audit.db.before-9999", "audit.db.before-9999-2"):
        shutil.copy("audit.db", "old.db")
        done = audit("db", "upgrade", package=tomorrow)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.splitlines() == [
            f"audit.db: upgraded from {REVISION} to revision 9999",
            f"copy of the database as it was: {folder / kept}",
        ]
        with closing(sqlite3.connect(kept)) as copy:
            assert copy.execute("SELECT version_num FROM alembic_version").fetchall() == [(REVISION,)]
            assert copy.execute("SELECT run_id FROM runs").fetchall() == [("run",)]
        with closing(sqlite3.connect("audit.db")) as new:
            assert new.execute("SELECT run_id, reviewer FROM runs").fetchall() == [("run", None)]
            assert new.execute("SELECT run_id FROM exchanges").fetchall() == [("run",)]
            assert new.execute("PRAGMA foreign_key_check").fetchall() == []
        shutil.move("old.db", "audit.db")


def test_older_default_is_upgraded_by_the_first_use(folder: Path, python: Run, tomorrow: Path) -> None:
    fill(None)
    use = "from auditor.db.store import open_store\nwith open_store(None) as store: print(len(store.runs()))"
    done = python(use, package=tomorrow)
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")
    assert (folder / "audit.db.before-9999").exists()


def test_older_other_database_is_upgraded_only_when_told(
    database_url: str, folder: Path, audit: Run, python: Run, tomorrow: Path
) -> None:
    fill(database_url)
    words = f"is at revision {REVISION}, this version needs 9999; run `audit db upgrade`"
    status = audit("db", "status", "--database", database_url, package=tomorrow)
    assert status.returncode == 1
    assert words in status.stdout
    use = "import sys; from auditor.db.store import open_store; open_store(sys.argv[1])"
    assert words in python(use, database_url, package=tomorrow).stderr
    assert not list(folder.glob("*.before-*"))
    assert audit("db", "upgrade", "--database", database_url, package=tomorrow).returncode == 0
    assert len(list(folder.glob("*.before-9999"))) == (1 if locate(database_url).file else 0)
    assert audit("db", "status", "--database", database_url, package=tomorrow).returncode == 0


def test_newer_database_is_refused(database_url: str, audit: Run, tomorrow: Path) -> None:
    assert audit("db", "upgrade", "--database", database_url, package=tomorrow).returncode == 0
    words = f"is at revision 9999, this version knows none after {REVISION}; upgrade the auditor"
    assert words in refused(database_url)
    with pytest.raises(DatabaseError, match=words):
        upgrade(locate(database_url))


def test_newer_default_is_refused_and_left_alone(folder: Path, audit: Run, tomorrow: Path) -> None:
    assert audit("db", "upgrade", package=tomorrow).returncode == 0
    before = (folder / "audit.db").read_bytes()
    assert "audit.db: the database is at revision 9999" in refused(None)
    assert (folder / "audit.db").read_bytes() == before
    assert [path.name for path in folder.iterdir()] == ["audit.db"]


def test_upgrade_that_fails_changes_nothing(
    folder: Path, audit: Run, tomorrow: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    broken = tmp_path_factory.mktemp("broken") / "tool"
    shutil.copytree(tomorrow, broken)
    script = broken / "auditor" / "_alembic" / "versions" / "9999_tomorrow.py"
    with script.open("a") as more:
        more.write(
            "\n\ndef upgrade() -> None:\n    op.drop_table('artefacts')\n    op.execute('SELECT * FROM nowhere')\n"
        )
    fill(None)
    done = audit("db", "upgrade", package=broken)
    assert done.returncode == 1
    assert done.stderr == "audit: audit.db: no such table: nowhere\n"
    with open_store(None) as store:
        assert [run.run_id for run in store.runs()] == ["run"]


def test_database_of_another_program_is_refused(folder: Path) -> None:
    with closing(sqlite3.connect("audit.db")) as other:
        other.execute("CREATE TABLE songs (name TEXT)")
    assert refused(None) == "audit.db: the database holds tables of another program; name another with --database"
    with pytest.raises(DatabaseError, match="tables of another program"):
        upgrade(locate(None))


@pytest.mark.postgresql
def test_other_programs_may_share_a_server(postgresql_url: str) -> None:
    engine = make_engine(locate(postgresql_url))
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE songs (name TEXT)"))
    upgrade(locate(postgresql_url))
    with open_store(postgresql_url) as store:
        assert store.claims() == []


def test_locked_file_is_said_in_one_line(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(None)
    monkeypatch.setattr(engine_module, "BUSY_S", 0.05)
    with open_store(None) as store, closing(sqlite3.connect("audit.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        locked = "audit.db: locked by another process; wait for it to end and try again"
        with pytest.raises(DatabaseError) as caught:
            store.add_claim(claim_id="late", title="t", text="x", digest="d", added_ns=1)
        assert str(caught.value) == locked
        assert refused(None) == locked
        other.execute("ROLLBACK")
        assert store.add_claim(claim_id="late", title="t", text="x", digest="d", added_ns=1).is_new


def test_open_store_holds_no_lock(folder: Path) -> None:
    fill(None)
    with open_store(None) as store:
        assert len(store.runs()) == 1
        with closing(sqlite3.connect("audit.db", isolation_level=None, timeout=0)) as other:
            other.execute("BEGIN EXCLUSIVE")


def test_not_a_database(folder: Path) -> None:
    (folder / "audit.db").write_text("id: fork\n" * 200)
    assert refused(None) == "audit.db: not a SQLite database; move it away or name another with --database"
    assert (folder / "audit.db").read_text() == "id: fork\n" * 200


def test_folder_that_is_not_there(folder: Path) -> None:
    with pytest.raises(DatabaseError, match="cannot be opened or created; check that its folder is there"):
        upgrade(locate("sqlite:///nowhere/audit.db"))


@pytest.mark.parametrize("file", ["x" * 300, "~no-such-user/audit.db", "audit.db/audit.db"])
def test_path_that_cannot_be(folder: Path, file: str) -> None:
    (folder / "audit.db").touch()
    assert "there is no such database" in refused(f"sqlite:///{file}")
    with pytest.raises(DatabaseError, match="cannot be opened or created"):
        upgrade(locate(f"sqlite:///{file}"))


def test_without_permission(python: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an account that may not write here, for root may everything."""
    use = """
import os, sys
from auditor.db.store import open_store
def use():
    with open_store(None) as store:
        print(len(store.runs()))
        try: store.add_claim(claim_id=f"by {os.getuid()}", title="t", text="x", digest="d", added_ns=1)
        except Exception as error: print(error)
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    use()  # so that all is imported from where only root may read
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
use()
"""
    with tempfile.TemporaryDirectory() as place:
        monkeypatch.chdir(place)
        fill(None)
        Path("audit.db").chmod(0o444)
        Path(place).chmod(0o755)
        done = python(use, place)
        monkeypatch.undo()
    words = "audit.db: cannot be written; check the permissions of the file and of its folder"
    assert done.stdout.splitlines()[-2:] == ["1", words], done.stderr


SECRET = "geheim-77"


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://me:{SECRET}@127.0.0.1:1/audit",
        f"postgresql://me@127.0.0.1:1/audit?password={SECRET}",
        f"postgres://me:{SECRET}@nowhere.invalid/audit",
        f"postgresql://me:{SECRET}@127.0.0.1:1/audit?no_such_option=1",
    ],
)
def test_server_out_of_reach_is_said_without_the_password(url: str) -> None:
    words = refused(url)
    assert SECRET not in words
    assert words.endswith("check the address and that the server runs")
    place = locate(url)
    assert SECRET not in place.name
    assert SECRET in place.secrets


@pytest.mark.postgresql
def test_unknown_database_on_the_server(postgresql_url: str) -> None:
    assert 'database "nosuch" does not exist' in refused(str(make_url(postgresql_url).set(database="nosuch")))


def test_driver_that_is_not_installed() -> None:
    words = refused(f"postgresql+pg8000://me:{SECRET}@host/audit")
    assert "its driver is not installed (No module named 'pg8000')" in words
    assert SECRET not in words


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("audit2.db", "cannot be read; write sqlite:///FILE"),
        (f"me:{SECRET}@host", "cannot be read"),
        (f"postgresql://me:{SECRET}@host:port/x", "cannot be read"),
        (f"postgresql://me:{SECRET}/@k@host/x", "an '@' too many"),
        (f"postgresql://m/e:{SECRET}@host/x", "an '@' too many"),
        ("nosuch://host/x", "no database of the kind 'nosuch'"),
        ("sqlite://", "in memory is lost"),
        ("sqlite:///:memory:", "in memory is lost"),
        ("sqlite://audit.db", "three slashes"),
        ("sqlite:///file:audit.db?mode=ro&uri=true", "not supported for SQLite"),
        ("sqlite+aiosqlite:///audit.db", "asynchronous"),
        ("postgresql+asyncpg://host/x", "asynchronous"),
        ("sqlite:///.", "a folder, not a file"),
    ],
)
def test_bad_address_is_a_usage_error(url: str, words: str, folder: Path) -> None:
    with pytest.raises(UsageError) as caught:
        open_store(url)
    assert words in str(caught.value)
    assert SECRET not in str(caught.value)
    assert not list(folder.iterdir())


def test_migrations_missing_from_the_installation(
    tomorrow: Path, folder: Path, audit: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    torn = tmp_path_factory.mktemp("torn") / "tool"
    shutil.copytree(tomorrow, torn, ignore=shutil.ignore_patterns("_alembic"))
    done = audit("db", "upgrade", package=torn)
    assert done.returncode == 1
    assert "the migrations are not installed" in done.stderr
