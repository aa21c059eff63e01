"""The embedded server beside its like, and beside one that drafts in vain, measured in turns by `audit run --beside`."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from auditor.capture.local import LocalServer, local_settings, start_local

pytestmark = pytest.mark.local
CLAIM = "schema: 1\nid: beside\ntitle: two servers\nreported: {value: 100}\n"
COUNT = "1 2 3 4 5 6 7 8 "
ENDS = {0, 3, 4}
"""Exit codes of a judged run."""


def measured(folder: Path, one: LocalServer, other: LocalServer) -> Path:
    """The folder of a run on both, of short answers."""
    (folder / "claim.yaml").write_text(CLAIM)
    (folder / "prompts.jsonl").write_text(json.dumps({"prompt": COUNT}) + "\n")
    words = ["--server", one.url, "--beside", other.url, "--prompts", str(folder / "prompts.jsonl"), "--no-suite"]
    words += ["--api", "completions", "--tokens", "16", "--repeats", "3", "--seed", "3"]
    words += [
        "--reports",
        str(folder / "r"),
        "--database",
        f"sqlite:///{folder / 'audit.db'}",
        "--json",
        "--no-canaries",
    ]
    command = [sys.executable, "-m", "auditor", "run", str(folder / "claim.yaml"), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in ENDS, done.stderr
    return Path(json.loads(done.stdout)["folder"])


def compared(run: Path, *words: str) -> dict[str, Any]:
    """What `audit compare` says of it."""
    command = [sys.executable, "-m", "auditor", "compare", str(run), "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_one_that_drafts_in_vain_is_shown_to_be_slower(tmp_path: Path, local_plain: LocalServer) -> None:
    """A draft model as large as the model itself, of whose drafts none is accepted: many times the work for a token."""
    settings = replace(
        local_settings(speculation="draft", draft_tokens=2, context=2048, parallel=2), synthetic_length=1.0
    )
    with start_local(settings, log=tmp_path / "log") as vain:
        run = measured(tmp_path, local_plain, vain)
    found = compared(run, "--out", str(tmp_path / "page.html"))
    (pair,) = found["pairs"]
    headline = pair["differences"][0]
    assert (pair["one"], pair["other"], pair["is_interleaved"], pair["repeats"]) == ("A", "B", True, 3)
    assert headline["outcome"] == "slower"
    assert headline["ratio"]["high"] < 1
    assert any(note.startswith("what differs: speculation (off, on)") for note in pair["notes"])
    assert "B is slower than A" in (tmp_path / "page.html").read_text()


def test_one_beside_its_like_is_not_shown_to_differ(tmp_path: Path, local_plain: LocalServer) -> None:
    """Among equal servers 5 % are told apart; a thousandth is far from what chance does to this test."""
    with start_local(local_settings(context=2048, parallel=2), log=tmp_path / "log") as like:
        run = measured(tmp_path, local_plain, like)
    (pair,) = compared(run)["pairs"]
    headline = pair["differences"][0]
    assert headline["p"] > 0.001
    assert "nothing that the servers tell of themselves differs" in pair["notes"]
    assert "equal" not in headline["sentence"]
