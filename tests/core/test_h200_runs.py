"""Runs of the tool against real vLLM on a GPU, judged again from their evidence."""

import shutil
from pathlib import Path

import pytest

from auditor.audit import judge_folder
from auditor.terms import Outcome, Rung, VerdictKind

DATA = Path(__file__).resolve().parent.parent / "data" / "h200"

# delivered = first + plain + verify steps + accepted - overshoot, and what was drafted
RUNS = {
    "telemetry": {"plain_steps": 2321, "verify_steps": 5134, "accepted": 12352, "drafted": 20510, "overshoot": 25},
    "ngram": {"plain_steps": 2100, "verify_steps": 5825, "accepted": 11877, "drafted": 23280, "overshoot": 20},
    "draft": {"plain_steps": 0, "verify_steps": 4950, "accepted": 14850, "drafted": 14850, "overshoot": 18},
}


@pytest.fixture(scope="module", params=RUNS)
def judged(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("h200") / request.param
    return request.param, judge_folder(shutil.copytree(DATA / request.param, folder))


def test_every_token_is_accounted_for(judged):
    name, result = judged
    cell = result.account.ledger.cell("subject")
    expected = RUNS[name]
    assert cell.tally.delivered == 18 * 1100
    assert cell.tally.first == 18
    assert cell.identity.outcome is Outcome.HOLDS
    assert cell.tally.overshoot_left == expected["overshoot"]
    for term in ("plain_steps", "verify_steps", "accepted", "drafted"):
        assert getattr(cell.tally, term) == expected[term], term


def test_ids_usage_and_counters_agree_on_every_answer(judged):
    _, result = judged
    lines = result.account.ledger.exchanges
    assert len(lines) == 18
    for line in lines:
        assert line.rung is Rung.TOKEN_IDS
        assert line.counts[Rung.TOKEN_IDS] == line.counts[Rung.FINAL_USAGE] == 1100
    assert all(one.other_traffic == 0 for one in result.account.ledger.cell("subject").rounds)


def test_reads_carry_the_kernels_time(judged):
    _, result = judged
    assert 0 < result.account.ledger.clock_error_ns < 1_000_000


def test_the_hardware_was_seen_and_is_not_the_claims(tmp_path):
    verdict = judge_folder(shutil.copytree(DATA / "telemetry", tmp_path / "run")).verdict
    findings = {finding.id: finding for finding in verdict.findings}
    assert verdict.kind is VerdictKind.NOT_COMPARABLE
    assert findings["hardware"].outcome is Outcome.FAILS
    assert "SM90 is not SM120" in findings["hardware"].sentence
    assert findings["hardware-is-servers"].outcome is Outcome.HOLDS
    # 132.4 W over 31.19 s, shared among 19,800 delivered tokens
    assert "0.2085 J per delivered token" in findings["telemetry-energy"].sentence
    assert "memory at 3,201 MHz" in findings["telemetry-clocks"].sentence
