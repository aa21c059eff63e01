"""The review of a fork as one HTML file, in the style of a run's report; it needs no network and no script."""

from auditor import __version__
from auditor.core.forks.answers import Answer, Found, Line
from auditor.core.forks.review import ForkReview
from auditor.core.wording import listed, plural
from auditor.report.forkwords import class_words, day, fact_words, found_words, size_words
from auditor.report.page import render
from auditor.report.shown import one_line, visible
from auditor.report.views import Block, Cell, Head, ReportView, Section, Table, Tile, cells, columns

MOST_AUTHORS, MOST_FILES, MOST_COMMITS = 30, 300, 300
"""Authors, files and commits on the page; all that were kept are in the JSON."""
_MARKS = {"yes": "warn", "no": "ok", "unclear": "plain"}
_LIMITS = (
    "Hunks were classed by rules over paths and lines (docs/forks.md), by nobody who ran the code.",
    "Code that could count or accept otherwise does not say that any number was made with it.",
    "An answer of no means that no changed line met a rule for it.",
)


def fork_page(review: ForkReview) -> str:
    """The page of a review."""
    return render(_view(visible(review)), "fork.html")


def _view(review: ForkReview) -> ReportView:
    return ReportView(
        head=_head(review),
        sections=(
            _overview(review),
            *(_answer(answer) for answer in review.answers if answer.sure.count or answer.hints.count),
            _classes(review),
            _files(review),
            _commits(review),
            Section("limits", "What this review cannot say", blocks=(Block(items=_LIMITS),)),
        ),
        footer=f"auditor {__version__}, rules {review.rules[:12]}, review version {review.fork_version}",
    )


def _head(review: ForkReview) -> Head:
    asked = {answer.id: answer for answer in review.answers}
    kernels = asked.get("kernels")
    said = [one.ask.rstrip("?") for one in review.answers if one.outcome == "yes"]
    return Head(
        title=one_line(review.name, 200),
        kind="changes" if review.files else "no change",
        tone="warn" if said else "ok",
        sentence=kernels.sentence if kernels else size_words(review),
        meaning=f"{size_words(review)}.",
        reasons=review.notes,
        flags=(),
        tiles=tuple(
            Tile(label, value, note)
            for label, value, note in (
                ("Commits of its own", f"{review.history.ahead:,}", plural(len(review.history.authors), "author")),
                ("Kernel lines", f"{_lines(review, 'kernel'):,}", "changed, in the project's own tree"),
                ("Counting lines", f"{_lines(review, 'metrics'):,}", "changed, without benchmark programs"),
                ("Questions answered yes", f"{len(said)} of {len(review.answers)}", "each with its lines below"),
            )
        ),
        facts=tuple(fact_words(review, MOST_AUTHORS)),
        source_url=None,
    )


def _lines(review: ForkReview, label: str) -> int:
    return sum(one.added + one.removed for one in review.classes if one.label == label)


def _overview(review: ForkReview) -> Section:
    rows = tuple(
        cells(one.ask, Cell(one.outcome, mark=_MARKS[one.outcome]), Cell(one.sentence, note=found_words(one)))
        for one in review.answers
    )
    table = Table("What a reviewer asks, and what the changed lines say", columns("question", "answer", "why"), rows)
    return Section("answers", "Answers", blocks=(Block(table=table),))


def _answer(answer: Answer) -> Section:
    blocks = [Block(paragraphs=(f"{answer.outcome.capitalize()}. {answer.sentence}",))]
    if answer.sure.count:
        blocks += _found(answer.sure, "Lines that say so")
    if answer.hints.count:
        blocks += _found(answer.hints, "Lines that may matter")
    return Section(answer.id, answer.ask, blocks=tuple(blocks))


def _found(found: Found, caption: str) -> list[Block]:
    words = f"{caption}: {len(found.lines):,} of {found.count:,}"
    rows = tuple(cells(_place(line), _code(line)) for line in found.lines)
    files = tuple(cells(one.path, f"{one.lines:,}") for one in found.files)
    blocks = [Block(table=Table(words, columns("file", "line"), rows))]
    if len(files) > 1:
        more = f"and {plural(found.more_files, 'more file')}" if found.more_files else ""
        table = Table("Lines by file", columns("file", "#lines"), files)
        blocks.append(Block(table=table, summary=f"{plural(len(files), 'file')} with such lines", note=more))
    return blocks


def _place(line: Line) -> Cell:
    sides = {"+": "line {} of the fork", "-": "line {} of the base, removed", "": ""}
    return Cell(one_line(line.path, 300), note=sides[line.sign].format(f"{line.number:,}"))


def _code(line: Line) -> str:
    text = one_line(line.text)
    return text if "`" in text or not text else f"`{text}`"


def _classes(review: ForkReview) -> Section:
    rows = tuple(
        cells(class_words(one), f"{one.added:,}", f"{one.removed:,}", f"{one.files:,}", f"{one.hunks:,}")
        for one in review.classes
    )
    table = Table("Changed lines by class", columns("class", "#added", "#removed", "#files", "#hunks"), rows)
    return Section("classes", "What changed", blocks=(Block(table=table),) if rows else ())


def _files(review: ForkReview) -> Section:
    rows = tuple(cells(one.path, one.label, f"{one.added:,}", f"{one.removed:,}") for one in review.rows[:MOST_FILES])
    table = Table("Files with the most changed lines", columns("file", "class", "#added", "#removed"), rows)
    more = max(0, review.files - len(rows))
    block = Block(
        table=table, summary=plural(len(rows), "file"), note=f"{more:,} paths are not listed here" if more else ""
    )
    return Section("files", "Files", blocks=(block,) if rows else ())


def _commits(review: ForkReview) -> Section:
    rows = tuple(
        cells(
            Cell(one.id[:12], note=day(one.authored_ns)),
            one_line(one.author, 60),
            one_line(one.subject, 160),
            Cell(
                listed(one.labels) or "-",
                note=f"{one.undone:,} of {one.files:,} files no longer differ" if one.undone else "",
            ),
        )
        for one in review.commits[:MOST_COMMITS]
    )
    caption = "The newest commits, merges left out, with the classes of their files"
    table = Table(caption, columns("commit", "author", "subject", "classes"), rows)
    block = Block(table=table, summary=plural(len(rows), "commit"))
    return Section("commits", "Commit by commit", blocks=(block,) if rows else ())
