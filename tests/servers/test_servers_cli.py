"""`audit servers` says what the adapters say."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from auditor.cli.root import root
from auditor.servers import load_adapters

ADAPTERS = load_adapters()


@pytest.mark.usefixtures("wide")
def test_every_kind_is_listed_with_whether_it_was_seen_live() -> None:
    lines = CliRunner().invoke(root, ["servers"], catch_exceptions=False).output.splitlines()
    assert [line.split()[0] for line in lines] == list(ADAPTERS)
    for line, adapter in zip(lines, ADAPTERS.values(), strict=True):
        assert ("not seen live" in line) == (adapter.seen_live is None)


@pytest.mark.usefixtures("wide")
def test_one_kind_in_full() -> None:
    shown = CliRunner().invoke(root, ["servers", "tgi"], catch_exceptions=False).output
    assert "APIs: chat, completions, native" in shown
    for note in ADAPTERS["tgi"].notes.values():
        assert note.why in shown


def test_the_document_holds_every_note() -> None:
    document = json.loads(CliRunner().invoke(root, ["servers", "--json"], catch_exceptions=False).stdout)
    assert [one["name"] for one in document] == list(ADAPTERS)
    found = {one["name"]: one for one in document}["lmstudio"]
    assert found["notes"]["gpu"] == {"kind": "absent", "why": ADAPTERS["lmstudio"].notes["gpu"].why}
    assert found["seen_live"] is None


def test_a_kind_that_is_not_known_is_a_line() -> None:
    audit = Path(sys.executable).with_name("audit")
    ended = subprocess.run([audit, "servers", "nope"], capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("audit: no kind of server is called nope; give one of: dynamo, ")
    assert ended.stderr.count("\n") == 1
