"""A review as one HTML file, in the style of a run's report; it needs no network and no script."""

from auditor.core.reviewing.record import ForkPiece, ImportPiece, LogPiece, Review
from auditor.core.wording import listed, plural
from auditor.report.context import questions_section, unknown_section
from auditor.report.head import MEANINGS, TONES
from auditor.report.page import render
from auditor.report.possible import possible_section
from auditor.report.reviewpieces import fork_section, import_section, log_section
from auditor.report.reviewtext import sentence_of
from auditor.report.shown import NOT_KNOWN, figure, one_line, visible
from auditor.report.views import Block, Cell, Head, ReportView, Row, Section, Table, Tile, cells, columns

_CAP = (
    "The best evidence decides; its grade caps what may be said. No file, log or fork reproduces a claim or shows that "
    "it cannot be reproduced: that takes a run."
)


def review_page(review: Review) -> str:
    """The page of a review."""
    return render(_view(visible(review)), "review.html")


def _view(review: Review) -> ReportView:
    return ReportView(
        head=_head(review),
        sections=(
            _evidence(review),
            *(import_section(one, number) for number, one in enumerate(review.imports, 1)),
            *(log_section(one, number) for number, one in enumerate(review.logs, 1)),
            *(fork_section(one, number) for number, one in enumerate(review.forks, 1)),
            possible_section(review.ceiling),
            _against(review),
            unknown_section(review.unknown),
            questions_section(review.questions),
            _files(review),
        ),
        footer=f"auditor {review.tool_version}, {review.review}, review version {review.review_version}",
    )


def _head(review: Review) -> Head:
    title = review.title if review.case == review.claim else f"{review.title} ({review.case})"
    hard, source = review.ceiling.hard, review.source or ""
    marks = [end for end in (review.low, review.high) if end is not None]
    pieces = [(len(review.imports), "file"), (len(review.logs), "log"), (len(review.forks), "fork")]
    return Head(
        title=one_line(title, 300),
        kind=review.verdict.value,
        tone=TONES[review.exit_code],
        sentence=sentence_of(review),
        meaning=MEANINGS[review.verdict],
        reasons=review.reasons,
        flags=tuple(("Acceptance switch", words) for words in review.switches),
        tiles=(
            Tile("Claimed", review.claimed, review.basis or "basis not stated"),
            Tile("Evidence", review.grade.value, f"{review.grade.meaning}; at most {review.grade.strongest.value}"),
            Tile("Hard bound", NOT_KNOWN if hard is None else f"{figure(hard, marks)} tok/s", "in the most favourable "
                 "reading of what is not stated"),
            Tile("Reviewed", listed([plural(count, name) for count, name in pieces if count]) or "nothing",
                 "nothing was measured"),
        ),
        facts=(
            ("Claim", review.claim if review.case == review.claim else f"{review.claim}, {review.case}"),
            ("Source", review.source or NOT_KNOWN),
            ("Disputed by", review.disputed_by or "nobody known"),
        ),
        source_url=source if source.startswith(("https://", "http://")) else None,
    )  # fmt: skip


def _evidence(review: Review) -> Section:
    rows = [_import_row(one) for one in review.imports] + [_log_row(one) for one in review.logs]
    rows += [_fork_row(one) for one in review.forks]
    if not rows:
        return Section("evidence", "Evidence", ("No file, log or fork was given.",))
    heads = columns("Piece", "Grade", "By itself", "What it says")
    return Section("evidence", "Evidence", (_CAP,), (Block(table=Table("What was handed in", heads, tuple(rows))),))


def _import_row(one: ImportPiece) -> Row:
    digest = f"SHA-256 {one.originals[0].sha256[:12]}"
    version = f" {one.tool_version}" if one.tool_version else ""
    return cells(
        Cell(one_line(one.originals[0].name, 200), f"{one.tool}{version}, {digest}"),
        one.grade.value,
        one.said.verdict.value,
        one_line(one.said.sentence),
    )


def _log_row(one: LogPiece) -> Row:
    artefact = one.reading.artefact
    return cells(
        Cell(one_line(artefact.name, 200), f"log of {one.reading.title}, SHA-256 {artefact.sha256[:12]}"),
        Cell("aggregate", "means over intervals"),
        one.said.verdict.value,
        one_line(one.said.sentence),
    )


def _fork_row(one: ForkPiece) -> Row:
    yes = sum(answer.outcome == "yes" for answer in one.answers)
    words = f"{yes} of {len(one.answers)} questions answered yes, over {plural(one.lines, 'changed line')}"
    return cells(
        Cell(one_line(one.name, 200), f"fork at commit {one.head[:12]}"),
        Cell("none", "code is no measurement"),
        "says nothing of a number",
        words,
    )


def _against(review: Review) -> Section:
    title = "Where the pieces do not fit each other"
    if not review.contradictions:
        words = "Nothing was found that does not fit between the pieces and the claim."
        return Section("against", title, (words,), is_half=True)
    return Section("against", title, (), (Block(items=review.contradictions),), is_half=True)


def _files(review: Review) -> Section:
    rows = [
        cells(Cell(one_line(one.name, 200), one.stored or f"not kept: {one.not_kept_because}"), one.sha256)
        for piece in review.imports
        for one in piece.originals
    ]
    rows += [
        cells(Cell(one_line(one.reading.artefact.name, 200), "not kept: a log may hold prompts and addresses"),
              one.reading.artefact.sha256)
        for one in review.logs
    ]  # fmt: skip
    rows += [
        cells(Cell(one_line(one.name, 200), "kept as its commit and the answers"), one.head) for one in review.forks
    ]
    rows.append(cells("claim.yaml", review.claim_digest))
    table = Table("SHA-256, or the commit of a fork", columns("file", "digest"), tuple(rows))
    return Section("files", "Files", (), (Block(table=table),))
