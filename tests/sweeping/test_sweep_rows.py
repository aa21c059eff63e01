"""`audit sweep` as a user runs it, over servers that go wrong in every way that needs no model."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from auditor.capture import launch as door
from auditor.core.sweeping.result import Sweep
from auditor.report.sweeppage import sweep_page

STUB = Path(__file__).with_name("stubserver.py")
KEY = "the-key-5f2c9d"
Audit = Callable[..., subprocess.CompletedProcess[str]]
MATRIX = f"""schema: 1
id: wrong
title: Servers that go wrong
launch:
  argv: [{sys.executable}, {STUB}, "{{port}}"]
  secrets: [STUB_KEY]
  ready: {{path: /health, timeout_s: 60}}
  stop: {{grace_s: 5}}
load: {{quick: true, tokens: 40, repeats: 1, canaries: false, ladder: [1, 2]}}
rows:
  - {{id: works}}
  - id: crashes-early
    launch: {{argv: [{sys.executable}, {STUB}, "{{port}}", "0"]}}
  - id: crashes-late
    launch: {{argv: [{sys.executable}, {STUB}, "{{port}}", "4"]}}
  - id: bad-option
    launch: {{argv: [{sys.executable}, -c, "raise SystemExit('error: unrecognised arguments: --spec')"]}}
  - id: taken
    server: {{url: "http://127.0.0.1:TAKEN"}}
  - id: late
    launch: {{argv: [{sys.executable}, -c, "input() if 0 else __import__('time').sleep(600)"], ready: {{timeout_s: 1}}}}
"""


@pytest.fixture
def audit(tmp_path: Path) -> Audit:
    """Runs the command line in a folder of its own."""
    env = {**os.environ, "COLUMNS": "300", "STUB_KEY": KEY, "XDG_STATE_HOME": str(tmp_path / "state")}
    env["XDG_DATA_HOME"] = str(tmp_path / "data")

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", "from auditor.cli import main; main()", "sweep", *arguments]
        made = {name: value for name, value in {**env, **more}.items() if value}
        return subprocess.run(
            command, capture_output=True, text=True, timeout=200, check=False, cwd=tmp_path, env=made, input=""
        )

    return run


def rows_of(done: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {row["row"]: row for row in json.loads(done.stdout)["rows"]}


def test_each_failure_is_a_row_of_its_own(audit: Audit, tmp_path: Path, serve: Callable[..., str]) -> None:
    port = serve({}).rpartition(":")[2]
    (tmp_path / "m.yaml").write_text(MATRIX.replace("TAKEN", port))
    done = audit("m.yaml", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    rows = rows_of(done)
    assert {name: (row["outcome"], row["verdict"]) for name, row in rows.items()} == {
        "works": ("judged", "inconclusive"),
        "crashes-early": ("crashed", None),
        "crashes-late": ("crashed", "inconclusive"),
        "bad-option": ("failed-to-start", None),
        "taken": ("port-taken", None),
        "late": ("never-ready", None),
    }
    assert "ended with code 3 while it was measured" in rows["crashes-late"]["sentence"]
    assert any("illegal memory access" in line for line in rows["crashes-early"]["log_lines"])
    assert rows["bad-option"]["log_lines"] == ["error: unrecognised arguments: --spec"]
    assert [rung["streams"] for rung in rows["works"]["rungs"]] == [1, 2]
    assert all(rung["complete"] == rung["sent"] for rung in rows["works"]["rungs"])

    folder = tmp_path / json.loads(done.stdout)["folder"]
    sweep = Sweep.from_json((folder / "sweep.json").read_bytes())
    assert (folder / "sweep.html").read_text() == sweep_page(sweep)
    assert "| crashes-late |" in (folder / "sweep.md").read_text()
    assert (folder / "logs" / "works.log").read_text().startswith("key ***")
    written = [path for path in (tmp_path / "reports").rglob("*") if path.is_file()]
    assert not [path for path in written if KEY.encode() in path.read_bytes()]
    run = tmp_path / "reports" / rows["works"]["run"]
    assert (run / "report.html").is_file()
    assert f'href="../../{rows["works"]["run"]}/report.html"' in (folder / "sweep.html").read_text()


def test_nothing_starts_before_the_recipes_are_agreed_to(audit: Audit, tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MATRIX.replace("TAKEN", "1"))
    done = audit("m.yaml")
    assert (done.returncode, (tmp_path / "reports").exists()) == (2, False)
    assert "the recipes above were not agreed to" in done.stderr
    assert f"{STUB} '{{port}}'" in done.stdout
    shown = audit("m.yaml", "--dry-run", "--only", "works")
    assert (shown.returncode, shown.stdout.count("  start   ")) == (0, 1)
    missing = audit("m.yaml", "--yes", STUB_KEY="")
    assert (missing.returncode, "needs the variable STUB_KEY" in missing.stderr) == (2, True)
    assert not (tmp_path / "reports").exists()


def test_a_changed_matrix_begins_only_afresh(audit: Audit, tmp_path: Path) -> None:
    text = MATRIX.replace("TAKEN", "1")
    (tmp_path / "m.yaml").write_text(text)
    assert audit("m.yaml", "--yes", "--only", "bad-option").returncode == 0
    (tmp_path / "m.yaml").write_text(text.replace("tokens: 40", "tokens: 41"))
    done = audit("m.yaml", "--yes", "--only", "late")
    assert (done.returncode, "changed since this sweep began; 1 of its rows" in done.stderr) == (2, True)
    fresh = audit("m.yaml", "--yes", "--only", "late", "--fresh", "--json")
    assert fresh.returncode == 0, fresh.stderr
    assert list(rows_of(fresh)) == ["late"]


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGHUP])
def test_an_interruption_leaves_no_process_and_no_result(tmp_path: Path, sign: signal.Signals) -> None:
    (tmp_path / "m.yaml").write_text(MATRIX.replace("TAKEN", "1").replace("timeout_s: 1}", "timeout_s: 300}"))
    command = [
        sys.executable,
        "-c",
        "from auditor.cli import main; main()",
        "sweep",
        "m.yaml",
        "--yes",
        "--only",
        "late",
    ]
    with subprocess.Popen(
        command, cwd=tmp_path, stderr=subprocess.PIPE, env={**os.environ, "STUB_KEY": KEY}, text=True
    ) as tool:
        while not (running := _running(tmp_path)):
            assert tool.poll() is None
        tool.send_signal(sign)
        assert "interrupted" in tool.communicate()[1]
    assert tool.returncode == 130
    assert not door.is_same(running["pid"], running["started_ns"])
    (path,) = tmp_path.glob("reports/wrong/sweep-*/state.json")
    state = json.loads(path.read_bytes())
    assert (state["running"], state["rows"]) == (None, [])


def _running(folder: Path) -> dict[str, Any] | None:
    """The server that a sweep has started; None before."""
    for path in folder.glob("reports/wrong/sweep-*/state.json"):
        running: dict[str, Any] | None = json.loads(path.read_bytes())["running"]
        return running if running and running["pid"] else None
    return None
