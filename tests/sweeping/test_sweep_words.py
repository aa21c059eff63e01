"""A result in words, and the rows that the claim itself says would fail."""

import pytest

from auditor.core.claim.claim import parse_claim
from auditor.core.sweeping.matrix import Recipe, parse_matrix, recipes_of
from auditor.core.sweeping.result import RowOutcome, RowResult, State, failed_row, sweep_of
from auditor.core.sweeping.words import MOST_LINES, markdown, table_of, telling_lines
from auditor.report.sweeppage import sweep_page

CLAIM = parse_claim(
    "schema: 1\nid: c\ntitle: C\nmeasurements:\n  - {id: a, reported: {outcome: unsupported}}\n  - {id: b}\n", "c.yaml"
)
HOSTILE = "<script>alert(1)</script> | [x](javascript:y) *b*"


def recipes() -> tuple[Recipe, ...]:
    text = f"schema: 1\nid: m\ntitle: '{HOSTILE}'\nlaunch: {{argv: [x]}}\nrows: [{{id: a}}, {{id: b}}]\n"
    return recipes_of(*parse_matrix(text, "m.yaml"), CLAIM)


def failed(recipe: Recipe, outcome: RowOutcome, *lines: str) -> RowResult:
    return failed_row(recipe, CLAIM.case(recipe.case), outcome, HOSTILE, "logs/a.log", lines, None)


def state(*rows: RowResult) -> State:
    return State(
        sweep="sweep-1", matrix="m", matrix_title=HOSTILE, matrix_digest="d" * 64, order=("a", "b"), seed=1,
        owner_pid=1, owner_started_ns=1, rows=rows,
    )  # fmt: skip


def test_a_failure_that_the_claim_states_is_said() -> None:
    first, second = recipes()
    assert failed(first, "failed-to-start").notes == ("the claim says unsupported too",)
    assert failed(second, "failed-to-start").notes == ()


def test_rows_stand_in_the_order_of_the_matrix_and_what_is_left_is_named() -> None:
    first, second = recipes()
    whole = sweep_of(state(failed(second, "crashed"), failed(first, "never-ready")))
    assert [row[0] for row in table_of(whole)] == ["a", "b"]
    assert whole.left == ()
    part = sweep_of(state(failed(second, "crashed", "out of memory")))
    assert part.left == ("a",)
    assert "its log: out of memory" in table_of(part)[0][-1]
    assert "Not measured yet: a." in markdown(part)


def test_foreign_text_is_text() -> None:
    first, _ = recipes()
    sweep = sweep_of(state(failed(first, "crashed", "\x1b[31merror <b>\u202e")))
    page = sweep_page(sweep)
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "<script>" not in markdown(sweep)
    assert page == sweep_page(type(sweep).from_json(sweep.to_json()))


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", ()),
        ("one\ntwo\nthree\nfour\n", ("two", "three", "four")),
        ("loading\nRuntimeError: no kernel image\nbye\n", ("RuntimeError: no kernel image",)),
    ],
)
def test_the_telling_lines_of_a_log(text: str, lines: tuple[str, ...]) -> None:
    assert telling_lines(text) == lines


def test_of_many_the_first_and_the_last_are_kept() -> None:
    lines = telling_lines("".join(f"error {number}\n" for number in range(100)))
    assert (len(lines), lines[0], lines[-1]) == (MOST_LINES, "error 0", "error 99")
