"""`audit db`: what it prints, the document with --json, and the exit codes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

from auditor.cli import main
from auditor.cli.db import db
from auditor.cli.options import database_option
from auditor.db.tables import REVISION


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AUDIT_DATABASE_URL", raising=False)
    return tmp_path


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def run(*arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        output = capsys.readouterr()
        return int(ended.value.code or 0), output.out, output.err

    return run


Call = Callable[..., tuple[int, str, str]]


def document(result: tuple[int, str, str]) -> Any:
    return json.loads(result[1])


def test_upgrade_creates_then_has_nothing_to_do(call: Call, folder: Path) -> None:
    assert call("db", "upgrade") == (0, f"audit.db: upgraded from nothing to revision {REVISION}\n", "")
    assert call("db", "upgrade") == (0, f"audit.db: already at revision {REVISION}\n", "")
    assert document(call("db", "upgrade", "--json")) == {
        "after": REVISION,
        "before": REVISION,
        "copy": None,
        "database": "audit.db",
    }
    assert [path.name for path in folder.iterdir()] == ["audit.db"]


def test_status_changes_nothing(call: Call, folder: Path) -> None:
    code, out, _ = call("db", "status")
    assert (code, out) == (0, f"audit.db: missing; the next command that needs it brings it to revision {REVISION}\n")
    assert not list(folder.iterdir())
    found = document(call("db", "status", "--json"))
    assert (found["state"], found["revision"], found["usable"], found["rows"]) == ("missing", None, True, None)


def test_status_of_a_ready_database(call: Call) -> None:
    call("db", "upgrade")
    code, out, _ = call("db", "status")
    assert code == 0
    assert out == f"audit.db: at revision {REVISION}, the newest\n0 claims, 0 runs, 0 verdicts, 0 servers\n"
    result = call("db", "status", "--json")
    assert document(result)["rows"] == {"claims": 0, "runs": 0, "verdicts": 0, "servers": 0}
    assert "at revision" in result[2]


def test_status_of_another_that_is_missing(call: Call, folder: Path) -> None:
    code, out, _ = call("db", "status", "--database", "sqlite:///other.db")
    assert code == 1
    assert out == f"{folder / 'other.db'}: there is no such database; create it with `audit db upgrade`\n"
    assert document(call("db", "status", "--json", "--database", "sqlite:///other.db"))["usable"] is False


def test_path(call: Call, folder: Path) -> None:
    assert call("db", "path") == (0, f"{folder / 'audit.db'}\n", "")
    assert document(call("db", "path", "--json")) == {
        "database": "audit.db",
        "path": str(folder / "audit.db"),
        "exists": False,
    }
    address = "postgresql://me:geheim@host/name?sslpassword=secret"
    code, out, _ = call("db", "path", "--database", address)
    assert (code, out) == (0, "postgresql+psycopg://me:***@host/name\n")
    assert document(call("db", "path", "--json", "--database", address))["path"] is None


def test_address_from_the_environment_and_the_option_before_it(
    call: Call, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDIT_DATABASE_URL", "sqlite:///env.db")
    assert call("db", "path")[1] == f"{folder / 'env.db'}\n"
    assert call("db", "path", "--database", "sqlite:///option.db")[1] == f"{folder / 'option.db'}\n"
    monkeypatch.setenv("AUDIT_DATABASE_URL", "")
    assert call("db", "path")[1] == f"{folder / 'audit.db'}\n"


@pytest.mark.parametrize("command", ["upgrade", "status", "path"])
def test_bad_address_is_usage(call: Call, command: str) -> None:
    code, out, err = call("db", command, "--database", "nonsense")
    assert (code, out) == (2, "")
    assert (
        err
        == "audit: the database address cannot be read; write sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME\n"
    )
    code, out, _ = call("db", command, "--json", "--database", "nonsense")
    assert (code, json.loads(out)["exit_code"]) == (2, 2)


@pytest.mark.parametrize("command", ["upgrade", "status"])
def test_unreachable_server_is_a_failure(call: Call, command: str) -> None:
    code, out, err = call("db", command, "--database", "postgresql://me:geheim@127.0.0.1:1/x")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "Connection refused" in err
    assert "geheim" not in err


def test_every_command_has_json_and_documents_its_exit_codes() -> None:
    assert set(db.commands) == {"upgrade", "status", "path", "export", "import"}
    for command in db.commands.values():
        assert "Exit codes" in (command.epilog or "")
        assert {"as_json", "database"} <= {parameter.name for parameter in command.params}


def test_database_option_arrives_as_none() -> None:
    seen: list[str | None] = []

    @click.command()
    @database_option
    def command(database: str | None) -> None:
        seen.append(database)

    command.main([], standalone_mode=False)
    assert seen == [None]
