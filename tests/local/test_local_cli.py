"""`audit local`, end to end, as a user runs it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from auditor.capture.local_state import recall_url

Audit = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def audit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Audit]:
    """Runs the command line with a state folder of its own; what was left running is stopped."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    names: set[str] = set()

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        names.add(arguments[arguments.index("--name") + 1] if "--name" in arguments else "default")
        command = [sys.executable, "-c", "from auditor.cli import main; main()", "local", *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    yield run
    for name in names:
        run("stop", "--name", name)


def document(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


def test_start_status_stop(audit: Audit) -> None:
    assert audit("status").returncode == 5
    started = audit("start", "--speculation", "draft", "--draft-tokens", "2", "--context", "256", "--json")
    assert started.returncode == 0, started.stderr
    server = document(started)
    assert (server["speculation"], server["draft_tokens"]) == ("draft", 2)
    assert server["launched"]["speculation_method"] == "draft-simple"
    assert httpx.get(f"{server['url']}/slots").json()[0]["speculative"] is True

    status = document(audit("status", "--json"))
    assert (status["running"], status["pid"], status["url"]) == (True, server["pid"], server["url"])
    assert status["uptime_ns"] > 0
    assert audit("status").stdout.startswith(server["url"])
    found = recall_url(server["url"])
    assert found is not None
    assert found["launched"]["draft_tokens"] == 2

    again = audit("start")
    assert again.returncode == 2
    assert f"already runs at {server['url']}" in again.stderr

    stopped = audit("stop", "--json")
    assert document(stopped) == {"name": "default", "stopped": True, "url": server["url"]}
    with pytest.raises(httpx.ConnectError):
        httpx.get(server["url"])
    assert document(audit("status", "--json")) == {"name": "default", "running": False}
    assert audit("stop").returncode == 0


def test_two_names_are_two_servers(audit: Audit) -> None:
    one = audit("start", "--name", "one", "--context", "256")
    two = audit("start", "--name", "two", "--context", "256")
    assert one.returncode == two.returncode == 0
    assert one.stdout != two.stdout
    assert audit("stop", "--name", "one").returncode == 0
    assert httpx.get(f"{two.stdout.strip()}/health").status_code == 200


def test_a_process_that_is_not_ours_is_left_alone(audit: Audit, tmp_path: Path) -> None:
    server = document(audit("start", "--context", "256", "--json"))
    audit("stop")
    path = tmp_path / "state" / "auditor" / "local" / "default.json"
    # The number of the process was taken by another since: this one.
    path.write_text(json.dumps({**server, "pid": os.getpid()}))
    assert "no server named default runs" in audit("stop").stdout
    assert not path.exists()


@pytest.mark.parametrize("content", ["", "[]", '{"pid": "x"}', '{"pid": 1, "url": 2}'])
def test_a_damaged_state_file_is_no_server(audit: Audit, tmp_path: Path, content: str) -> None:
    path = tmp_path / "state" / "auditor" / "local" / "default.json"
    path.parent.mkdir(parents=True)
    path.write_text(content)
    assert audit("status").returncode == 5


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--gguf", __file__], 2, "not a GGUF file"),
        (["--gguf", "nowhere.gguf"], 2, "does not exist"),
        (["--draft-tokens", "2"], 2, "give --speculation draft or ngram as well"),
        (["--port", "-1"], 2, "port is -1"),
        (["--name", "../outside"], 2, "not a name for a server"),
        (["--speculation", "eagle"], 2, "eagle"),
    ],
)
def test_bad_input_is_said_in_words(audit: Audit, arguments: list[str], code: int, words: str) -> None:
    done = audit("start", *arguments)
    assert done.returncode == code
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_state_folder_that_cannot_be_written(audit: Audit, tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    done = audit("start", "--context", "256")
    assert done.returncode == 5
    assert "Not a directory" in done.stderr or "File exists" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", ["start", "stop", "status"])
def test_help_lists_the_exit_codes(audit: Audit, command: str) -> None:
    assert "Exit codes:" in audit(command, "--help").stdout
