"""Databases to test against: SQLite files, and a real PostgreSQL that the tests start themselves.

The server's programs come from the wheel pgserver or from Debian's packages. The wheel's own Python side is not used:
as root it would add a user account and open every folder above the data to all, which is not for a test to do.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Engine, NullPool, create_engine, make_url, text

from auditor.db.engine import locate, make_engine
from auditor.db.migrate import migrations_folder, upgrade
from auditor.db.tables import REVISION

_numbers = count(1)
_HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[URL]:
    """A PostgreSQL of our own on a socket in a temporary folder."""
    base = Path(tempfile.mkdtemp(prefix="audit-pg-"))
    account: dict[str, Any] = {}
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        nobody = pwd.getpwnam("nobody")
        account = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        os.chown(base, nobody.pw_uid, nobody.pw_gid)
    data = base / "data"
    failures = []
    try:
        for programs in _programs(base):
            try:
                _start(programs, base, data, account)
            except (OSError, subprocess.SubprocessError) as error:
                failures.append(f"{programs}: {getattr(error, 'stdout', None) or error}")
                shutil.rmtree(data, ignore_errors=True)
                continue
            yield URL.create("postgresql+psycopg", username="postgres", database="postgres", query={"host": str(base)})
            _call([programs / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop"], base, account)
            return
        pytest.skip(
            "no PostgreSQL: neither the wheel pgserver nor Debian's postgresql runs here " + "; ".join(failures)
        )
    finally:
        shutil.rmtree(base, ignore_errors=True)


def _programs(base: Path) -> Iterator[Path]:
    """Folders with initdb and pg_ctl."""
    wheel = importlib.util.find_spec("pgserver")
    if wheel is not None and wheel.submodule_search_locations:
        folder = Path(wheel.submodule_search_locations[0])
        if os.geteuid() == 0:
            # The environment may lie where `nobody` cannot reach it.
            for part in (folder / "pginstall", folder.with_name("pgserver.libs")):
                shutil.copytree(part, base / "programs" / part.relative_to(folder.parent))
            folder = base / "programs" / "pgserver"
        yield folder / "pginstall" / "bin"
    yield from sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)


def _start(programs: Path, base: Path, data: Path, account: dict[str, Any]) -> None:
    _call([programs / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N"], base, account)
    options = f"-c listen_addresses='' -c fsync=off -k {base}"
    _call([programs / "pg_ctl", "-D", data, "-l", data / "log", "-o", options, "-w", "start"], base, account)


def _call(command: list[Any], folder: Path, account: dict[str, Any]) -> None:
    # The server inherits the output, so a pipe would never close.
    with tempfile.TemporaryFile("w+") as output:
        try:
            subprocess.run(
                command,
                check=True,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=60,
                **account,
            )
        except subprocess.CalledProcessError as error:
            output.seek(0)
            error.stdout = output.read().strip()
            raise


@pytest.fixture
def postgresql_url(postgresql_server: URL) -> Iterator[str]:
    """The address of a new, empty PostgreSQL database."""
    name = f"audit_{next(_numbers)}"
    admin = create_engine(postgresql_server, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield postgresql_server.set(database=name).render_as_string(hide_password=False)
    with admin.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.postgresql)])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of a database without tables: SQLite, then PostgreSQL."""
    if request.param == "postgresql":
        return str(request.getfixturevalue("postgresql_url"))
    return f"sqlite:///{tmp_path / 'empty.db'}"


@pytest.fixture
def database_url(empty_url: str) -> str:
    """The address of a database at the newest revision."""
    upgrade(locate(empty_url))
    return empty_url


@pytest.fixture
def engine(database_url: str) -> Engine:
    """To look at the rows themselves."""
    return make_engine(locate(database_url))


def is_postgresql(url: str) -> bool:
    return make_url(url).get_backend_name() == "postgresql"


Process = subprocess.CompletedProcess[str]


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., Process]:
    """Runs a script as a process of its own, in the test's folder; `package` holds the auditor to use instead."""

    def call(script: str, *arguments: str, package: Path | None = None) -> Process:
        environment = {name: value for name, value in os.environ.items() if name != "AUDIT_DATABASE_URL"}
        if package is not None:
            environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(package), os.environ.get("PYTHONPATH")]))
        command = [sys.executable, "-c", script, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    return call


@pytest.fixture
def audit(python: Callable[..., Process]) -> Callable[..., Process]:
    """Runs `audit` as a process of its own."""
    return partial(python, "from auditor.cli import main; main()")


@pytest.fixture(scope="session")
def tomorrow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The auditor as a later version would be: the same with one migration more, laid out as when installed."""
    import auditor

    home = tmp_path_factory.mktemp("tomorrow")
    skip = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(auditor.__file__).parent, home / "auditor", ignore=skip)
    shutil.copytree(migrations_folder(), home / "auditor" / "_alembic", ignore=skip)
    migration = (_HERE / "tomorrow.txt").read_text(encoding="utf-8").replace("TODAY", REVISION)
    (home / "auditor" / "_alembic" / "versions" / "9999_tomorrow.py").write_text(migration, encoding="utf-8")
    tables = home / "auditor" / "db" / "tables.py"
    source = tables.read_text(encoding="utf-8")
    partial = "    partial: Mapped[bool]\n"
    for before, after in (
        (f'REVISION = "{REVISION}"', 'REVISION = "9999"'),
        (partial, partial + "    reviewer: Mapped[str | None] = mapped_column(Text)\n"),
    ):
        assert before in source
        source = source.replace(before, after)
    tables.write_text(source, encoding="utf-8")
    return home
