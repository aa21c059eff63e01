"""Where the database is, how it is reached, and what its errors mean in one line.

Decided: SQLite keeps its default journal rather than a write-ahead log, so that the database stays one file that can
be copied, put under version control or read from a folder without write access; transactions here are short.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Engine, NullPool, create_engine, event, make_url
from sqlalchemy.engine import Connection
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from auditor.errors import DatabaseError, UsageError

DEFAULT_FILE = "audit.db"
BUSY_S = 30.0
"""How long to wait for another process that holds the SQLite file, or what is wanted on a server."""
CONNECT_S = 10
"""How long to wait for a database server."""

_LOCKED = ("locked by another process", "wait for it to end and try again")
_WORDS = {
    "SQLITE_BUSY": _LOCKED,
    "SQLITE_LOCKED": _LOCKED,
    "55P03": _LOCKED,
    "SQLITE_NOTADB": ("not a SQLite database", "move it away or name another with --database"),
    "SQLITE_CORRUPT": ("the database is damaged", "restore a copy or move it away"),
    "SQLITE_CANTOPEN": ("cannot be opened or created", "check that its folder is there and may be written"),
    "SQLITE_READONLY": ("cannot be written", "check the permissions of the file and of its folder"),
    "SQLITE_PERM": ("cannot be written", "check the permissions of the file and of its folder"),
    "SQLITE_FULL": ("the disk is full", "free some space and try again"),
    "SQLITE_IOERR": ("the disk failed to read or write", "check the disk and free some space"),
}


@dataclass(frozen=True, slots=True)
class Place:
    """Where a database is."""

    url: URL
    """May hold a password: never print it, print `name`."""
    file: Path | None
    """Absolute path of the SQLite file; None on a database server."""
    is_default: bool
    """Whether it is the file that commands may create and upgrade unasked."""

    @property
    def name(self) -> str:
        """What people may read: the path, or the address without password and options."""
        if self.is_default:
            return DEFAULT_FILE
        if self.file is not None:
            return str(self.file)
        return self.url.set(query={}).render_as_string(hide_password=True)

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be read in a message."""
        hidden = [value for name, value in self.url.query.items() if "pass" in name.lower()]
        return tuple(str(value) for value in (self.url.password, *hidden) if value)

    @property
    def is_missing(self) -> bool:
        """Whether it is a file that is not there, or not for us to see."""
        return self.file is not None and not os.path.exists(self.file)


def locate(url: str | None) -> Place:
    """Read a database address; None is `audit.db` in the working folder. Raises UsageError."""
    default = Path(DEFAULT_FILE).absolute()
    if url is None:
        return Place(URL.create("sqlite", database=str(default)), default, is_default=True)
    parsed = _parse(url)
    if parsed.get_backend_name() != "sqlite":
        return Place(parsed, None, is_default=False)
    file = _sqlite_file(parsed)
    return Place(URL.create("sqlite", database=str(file)), file, is_default=file == default)


