"""Two runs of the tool against real vLLM on a GPU, judged again from their evidence."""

import shutil
from pathlib import Path

import pytest

from auditor.audit import judge_folder
from auditor.terms import Outcome, Rung

# delivered = first + plain + verify steps + accepted - overshoot, and what was drafted
RUNS = {
    "ngram": {"plain_steps": 2100, "verify_steps": 5825, "accepted": 11877, "drafted": 23280, "overshoot": 20},
    "draft": {"plain_steps": 0, "verify_steps": 4950, "accepted": 14850, "drafted": 14850, "overshoot": 18},
}


@pytest.fixture(scope="module", params=RUNS)
def judged(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("h200") / request.param
    shutil.copytree(Path(__file__).resolve().parent.parent / "data" / "h200" / request.param, folder)
    return request.param, judge_folder(folder)


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
