"""A review of a fork as text."""

from auditor.cli.columns import fitted, table, wrapped
from auditor.core.forks.answers import Answer
from auditor.core.forks.review import ForkReview
from auditor.report.forkwords import class_words, day, fact_words, found_words, place_words, size_words
from auditor.report.shown import one_line

MOST_LINES, MOST_AUTHORS, MOST_COMMITS = 6, 6, 12
"""Lines of an answer, authors and commits that are shown."""


def review_text(review: ForkReview) -> str:
    """The review for a terminal; the whole of it is in the page and the JSON."""
    parts = [
        _head(review),
        [line for note in review.notes for line in wrapped(note, "  - ", "    ")],
        _classes(review),
        *(_answer(answer) for answer in review.answers),
        _commits(review),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _head(review: ForkReview) -> list[str]:
    lines = [f"{one_line(review.name, 100)}: {size_words(review)}"]
    for label, words in fact_words(review, MOST_AUTHORS):
        lines += wrapped(words, f"  {label:<10}", " " * 12)
    return lines


def _classes(review: ForkReview) -> list[str]:
    if not review.classes:
        return []
    rows: list[tuple[str, ...]] = [("class", "lines", "added", "removed", "files", "hunks")]
    for one in review.classes:
        numbers = (one.added + one.removed, one.added, one.removed, one.files, one.hunks)
        rows.append((class_words(one), *(f"{number:,}" for number in numbers)))
    return table(rows, right=(1, 2, 3, 4, 5))


def _answer(answer: Answer) -> list[str]:
    lines = wrapped(f"{answer.ask} {answer.outcome.upper()}. {answer.sentence}", rest="  ")
    found = answer.sure if answer.sure.count else answer.hints
    shown = found.lines[:MOST_LINES]
    lines += [f"    {place_words(line)}  {line.sign or ' '} {one_line(line.text, 90)}" for line in shown]
    if found.count > len(shown):
        lines.append(f"    {found_words(answer)}")
    return lines


def _commits(review: ForkReview) -> list[str]:
    rows = [
        (f"  {one.id[:10]}", day(one.authored_ns), one_line(one.subject, 60), ", ".join(one.labels))
        for one in review.commits[:MOST_COMMITS]
    ]
    if not rows:
        return []
    more = len(review.commits) - len(rows)
    last = [f"  and {more:,} more in the page and in --json"] if more else []
    return ["Newest commits, with the classes of their files", *fitted(rows), *last]