def _parse(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # The text is not echoed: it may hold a password.
        raise UsageError(
            "the database address cannot be read",
            remedy="write sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME",
        ) from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    try:
        dialect = url.get_dialect()
    except NoSuchModuleError:
        raise UsageError(
            f"no database of the kind {url.drivername!r} is known here", remedy="SQLite and PostgreSQL are tested"
        ) from None
    if dialect.is_async:
        raise UsageError(f"the driver of {url.drivername!r} is asynchronous", remedy="name a synchronous one")
    if "@" in (url.host or "") or (dialect.name != "sqlite" and "@" in (url.database or "")):
        raise UsageError(
            "the database address holds an '@' too many",
            remedy="write '@' and '/' in a user name or password as %40 and %2F",
        )
    return url


def _sqlite_file(url: URL) -> Path:
    if url.host:
        raise UsageError(f"sqlite://{url.host} names a host", remedy="write sqlite:///FILE, with three slashes")
    if not url.database or url.database == ":memory:":
        raise UsageError("a database in memory is lost when the command ends", remedy="write sqlite:///FILE")
    if url.query or url.database.startswith("file:") or url.drivername not in ("sqlite", "sqlite+pysqlite"):
        raise UsageError("options and other drivers are not supported for SQLite", remedy="write sqlite:///FILE")
    # os.path answers where pathlib raises: an unknown home, a folder that may not be entered.
    file = Path(os.path.expanduser(url.database)).absolute()
    if os.path.isdir(file):
        raise UsageError("a folder, not a file", where=str(file), remedy="name a file in it")
    return file


def make_engine(place: Place, *, foreign_keys: bool = True) -> Engine:
    """An engine; connections are closed after each use, so nothing is held between calls.

    `foreign_keys=False` is for migrations, which on SQLite replace whole tables. Raises DatabaseError where the
    driver is not installed.
    """
    arguments: dict[str, Any] = {}
    if place.file is not None:
        arguments = {"timeout": BUSY_S}
    elif place.url.get_backend_name() == "postgresql" and "connect_timeout" not in place.url.query:
        arguments = {"connect_timeout": CONNECT_S}
    try:
        engine = create_engine(
            place.url,
            poolclass=NullPool,
            connect_args=arguments,
            json_serializer=partial(json.dumps, allow_nan=False),
        )
    except ImportError as error:
        package = "'auditor[postgresql]'" if "psycopg" in str(error) else "the driver that it names"
        raise DatabaseError(
            f"its driver is not installed ({error})", where=place.name, remedy=f"pip install {package}"
        ) from None
    except (ArgumentError, TypeError, ValueError) as error:
        raise UsageError(_first_line(error, place), where=place.name) from None
    if place.file is not None:
        _teach_sqlite(engine, foreign_keys=foreign_keys)
    elif engine.dialect.name == "postgresql":
        _teach_postgresql(engine)
    return engine


def _teach_sqlite(engine: Engine, *, foreign_keys: bool) -> None:
    """True transactions: the driver's own start too late and leave out changes of tables."""

    @event.listens_for(engine, "connect")
    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        connection.execute(f"PRAGMA foreign_keys = {'ON' if foreign_keys else 'OFF'}").close()

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _teach_postgresql(engine: Engine) -> None:
    """Nobody waits for ever: a session that was left open within a transaction would hold an upgrade, and all after."""

    @event.listens_for(engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql(f"SET LOCAL lock_timeout = {int(BUSY_S * 1000)}")


def writing(engine: Engine) -> Engine:
    """The same engine for transactions that write: on SQLite they take their turn when they begin, not half-way."""
    return engine.execution_options(writes=True)


@contextmanager
def one_line(place: Place) -> Iterator[None]:
    """Turn what the database throws into a DatabaseError of one line, without SQL and without a password."""
    try:
        yield
    except SQLAlchemyError as error:
        raise _explain(error, place) from error
    except ValueError as error:
        # What no driver takes: half a surrogate pair in a text, NaN in a document.
        raise DatabaseError(f"a value cannot be stored: {_first_line(error, place)}", where=place.name) from error


def _explain(error: SQLAlchemyError, place: Place) -> DatabaseError:
    origin = error.orig if isinstance(error, DBAPIError) else None
    state = getattr(origin, "sqlstate", None)
    code = state or "_".join(str(getattr(origin, "sqlite_errorname", "")).split("_")[:2])
    if code in _WORDS:
        what, remedy = _WORDS[code]
        return DatabaseError(what, where=place.name, remedy=remedy)
    unreachable = place.file is None and isinstance(error, DBAPIError) and state is None
    remedy_or_none = "check the address and that the server runs" if unreachable else None
    return DatabaseError(_first_line(origin or error, place), where=place.name, remedy=remedy_or_none)


def _first_line(error: BaseException, place: Place) -> str:
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    for secret in place.secrets:
        line = line.replace(secret, "***")
    return line[:300]
