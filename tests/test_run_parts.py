"""The parts of `audit run` that can be left out, and what the run notes and says of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from auditor.cli.root import root

CLAIM = "schema: 1\nid: small\ntitle: small\nengine: {name: any, env: {SGLANG_SIMULATE_ACC_LEN: '3'}}\n"
CLAIM += "reported: {value: 100}\n"


def run(folder: Path, *words: str) -> tuple[int, str, str]:
    claim = folder / "claim.yaml"
    claim.write_text(CLAIM)
    where = ["--reports", str(folder / "r"), "--database", f"sqlite:///{folder / 'a.db'}"]
    done = CliRunner().invoke(root, ["run", str(claim), *words, *where], standalone_mode=False)
    code = done.exception.exit_code if hasattr(done.exception, "exit_code") else done.return_value
    return code, done.stdout, str(done.exception or "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--no-server-log", "--server-log", "x.log"), "--server-log and --no-server-log are given"),
        (("--no-recount", "--tokenizer", "x"), "--tokenizer and --no-recount are given"),
    ],
)
def test_a_part_is_not_asked_for_and_left_out(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    assert said in run(tmp_path, "--server", "http://127.0.0.1:1", *words)[2]


def parts(document: dict[str, Any]) -> dict[str, str]:
    return {one["part"]: one["why"] for one in document["not_looked_at"]}


@pytest.mark.local
def test_what_is_left_out_is_not_done_and_is_said(tmp_path: Path, local_plain) -> None:
    short = ("--server", local_plain.url, "--tokens", "8", "--repeats", "1", "--quick", "--json")
    off = ("--no-recount", "--no-counters", "--no-traps", "--no-telemetry")
    _, out, _ = run(tmp_path, *short, *off)
    document = json.loads(out)
    found, folder = parts(document), Path(document["folder"])
    assert found["the server's counters"] == "--no-counters was given"
    assert found["known traps"] == "--no-traps was given"
    assert found["GPUs during the run"] == "--no-telemetry was given"
    assert found["GPUs of the server"] == "none of --nvml, --ssh, --gpu-xml and --exporter was given"
    assert found["the server's own log"] == "no --server-log was given"
    assert found["the text, tokenised again by an independent tokenizer"] == "--no-recount was given"
    assert found["the same load without speculation"] == "no --pair was given"
    assert not (folder / "recount.json").exists()
    assert (folder / "metrics.jsonl").read_bytes() == b""
    findings = {one["id"]: one for one in document["findings"]}
    assert not [name for name in findings if name.startswith("trap")]
    assert findings["stated-acceptance"]["outcome"] == "fails"
    _, out, _ = run(tmp_path, *short)
    whole = json.loads(out)
    assert "the server's counters" not in parts(whole)
    assert "traps" in {one["id"] for one in whole["findings"]}
    assert (Path(whole["folder"]) / "recount.json").exists()
    assert (Path(whole["folder"]) / "metrics.jsonl").read_bytes()
