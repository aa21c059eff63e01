"""What the hardware of the server does to a run: facts, comparison, findings, and the file that is kept."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from runs import Cells, make_run, recording

from auditor.audit import judge_folder
from auditor.capture.hardware import read_file
from auditor.core.facts import ServerFacts, known
from auditor.core.folder import HARDWARE, VERDICT
from auditor.core.hardware.judged import with_hardware
from auditor.core.judging.verdict import Finding
from auditor.errors import EvidenceError
from auditor.terms import Match, Outcome, VerdictKind

PLAIN = recording("vllm-0.24-h200", "plain.chat")
CELLS = Cells(subject=((PLAIN,), (PLAIN,)))
CLAIM = """\
schema: 1
id: recorded
title: A number for four cards
hardware: {gpu: "GPU", count: COUNT}
reported: {value: 100, basis: decode, streams: 1}
"""
WS = "RTX PRO 6000 Blackwell Workstation Edition"


def server(**facts: object) -> ServerFacts:
    answers = {name: known(value, "GET /server_info") for name, value in facts.items()}
    return ServerFacts(key="subject", url="http://a", kind="vllm", kind_reason="", model="m", facts=answers)


@pytest.fixture
def judged(data: Path, tmp_path: Path):
    """The verdict of a recorded run whose server has these GPUs, for a claim about those."""

    def make(name: str, claimed: str, count: int = 1, **told: object):
        found = read_file(data / "hardware" / f"{name}.xml")
        facts = with_hardware(server(**told), found).facts
        folder = make_run(
            tmp_path / name, CELLS, claim=CLAIM.replace("GPU", claimed).replace("COUNT", str(count)), facts=facts
        )
        (folder / HARDWARE).write_bytes(found.to_json())
        return judge_folder(folder)

    return make


def finding(result, name: str) -> Finding:
    return next(one for one in result.verdict.findings if one.id == name)


def test_another_architecture_is_another_thing(judged) -> None:
    result = judged("h200", WS)
    said = finding(result, "hardware")
    assert said.outcome is Outcome.FAILS
    assert said.sentence.startswith("SM90 is not SM120: NVIDIA H200 serves")
    assert result.verdict.kind is VerdictKind.NOT_COMPARABLE
    row = next(row for row in result.verdict.comparisons if row.field == "GPU")
    assert (row.match, row.source) == (Match.DIFFERS, "saved nvidia-smi -q -x")
    assert "hardware.json" in json.loads((result.folder / "manifest.json").read_bytes())
    assert said.sentence in (result.folder / "report.html").read_text()


@pytest.mark.parametrize(("name", "architecture"), [("b200", "SM100"), ("gb10", "SM121")])
def test_neither_a_b200_nor_a_gb10_is_sm120(judged, name: str, architecture: str) -> None:
    assert finding(judged(name, WS), "hardware").sentence.startswith(f"{architecture} is not SM120")


def test_the_same_architecture_on_another_edition(judged) -> None:
    said = finding(judged("pro6000-maxq", WS), "hardware")
    assert said.outcome is Outcome.FAILS
    assert "the architecture is SM120 as claimed, the card is another" in said.sentence


@pytest.mark.parametrize("claimed", [WS, "RTX PRO 6000"])
def test_the_claimed_card(judged, claimed: str) -> None:
    result = judged("pro6000-ws", claimed)
    assert finding(result, "hardware").outcome is Outcome.HOLDS
    assert "1,711 GB/s of 1,792" in finding(result, "hardware-clocks").sentence
    row = next(row for row in result.verdict.comparisons if row.field == "GPU")
    assert row.match is (Match.EQUAL if claimed == WS else Match.UNKNOWN)


def test_the_number_of_gpus_is_that_which_holds_memory(data: Path, judged) -> None:
    result = judged("pro6000-server-x4", "RTX PRO 6000 Blackwell Server Edition", 4)
    row = next(row for row in result.verdict.comparisons if row.field == "number of GPUs")
    assert (row.observed, row.match) == ("4", Match.EQUAL)
    found = read_file(data / "hardware" / "pro6000-server-x4.xml")
    idle = found.gpus[3].model_copy(update={"facts": {**found.gpus[3].facts, "memory_used_mib": known(4, "x")}})
    three = with_hardware(server(), found.model_copy(update={"gpus": (*found.gpus[:3], idle)}))
    assert three.value("gpu_count") == 3
    assert "3 of 4 hold memory" in three.facts["gpu_count"].source


def test_what_the_server_says_goes_before_and_is_compared(judged) -> None:
    said = finding(judged("pro6000-ws", WS, gpu="NVIDIA H200"), "hardware-is-servers")
    assert said.outcome is Outcome.FAILS
    assert "the server names NVIDIA H200 (GET /server_info)" in said.sentence


def test_a_run_without_hardware_facts_says_nothing_of_them(tmp_path: Path) -> None:
    result = judge_folder(make_run(tmp_path / "run", CELLS))
    assert not [one for one in result.verdict.findings if one.id.startswith("hardware")]


def test_judged_again_the_same_and_damage_is_named(judged, tmp_path: Path) -> None:
    result = judged("pro6000-ws", WS)
    before = (result.folder / VERDICT).read_bytes()
    copy = tmp_path / "copy"
    shutil.copytree(result.folder, copy)
    judge_folder(copy)
    assert (copy / VERDICT).read_bytes() == before
    (copy / HARDWARE).write_text("{}")
    (copy / "manifest.json").unlink()
    with pytest.raises(EvidenceError, match=r"hardware\.json: is damaged"):
        judge_folder(copy)


def audit(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "auditor", *words]
    return subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin"}, check=False)


@pytest.mark.local
def test_a_live_run_keeps_what_it_was_given(data: Path, tmp_path: Path, local_plain) -> None:
    claim = tmp_path / "claim.yaml"
    claim.write_text(CLAIM.replace("GPU", WS).replace("COUNT", "1"))
    words = ["--server", local_plain.url, "--tokens", "8", "--repeats", "1", "--quick", "--json"]
    words += ["--gpu-xml", str(data / "hardware" / "h200.xml"), "--reports", str(tmp_path / "r")]
    done = audit("run", str(claim), *words, "--no-canaries", "--database", f"sqlite:///{tmp_path / 'a.db'}")
    assert done.returncode == 4, done.stderr
    verdict = json.loads(done.stdout)
    assert "SM90 is not SM120" in next(one for one in verdict["findings"] if one["id"] == "hardware")["sentence"]
    kept = json.loads((Path(verdict["folder"]) / HARDWARE).read_bytes())
    assert kept["gpus"][0]["facts"]["product"]["value"] == "NVIDIA H200"


def test_hardware_facts_need_a_server_of_ones_own(data: Path, tmp_path: Path) -> None:
    claim = tmp_path / "claim.yaml"
    claim.write_text(CLAIM.replace("GPU", WS).replace("COUNT", "1"))
    done = audit("run", str(claim), "--gpu-xml", str(data / "hardware" / "h200.xml"))
    assert done.returncode == 2
    assert "hardware facts belong to a server" in done.stderr
    assert done.stderr.count("\n") == 1
