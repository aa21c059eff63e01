"""Which revision a database is at, and how it gets to the newest.

Alembic is imported only when a database is not at the newest revision. A database is never taken down a revision
here: that is for tests, by Alembic itself.
"""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path

from sqlalchemy import Engine, func, inspect, select, text
from sqlalchemy.engine import Connection

import auditor
from auditor.db.engine import Place, make_engine, one_line, writing
from auditor.db.tables import REVISION, Base
from auditor.errors import DatabaseError

_LOCK = 0x61756469_74646231
"""The lock of one PostgreSQL database: writers share it, an upgrade has it alone; any number that nobody else uses."""


class State(StrEnum):
    """How a database stands to this version of the tool."""

    MISSING = "missing"
    """There is no such file."""
    EMPTY = "empty"
    """It is there, without tables."""
    OLDER = "older"
    CURRENT = "current"
    NEWER = "newer"
    """At a revision that this version does not know."""
    FOREIGN = "foreign"
    """It holds tables that are not ours."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What a look at the database showed."""

    state: State
    revision: str | None


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What an upgrade did."""

    before: str | None
    """None where there were no tables."""
    after: str
    copy: Path | None
    """The copy of the database as it was before."""


def migrations_folder() -> Path:
    """The migrations: inside the installed package, else beside it in the checkout."""
    package = Path(auditor.__file__).parent
    for folder in (package / "_alembic", package.parent / "alembic"):
        if (folder / "env.py").is_file():
            return folder
    raise DatabaseError("the migrations are not installed", where=str(package), remedy="install the auditor again")


def condition(place: Place, engine: Engine) -> Condition:
    """Look at the database; a missing file is not created. Raises DatabaseError where it cannot be read."""
    if place.is_missing:
        return Condition(State.MISSING, None)
    with one_line(place), engine.connect() as connection:
        return _look(connection)


def prepare(place: Place, engine: Engine) -> None:
    """Make sure that the database can be used; only the default file is created or upgraded for it."""
    found = condition(place, engine)
    if found.state is State.CURRENT:
        return
    if not place.is_default:
        raise unusable(place, found)
    upgrade(place)


def upgrade(place: Place) -> Upgrade:
    """Bring the database to the newest revision, in one transaction; an older SQLite file is copied first.

    It waits for transactions that write, and they for it. Two processes that upgrade at once take turns, and the second
    finds nothing to do. Raises DatabaseError for a database from a newer version or with tables of others.
    """
    engine = make_engine(place, foreign_keys=False)
    with one_line(place), writing(engine).begin() as connection:
        _lock(connection, alone=True)
        found = _look(connection)
        if found.state is State.CURRENT:
            return Upgrade(found.revision, REVISION, None)
        if found.state in (State.NEWER, State.FOREIGN):
            raise unusable(place, found)
        copy = _keep_copy(place.file) if place.file is not None and found.state is State.OLDER else None
        _migrate(connection, REVISION)
    return Upgrade(found.revision, REVISION, copy)


def begin_writing(place: Place, connection: Connection, *, alone: bool = False) -> None:
    """Let no upgrade come between this and the end of the transaction, with `alone` no other writer either.

    Raises DatabaseError as `begin_reading` does. A SQLite file has one writer at a time from the start.
    """
    _lock(connection, alone=alone)
    begin_reading(place, connection)


def begin_reading(place: Place, connection: Connection) -> None:
    """Raises DatabaseError where the database was upgraded, or replaced, since it was opened."""
    found = _look(connection)
    if found.state is not State.CURRENT:
        raise unusable(place, found)


def _lock(connection: Connection, *, alone: bool) -> None:
    if connection.dialect.name == "postgresql":
        kind = "xact_lock" if alone else "xact_lock_shared"
        connection.execute(text(f"SELECT pg_advisory_{kind}(:lock)"), {"lock": _LOCK})


def make_at(place: Place, revision: str) -> None:
    """Make the tables of an earlier revision in a new database."""
    with one_line(place), writing(make_engine(place, foreign_keys=False)).begin() as connection:
        _migrate(connection, revision)


def count_rows(place: Place, engine: Engine) -> dict[str, int]:
    """How many claims, runs, verdicts and servers it holds."""
    counted = ("claims", "runs", "verdicts", "servers")
    with one_line(place), engine.connect() as connection:
        return {
            name: connection.scalar(select(func.count()).select_from(Base.metadata.tables[name])) or 0
            for name in counted
        }


def unusable(place: Place, found: Condition) -> DatabaseError:
    """Why a database in this state cannot be used, and what to do."""
    what, remedy = {
        State.MISSING: ("there is no such database", "create it with `audit db upgrade`"),
        State.EMPTY: ("the database has no tables yet", "create them with `audit db upgrade`"),
        State.OLDER: (
            f"the database is at revision {found.revision}, this version needs {REVISION}",
            "run `audit db upgrade`",
        ),
        State.NEWER: (
            f"the database is at revision {found.revision}, this version knows none after {REVISION}",
            "upgrade the auditor",
        ),
        State.FOREIGN: ("the database holds tables of another program", "name another with --database"),
    }[found.state]
    return DatabaseError(what, where=place.name, remedy=remedy)


def _look(connection: Connection) -> Condition:
    tables = set(inspect(connection).get_table_names())
    revision = None
    if "alembic_version" in tables:
        revision = connection.execute(text("SELECT max(version_num) FROM alembic_version")).scalar()
    if revision is None:
        # On a server other programs may live beside ours; a file belongs to one.
        others = tables - {"alembic_version"}
        if connection.dialect.name != "sqlite":
            others &= set(Base.metadata.tables)
        return Condition(State.FOREIGN if others else State.EMPTY, None)
    if revision == REVISION:
        return Condition(State.CURRENT, revision)
    return Condition(State.OLDER if revision in known_revisions() else State.NEWER, revision)


@cache
def known_revisions() -> frozenset[str]:
    """Those that this version can bring to the newest."""
    from alembic.script import ScriptDirectory

    return frozenset(script.revision for script in ScriptDirectory(str(migrations_folder())).walk_revisions())


def _keep_copy(file: Path) -> Path:
    """Copy the database beside itself, never over an earlier copy; whole or not at all."""
    copy = file.with_name(f"{file.name}.before-{REVISION}")
    number = 1
    while copy.exists():
        number += 1
        copy = file.with_name(f"{file.name}.before-{REVISION}-{number}")
    half = copy.with_name(copy.name + ".half")
    try:
        half.unlink(missing_ok=True)
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(half)) as target:
            source.backup(target)
        half.rename(copy)
    except (OSError, sqlite3.Error) as error:
        half.unlink(missing_ok=True)
        raise DatabaseError(
            f"no copy can be kept before the upgrade ({error})",
            where=str(copy),
            remedy="nothing was changed; make room or give the folder write access",
        ) from error
    return copy


def _migrate(connection: Connection, revision: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(migrations_folder()).replace("%", "%%"))
    command.upgrade(config, revision)
