"""Columns that fit the terminal."""

import pytest

from auditor.cli.columns import fitted, wrapped

ROWS = [
    ("RUN", "VERDICT", "FOLDER"),
    ("01abc", "not-comparable (rehearsal)", "reports/2026/a-very-long-name-of-a-folder"),
]


@pytest.mark.parametrize("width", [40, 60, 100])
def test_rows_fit_and_lose_no_letter(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = fitted(ROWS)
    assert max(map(len, lines)) <= width
    assert lines[0].split() == list(ROWS[0])
    letters = sorted("".join("".join(lines).split()))
    assert letters == sorted("".join("".join(map("".join, ROWS)).split()))
    start = lines[0].index("VERDICT")
    assert all(line[start - 2 : start].strip() == "" for line in lines)


def test_paragraphs_follow_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, wrapped("word " * 60))) <= 60
