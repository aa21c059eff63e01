"""A run folder is judged the same wherever it lies, and as far as its evidence goes where it is cut."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from runs import Cells, make_run, recording, wire_records

from auditor.audit import judge_folder
from auditor.core.folder import LEDGER, METRICS, RECOUNT, TOKENS, VERDICT, WIRE, Recount
from auditor.core.wire.log import frame, read_wire
from auditor.errors import EvidenceError
from auditor.terms import VerdictKind

DRAFT = recording("llamacpp", "draft/chat_stream_tpt")
PLAIN = recording("llamacpp", "plain/chat_stream_tpt")
PAIR = Cells(subject=((DRAFT,), (DRAFT,), (DRAFT,)), plain=((PLAIN,), (PLAIN,), (PLAIN,)))
RECOUNTED = Recount(tokenizer="tokenizer.json", tokenizer_sha256="0" * 64, is_independent=True, counts={2: 95, 5: 96})
DERIVED = (VERDICT, LEDGER, TOKENS, METRICS)


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged folder of a pair."""
    folder = make_run(tmp_path_factory.mktemp("judged") / "run", PAIR, recount=RECOUNTED)
    judge_folder(folder)
    return folder


def test_a_copy_on_another_path_gives_the_same_bytes(judged: Path, tmp_path: Path) -> None:
    """In another process too, with another hash seed, time zone, language and working folder."""
    copy = tmp_path / "elsewhere é" / "copy"
    shutil.copytree(judged, copy)
    for name in DERIVED:
        (copy / name).unlink()
    code = (
        "import sys; from pathlib import Path; from auditor.audit import judge_folder; judge_folder(Path(sys.argv[1]))"
    )
    path = os.pathsep.join(part for part in sys.path if part)
    environment = {**os.environ, "PYTHONHASHSEED": "12345", "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONPATH": path}
    subprocess.run([sys.executable, "-c", code, str(copy)], check=True, cwd=tmp_path, env=environment)
    for name in DERIVED:
        assert (copy / name).read_bytes() == (judged / name).read_bytes(), name


def test_judging_again_changes_nothing(judged: Path) -> None:
    before = {name: (judged / name).read_bytes() for name in (*DERIVED, "manifest.json")}
    judge_folder(judged)
    assert {name: (judged / name).read_bytes() for name in before} == before


def test_the_verdict_rests_on_the_recorded_counts(judged: Path) -> None:
    verdict = json.loads((judged / VERDICT).read_bytes())
    subject, plain = verdict["cells"]
    assert (subject["cell"], plain["cell"]) == ("subject", "plain")
    assert subject["identity"]["sentence"] == "3 first + 108 steps + 177 accepted - 0 overshoot = 288 delivered"
    assert subject["identity"]["is_exact"]
    assert (subject["rejected"], subject["acceptance_rate"]) == (3 * (143 - 59), 0.412587)
    assert subject["acceptance_length"] == pytest.approx(1 + 59 / 36, rel=1e-5)
    assert (plain["tally"]["drafted"], plain["acceptance_rate"]) == (0, None)
    (pair,) = verdict["pairs"]
    assert pair["sentence"].startswith("0.")
    assert "times the rate without speculation" in pair["sentence"]
    assert pair["ratio"] == pytest.approx(subject["decode_rate"]["value"] / plain["decode_rate"]["value"], rel=1e-4)
    assert verdict["exit_code"] == 4
    assert len((judged / TOKENS).read_bytes().splitlines()) == 6 * 96
    assert len((judged / METRICS).read_bytes().splitlines()) == 12


def test_a_log_without_its_end_is_judged_as_partial(recorded_run: Callable[..., Path]) -> None:
    folder = recorded_run(PAIR)
    whole = [frame(records, first=index == 0) for index, records in enumerate(wire_records(PAIR)[:5])]
    (folder / WIRE).write_bytes((folder / WIRE).read_bytes()[: sum(map(len, whole)) + 10])
    verdict = judge_folder(folder).verdict
    assert verdict.run.partial
    assert verdict.kind is VerdictKind.INCONCLUSIVE
    finished = next(finding for finding in verdict.findings if finding.id == "run-finished")
    assert finished.sentence == "partial: 4 of 6 planned requests are in the evidence; the last frame is incomplete"
    assert [cell.tally.delivered for cell in verdict.cells] == [288, 96]
    assert verdict.delivered is not None


def test_a_log_cut_in_an_answer_keeps_what_came_of_it(recorded_run: Callable[..., Path], tmp_path: Path) -> None:
    """As kill -9 leaves it: the frame of the last half second is missing, and the answer in it has no end."""
    folder = recorded_run(Cells(subject=((DRAFT,), (DRAFT,)), is_finished=False))
    records = list(read_wire(folder / WIRE).records)
    cut = len(records) - 60
    (folder / WIRE).write_bytes(frame(records[:cut], first=True))
    result = judge_folder(folder)
    first, second = result.account.ledger.exchanges
    assert (first.status, first.tally.delivered) == ("complete", 96)
    assert (second.status, second.problem) == ("partial", "the record ends before the answer did")
    assert 0 < (second.tally.delivered or 0) < 96
    assert result.verdict.run.partial
    # What is shown of the cut answer is in no rate.
    assert result.account.ledger.cells[0].rounds[1].complete == 0


@pytest.mark.parametrize("length", [0, 1, 3, 100])
def test_a_log_with_nothing_in_it_is_judged_too(recorded_run: Callable[..., Path], length: int) -> None:
    folder = recorded_run(Cells(subject=((DRAFT,),)))
    (folder / WIRE).write_bytes((folder / WIRE).read_bytes()[:length])
    verdict = judge_folder(folder).verdict
    assert verdict.run.partial
    assert (verdict.kind, verdict.cells, verdict.delivered) == (VerdictKind.INCONCLUSIVE, (), None)


def test_a_changed_plan_or_claim_is_refused(recorded_run: Callable[..., Path]) -> None:
    folder = recorded_run(Cells(subject=((DRAFT,),)))
    plan = (folder / "plan.json").read_bytes()
    (folder / "plan.json").write_bytes(plan.replace(b'"max_half_width": 0.03', b'"max_half_width": 0.5'))
    with pytest.raises(EvidenceError, match="not the plan that was hashed"):
        judge_folder(folder)
    (folder / "plan.json").write_bytes(plan)
    with (folder / "claim.yaml").open("a") as file:
        file.write("notes: changed\n")
    with pytest.raises(EvidenceError, match="not the claim that was planned for"):
        judge_folder(folder)


def test_a_recount_of_its_own_is_used(judged: Path) -> None:
    ledger = json.loads((judged / LEDGER).read_bytes())
    counts = [line["counts"].get("retokenised") for line in ledger["exchanges"][:3]]
    assert counts == [95, 96, None]
    assert (ledger["recounted_by"], ledger["is_recount_independent"]) == ("tokenizer.json", True)
    assert (judged / RECOUNT).exists()
