"""A review of a fork in words, the same on the page and in the terminal."""

from datetime import UTC, datetime

from auditor.core.forks.answers import Answer, Line
from auditor.core.forks.history import History
from auditor.core.forks.review import ClassCount, ForkReview
from auditor.core.wording import plural
from auditor.report.shown import one_line

ID = 12
"""Characters of a commit's id that are shown."""
HOW = {
    "ancestor": "the last common commit",
    "given": "as given",
    "same-tree": "an upstream commit with the same files, no common history",
    "nearest-tree": "the nearest of the upstream's refs by its files, no common history",
    "tree": "the upstream's tip, no common history",
}


def size_words(review: ForkReview) -> str:
    """How much changed."""
    added, removed = sum(one.added for one in review.classes), sum(one.removed for one in review.classes)
    paths = plural(review.files, "path differs", "paths differ")
    return f"{paths}, {plural(added + removed, 'changed line')} (+{added:,} -{removed:,})"


def fact_words(review: ForkReview, most_authors: int) -> list[tuple[str, str]]:
    """Label and words of what was compared."""
    history = review.history
    facts = [("Reviewed", f"{history.head[:ID]}{_named(history.head_name or 'detached HEAD')}")]
    if history.upstream is not None:
        whose = f" of {one_line(review.upstream, 100)}" if review.upstream else ""
        facts.append(("Upstream", f"{history.upstream[:ID]}{_named(history.upstream_name)}{whose}"))
    when = f", {day(history.base_ns)}" if history.base_ns is not None else ""
    facts.append(("Base", f"{history.base[:ID]}{_named(history.base_name)}, {HOW[history.relation]}{when}"))
    facts.append(("Commits", _counts(history)))
    if history.authors:
        facts.append(("By", _authors(history, most_authors)))
    if besides := _besides(review):
        facts.append(("Besides", besides))
    return facts


def day(ns: int) -> str:
    """A date, of ns since 1970."""
    return f"{datetime.fromtimestamp(ns // 1_000_000_000, UTC):%Y-%m-%d}"


def place_words(line: Line) -> str:
    """File and line; of a file without lines its path."""
    path = one_line(line.path, 300)
    return f"{path}:{line.number}" if line.sign else path


def class_words(one: ClassCount) -> str:
    """A class, with the kind of kernel where it is known."""
    return f"{one.label} ({one.kind})" if one.kind else one.label


def found_words(answer: Answer) -> str:
    """How many lines an answer stands on; empty where there are none."""
    parts = []
    for found, what in ((answer.sure, "line"), (answer.hints, "line that may matter")):
        if found.count:
            files = plural(len(found.files) + found.more_files, "file")
            several = "lines that may matter" if what != "line" else None
            parts.append(f"{plural(found.count, what, several)} in {files}")
    return "; ".join(parts)


def _counts(history: History) -> str:
    words = [f"{'at least ' if history.cut else ''}{history.ahead:,} ahead"]
    if history.behind is not None:
        words.append(f"{history.behind:,} behind")
    if history.merges:
        merged = f", of which {history.upstream_merges:,} of the upstream" if history.upstream_merges else ""
        words.append(f"{plural(history.merges, 'merge')}{merged}")
    if history.picked:
        words.append(f"{history.picked:,} that the upstream has too")
    if history.first_ns is not None and history.last_ns is not None:
        words.append(f"from {day(history.first_ns)} to {day(history.last_ns)}")
    return ", ".join(words)


def _authors(history: History, most: int) -> str:
    shown = [
        f"{one_line(one.name, 60)} {one.commits:,}" + (f" (co-author of {one.helped:,})" if one.helped else "")
        for one in history.authors[:most]
    ]
    more = len(history.authors) - len(shown) + history.more_authors
    return ", ".join(shown) + (f" and {more:,} more" if more > 0 else "")


def _besides(review: ForkReview) -> str:
    counts = (
        (review.moved, "file only moved", "files only moved"),
        (review.renamed, "file moved and changed", "files moved and changed"),
        (review.unread, "file is no text or too large to compare", "files are no text or too large to compare"),
        (review.modules, "submodule pin", "submodule pins"),
        (review.modes, "file of another mode", "files of another mode"),
    )
    return ", ".join(plural(number, one, several) for number, one, several in counts if number)


def _named(name: str | None) -> str:
    return f" ({one_line(name, 100)})" if name else ""
