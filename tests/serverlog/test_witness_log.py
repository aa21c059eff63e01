"""A claimant's log beside a run: the drafted throughput of a real log, published as a speed."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from runs import CLAIM_TEXT, Cells, Recording, make_run, recording

from auditor.audit import judge_folder
from auditor.cli import main
from auditor.core.claim.claim import parse_claim
from auditor.core.counting.rounds import SECOND_NS
from auditor.core.judging.witnessfile import WitnessFile, witnesses_in
from auditor.core.plan.plan import Tolerance
from auditor.errors import EvidenceError
from auditor.terms import VerdictKind

LOG = Path(__file__).parents[1] / "enginelog" / "data" / "vllm-0.32-cpu-ngram.log"
"""Prints at line 57: Accepted throughput: 38.98 tokens/s, Drafted throughput: 75.96 tokens/s."""
CLAIM = CLAIM_TEXT.replace("130 tok/s on one server", "75.96 tok/s").replace(
    "reported: {value: 130}", "engine: {name: llama.cpp or vLLM}\nreported: {value: 75.96, basis: decode}"
)
MODEL = "(EngineCore pid=1) INFO 12-01 08:18:22 Initializing a V1 LLM engine (v0.32.0) with config: model='{}'\n"
"""A line that vLLM prints when it starts; the file that was kept does not have it."""
RATE = 75.96


def at_rate(one: Recording) -> Recording:
    """The recorded stream with its clock stretched until it drafts 75.96 tokens a second."""
    before = drafted_rate(one)
    factor = before / RATE
    begin = one.send_ns
    reads = tuple((begin + round((t_ns - begin) * factor), data) for t_ns, data in one.reads)
    return replace(one, reads=reads, end_ns=reads[-1][0], sent_ns=begin)


def drafted_rate(one: Recording) -> float:
    """Drafted tokens per second of decoding."""
    from runs import account

    line = account(Cells(subject=((one,),), has_scrapes=False)).ledger.exchanges[0]
    assert line.tally.drafted is not None
    assert line.times.decode_ns is not None
    return line.tally.drafted * SECOND_NS / line.times.decode_ns


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three repeats of one request that drafts as fast as the claim says."""
    one = replace(at_rate(recording("llamacpp", "draft/chat_stream_tpt")), before=None, after=None)
    cells = Cells(subject=((one,),) * 3, has_scrapes=False)
    tolerance = Tolerance(sustained_tokens=64)
    return make_run(tmp_path / "run", cells, claim=CLAIM, tolerance=tolerance)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """The log with the claim's model in its first line."""
    return log_of(tmp_path, "HuggingFaceTB/SmolLM2-135M-Instruct")


def log_of(folder: Path, model: str) -> Path:
    path = folder / "claimant.log"
    path.write_bytes(MODEL.format(model).encode() + LOG.read_bytes())
    return path


def audit(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*words])
    return int(ended.value.code or 0)


def test_without_a_witness_it_is_arithmetic(run: Path) -> None:
    verdict = judge_folder(run).verdict
    assert verdict.explanation is not None
    assert "drafted/decode" in verdict.matching
    assert verdict.explanation.explained_by == ()
    assert any("not proven without a witness" in words for words in verdict.explanation.words)
    assert verdict.kind is not VerdictKind.MISCOUNTED


def test_the_claimants_log_makes_it_miscounted(run: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = f"sqlite:///{run.parent / 'a.db'}"
    code = audit("judge", str(run), "--witness-log", str(log), "--database", database, "--json")
    verdict = json.loads(capsys.readouterr().out)
    assert (verdict["kind"], code) == ("miscounted", 3), verdict["sentence"]
    assert "the 75.96 tok/s claimed is drafted, first to last event, as a witness shows" in verdict["sentence"]
    (witness,) = verdict["explanation"]["witnesses"]
    assert (witness["rule"], witness["kind"], witness["figures"][0]["text"]) == ("drafted", "claimant", "75.96")
    assert "line 58" in witness["origin"]
    assert verdict["explanation"]["explained_by"] == ["drafted/decode"]
    # The log is in the folder, so that it is judged the same again, and `explain` knows it too.
    first = (run / "verdict.json").read_bytes()
    judge_folder(run)
    assert (run / "verdict.json").read_bytes() == first
    claim = run / "claim.yaml"
    assert audit("explain", str(claim), "--run", str(run), "--database", database, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)["explanations"]
    assert found["explained_by"] == ["drafted/decode"]


def test_a_witness_is_in_the_manifest_and_its_bytes_are_checked(run: Path, log: Path) -> None:
    database = f"sqlite:///{run.parent / 'a.db'}"
    audit("judge", str(run), "--witness-log", str(log), "--database", database)
    (stored,) = (run / "witnesses").glob("*.log")
    assert stored.read_bytes() == log.read_bytes()
    assert f"witnesses/{stored.name}" in json.loads((run / "manifest.json").read_bytes())
    stored.write_bytes(log.read_bytes().replace(b"75.96", b"75.97"))
    with pytest.raises(EvidenceError, match="is not the log that was handed in"):
        judge_folder(run)


def test_a_log_without_the_number_backs_nothing(run: Path, log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log.write_bytes(log.read_bytes().replace(b"75.96", b"75.86"))
    audit("judge", str(run), "--witness-log", str(log), "--database", f"sqlite:///{run.parent / 'a.db'}", "--json")
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["explanation"]["witnesses"] == []
    assert verdict["kind"] != "miscounted"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("lukealonso/GLM-5.1-NVFP4", "this log is not of what the claim is about, for the model differs"),
        ("smol", "whether this log is of what the claim is about is not known"),
    ],
)
def test_a_log_that_is_not_seen_to_be_of_the_claim_is_refused(
    run: Path, model: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert audit("judge", str(run), "--witness-log", str(log_of(run.parent, model))) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert not (run / "witnesses").exists()


def test_a_log_handed_in_for_another_claim_backs_nothing(run: Path, log: Path) -> None:
    case = parse_claim(CLAIM.replace("SmolLM2-135M-Instruct", "Qwen3.5-397B"), "claim").case(None)
    file = WitnessFile(name="a.log", sha256="0" * 64, size=1, taken="2026-12-01")
    own = parse_claim(CLAIM, "claim").case(None)
    assert [one.rule for one in witnesses_in(own, file, log.read_bytes())] == ["drafted"]
    assert witnesses_in(case, file, log.read_bytes()) == ()
    assert witnesses_in(own, file, LOG.read_bytes()) == ()


def test_what_is_no_engines_log_is_no_witness(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = run.parent / "notes.txt"
    text.write_text("75.96 tok/s!\n")
    assert audit("judge", str(run), "--witness-log", str(text)) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (run / "witnesses").exists()
