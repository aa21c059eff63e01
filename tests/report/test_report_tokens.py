"""What the report reads out of a token log is what the ledger counted."""

from pathlib import Path

from auditor.core.counting.ledger import Ledger
from auditor.core.folder import LEDGER, RunFolder
from auditor.report.charts import draw_all
from auditor.report.timeline import LINE_POINTS, timeline_section
from auditor.report.tokens import TokenDigest, read_tokens
from auditor.report.views import Head, ReportView, Section


def digest_of(folder: Path) -> tuple[TokenDigest, Ledger]:
    ledger = RunFolder(folder).record(LEDGER, Ledger)
    return read_tokens(folder, ledger, "subject"), ledger


def test_accepted_drafts_and_steps_add_up(runs: dict[str, Path]) -> None:
    digest, ledger = digest_of(runs["spec"])
    cell = ledger.cell("subject")
    assert cell is not None
    per_step = digest.accepted_per_step["subject"]
    assert sum(number * steps for number, steps in per_step.items()) == cell.tally.accepted
    assert sum(per_step.values()) == cell.tally.verify_steps
    assert "plain" not in digest.accepted_per_step


def test_gaps_are_within_answers_and_of_the_judged_load(runs: dict[str, Path]) -> None:
    digest, ledger = digest_of(runs["spec"])
    own = [line for line in ledger.exchanges if line.cell == "subject"]
    assert len(digest.event_gaps_ns) == sum((line.tally.events or 0) - 1 for line in own)
    decoded = sum((line.times.last_ns or 0) - (line.times.first_ns or 0) for line in own)
    assert sum(digest.event_gaps_ns) == decoded
    assert sum(digest.step_gaps_ns) == decoded
    assert digest.event_gaps_ns == sorted(digest.event_gaps_ns)


def test_the_first_answer_is_whole(runs: dict[str, Path]) -> None:
    answer = digest_of(runs["spec"])[0].answer
    assert answer is not None
    assert answer.line.index == answer.line.repeat == 0
    tally = answer.line.tally
    assert sum(event.tokens for event in answer.events) == tally.delivered
    assert sum(step.tokens for step in answer.steps) == tally.delivered
    assert sum(step.accepted or 0 for step in answer.steps) == tally.accepted
    assert sum(step.rejected or 0 for step in answer.steps) == tally.rejected


def test_the_line_keeps_its_ends_and_never_falls(runs: dict[str, Path]) -> None:
    digest, _ = digest_of(runs["spec"])
    chart = timeline_section(digest, (), None).blocks[0].chart
    assert chart is not None
    counts = [row["n"] for row in chart.rows]
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (0, 60)
    assert len(counts) <= LINE_POINTS + 3


def test_every_chart_can_be_drawn_without_rows_to_spare(runs: dict[str, Path]) -> None:
    digest, _ = digest_of(runs["single"])
    section: Section = timeline_section(digest, (), None)
    head = Head("", "", "", "", "", (), (), (), (), None)
    drawn = draw_all(ReportView(head, (section,), ""))
    assert all(one.wide.startswith("<svg ") and one.narrow.startswith("<svg ") for one in drawn.values())


def test_a_run_that_delivered_nothing_has_no_answer(runs: dict[str, Path]) -> None:
    digest, _ = digest_of(runs["silent"])
    assert digest == TokenDigest()
