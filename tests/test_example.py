"""The example run in the repository is what the tool makes of its evidence today."""

import shutil
from pathlib import Path

import pytest

from auditor.audit import judge_folder
from auditor.terms import VerdictKind

EXAMPLE = Path(__file__).resolve().parent.parent / "reports" / "example"


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    folder = tmp_path_factory.mktemp("elsewhere") / "run"
    shutil.copytree(EXAMPLE, folder)
    return judge_folder(folder)


@pytest.mark.parametrize("name", ["verdict.json", "ledger.json", "tokens.jsonl", "metrics.jsonl"])
def test_the_example_is_judged_the_same_elsewhere(judged, name):
    assert (judged.folder / name).read_bytes() == (EXAMPLE / name).read_bytes(), "stale: `audit judge reports/example`"


def test_the_example_is_a_rehearsal_with_an_exact_ledger(judged):
    assert judged.verdict.kind is VerdictKind.NOT_COMPARABLE
    assert judged.verdict.exit_code == 4
    for cell in judged.account.ledger.cells:
        assert cell.identity.is_exact, cell.identity.sentence
    subject = judged.account.ledger.cell("subject")
    assert subject.tally.accepted > 0
    assert subject.tally.delivered == 240


def test_the_example_holds_nothing_of_a_machine():
    for path in EXAMPLE.iterdir():
        assert b"/root" not in path.read_bytes(), path.name
        assert b"/home/" not in path.read_bytes(), path.name
