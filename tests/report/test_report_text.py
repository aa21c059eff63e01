"""The verdict as text. After a wanted change of the words: `AUDIT_GOLDEN=write pytest tests/report`, and read the diff."""

import os
import re
from pathlib import Path

import pytest
from made_runs import Made, make_run

from auditor.core.counting.ledger import Ledger
from auditor.core.folder import RunFolder
from auditor.core.judging.verdict import Verdict
from auditor.report.head import head_of
from auditor.report.text import markdown, terminal
from auditor.terms import Outcome

GOLDEN = Path(__file__).parent / "golden.md"


def test_the_paragraph_for_a_thread_is_as_agreed(runs: dict[str, Path]) -> None:
    text = re.sub("plan [0-9a-f]{12}", "plan (digest)", markdown(runs["spec"]))
    if os.environ.get("AUDIT_GOLDEN") == "write":
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def test_the_paragraph_is_short_and_says_how_to_repeat_it(any_run: Path) -> None:
    lines = markdown(any_run).splitlines()
    assert len(lines) <= 15
    assert lines[-1].startswith("Repeat: `")
    assert str(any_run) not in "\n".join(lines)


def test_a_partial_run_says_so(runs: dict[str, Path]) -> None:
    assert "Partial run" in markdown(runs["partial"])
    assert "Partial run" in terminal(runs["partial"])
    assert "Partial run" not in terminal(runs["spec"])


def test_the_terminal_text_fits_a_screen(any_run: Path) -> None:
    lines = terminal(any_run).splitlines()
    assert len(lines) <= 60
    assert lines[-2].startswith("Report: ")
    assert max(map(len, lines[:-2])) <= 100


@pytest.mark.parametrize("width", [40, 60, 100])
def test_sentences_are_wrapped_and_none_is_cut(runs: dict[str, Path], width: int) -> None:
    text = terminal(runs["spec"], width)
    prose = text.rpartition("Report: ")[0]
    assert max(map(len, prose.splitlines())) <= width
    assert not re.search(r"\.\.\.|…", prose)
    verdict = RunFolder(runs["spec"]).record("verdict.json", Verdict)
    failed = [one for one in verdict.findings if one.outcome is Outcome.FAILS]
    assert all(one.sentence in " ".join(prose.split()) for one in failed[:4])


def test_no_text_can_steer_a_terminal_or_a_thread(runs: dict[str, Path]) -> None:
    for text in (terminal(runs["hostile"]), markdown(runs["hostile"])):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f\u2028\u202a-\u202e\u2066-\u2069]", text)
    prose = re.sub("(`+).+?\\1(?!`)", "", markdown(runs["hostile"]))
    assert not re.search(r"(?<!\\)<", prose)


def test_absent_is_not_known(runs: dict[str, Path]) -> None:
    assert "Delivered  not known: " in terminal(runs["silent"])
    assert "delivered not known" in markdown(runs["silent"])


def test_the_speed_of_invalid_output_is_no_delivered_rate(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", Made(word=lambda _: "!"))
    text = terminal(run)
    assert text.startswith("INVALID-OUTPUT")
    assert re.search(r"^Invalid at +\d", text, re.M)
    assert not re.search("^(Delivered|Factor)", text, re.M)
    folder = RunFolder(run)
    head = head_of(folder.record("verdict.json", Verdict), folder.record("ledger.json", Ledger))
    assert [tile.label for tile in head.tiles] == ["Claimed", "Invalid output, at"]
