"""A sweep over real llama.cpp servers, killed in the middle and gone on with: the right row for each way to serve."""

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from auditor.capture.gguf import find_gguf
from auditor.capture.launch import MARK
from auditor.errors import UsageError

MATRIX = """schema: 1
id: ways
title: Ways to serve
launch:
  embedded: {context: 512, parallel: 1}
  ready: {path: /health, timeout_s: 120}
  stop: {grace_s: 10}
load: {quick: true, tokens: 40, repeats: 1, canaries: false}
rows:
  - id: plain
  - {id: ngram, launch: {embedded: {speculation: ngram}}}
  - {id: draft-2, launch: {embedded: {speculation: draft, draft_tokens: 2}}}
  - {id: draft-6, launch: {embedded: {speculation: draft, draft_tokens: 6}}}
  - {id: no-start, launch: {argv: [.venv-fork/bin/vllm, serve, --port, "{port}"]}}
  - {id: garbage, launch: {embedded: {gguf: broken.gguf}}}
"""


def damaged(path: Path) -> None:
    """The model with the last twentieth of its weights in disorder: it loads, is served, and writes nonsense."""
    data = bytearray(find_gguf(None).read_bytes())
    begin, piece = len(data) * 19 // 20, 2000
    places = list(range(begin, len(data) - piece, piece))
    mixed = random.Random(1).sample(places, len(places))
    pieces = {place: bytes(data[place : place + piece]) for place in places}
    for place, other in zip(places, mixed, strict=True):
        data[place : place + piece] = pieces[other]
    path.write_bytes(data)


def marked(sweep: str) -> list[int]:
    """Processes of servers that this sweep started and that run."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.status() != psutil.STATUS_ZOMBIE and process.environ().get(MARK, "").startswith(sweep):
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def sweep(folder: Path) -> list[str]:
    command = [sys.executable, "-c", "from auditor.cli import main; main()", "sweep", str(folder / "ways.yaml")]
    return [*command, "--yes", "--json", "--reports", str(folder / "reports")]


def killed_while_measured(folder: Path, row: str) -> dict[str, Any]:
    """Begin the sweep and kill it when that row's measured requests are being sent; the state that it left."""
    with subprocess.Popen(sweep(folder), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as tool:
        assert tool.stderr is not None
        assert any(f"row {row}: ready" in line for line in tool.stderr), "it ended before that row"
        tool.send_signal(signal.SIGKILL)
    (path,) = folder.glob("reports/ways/sweep-*/state.json")
    state: dict[str, Any] = json.loads(path.read_bytes())
    return state


@pytest.mark.timeout(600)
def test_the_right_row_for_each_after_a_kill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        damaged(tmp_path / "broken.gguf")
    except UsageError as error:
        pytest.skip(str(error))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    (tmp_path / "ways.yaml").write_text(MATRIX)

    state = killed_while_measured(tmp_path, "ngram")
    assert [row["row"] for row in state["rows"]] == ["plain"]
    left = state["running"]["pid"]
    assert marked(state["sweep"]) == [left], "the server of the row outlives the tool that was killed"

    done = subprocess.run(sweep(tmp_path), capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stderr
    assert "1 of 6 rows are measured" in done.stderr
    assert not psutil.pid_exists(left) or psutil.Process(left).status() == psutil.STATUS_ZOMBIE
    assert marked(state["sweep"]) == []

    found = json.loads(done.stdout)
    assert (os.path.basename(found["folder"]), found["left"]) == (state["sweep"], [])
    rows = {row["row"]: row for row in found["rows"]}
    assert {name: row["verdict"] or row["outcome"] for name, row in rows.items()} == {
        "plain": "not-comparable",
        "ngram": "not-comparable",
        "draft-2": "not-comparable",
        "draft-6": "not-comparable",
        "no-start": "failed-to-start",
        "garbage": "invalid-output",
    }
    assert rows["plain"] == state["rows"][0], "what was measured before the kill is kept as it was"
    assert [rows[name]["speculation"] for name in ("plain", "ngram", "draft-2", "draft-6")] == [
        "off",
        "ngram-simple, k = 8",
        "draft-simple, k = 2",
        "draft-simple, k = 6",
    ]
    assert rows["plain"]["acceptance_length"] is None
    # The model as its own draft: nearly all is accepted, so a step delivers nearly k + 1 tokens.
    assert 2.5 < rows["draft-2"]["acceptance_length"] <= 3
    assert 5 < rows["draft-6"]["acceptance_length"] <= 7
    assert all(rows[name]["delivered"]["value"] > 0 for name in ("plain", "ngram", "draft-2", "draft-6"))
    assert "No such file" in rows["no-start"]["sentence"]
    assert any("not readable" in note for note in rows["garbage"]["notes"])
