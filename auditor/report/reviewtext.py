"""A review as text: for the terminal, and as Markdown to paste into a thread."""

from collections.abc import Iterator

from auditor.core.imports.record import ImportFinding
from auditor.core.reviewing.record import ForkPiece, ImportPiece, LogPiece, Review
from auditor.core.wording import plural
from auditor.report.possible import ceiling_words
from auditor.report.shown import figure, one_line, visible
from auditor.report.text import safe
from auditor.terms import Outcome

_MOST = 4


def terminal_of(review: Review) -> list[str]:
    """The review for a terminal, one paragraph an item; nothing of it is cut."""
    seen = visible(review)
    lines = [f"{seen.verdict.value.upper()}: {sentence_of(seen)}", *(f"- {one_line(one)}" for one in seen.reasons)]
    lines += [f"Claim: {one_line(seen.title)}", f"Claimed: {seen.claimed} ({seen.basis or 'basis not stated'})"]
    lines.append(f"Evidence: grade {seen.grade.value}, {seen.grade.meaning}; at most `{seen.grade.strongest.value}`")
    lines.append(f"Possible on its hardware? {ceiling_words(seen.ceiling)}")
    lines += [f"Does not fit: {one_line(one)}" for one in seen.contradictions]
    lines += [f"Acceptance switch: {one_line(one)}" for one in seen.switches]
    lines += [line for piece in _pieces(seen) for line in _piece(piece)]
    lines.append(f"To ask the claimant: {plural(len(seen.questions), 'question')}, in the report.")
    return lines


def sentence_of(review: Review) -> str:
    """The verdict's sentence with its capital and stop."""
    words = one_line(review.sentence)
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."


def markdown_of(review: Review) -> str:
    """The review to paste into a thread, neutral in tone."""
    seen = visible(review)
    lines = [f"**{seen.verdict.value}**: {safe(seen.title, 200)}", "", safe(sentence_of(seen), 500), ""]
    lines += [f"- {safe(one, 300)}" for one in seen.reasons[:_MOST]]
    lines.append(f"- Claimed {safe(seen.claimed, 80)}; evidence of grade {seen.grade.value}, {seen.grade.meaning}")
    lines.append(f"- Possible on its hardware? {safe(ceiling_words(seen.ceiling), 400)}")
    lines += [f"- Does not fit: {safe(one, 300)}" for one in seen.contradictions]
    for piece in _pieces(seen):
        lines += [f"- {safe(line, 500)}" for line in _piece(piece)]
    if seen.questions:
        lines += ["", "Questions to the claimant:", ""]
        lines += [f"{number}. {safe(one, 300)}" for number, one in enumerate(seen.questions[:_MOST], 1)]
    lines += ["", "Nothing was measured for this review: a reproduction takes a run on the claim's hardware."]
    return "\n".join([*lines, "", f"auditor {seen.tool_version}, {seen.review}"]) + "\n"


def wrong_words(one: ImportFinding) -> str:
    """A printed figure and the right one: `390 for 50 tokens/s`."""
    printed = "not printed" if one.printed is None else figure(one.printed)
    right = "cannot be told" if one.right is None else figure(one.right)
    return f"`{one.figure}` printed {printed}, right {right} {one.unit or ''}".rstrip()


def _pieces(review: Review) -> list[ImportPiece | LogPiece | ForkPiece]:
    return [*review.imports, *review.logs, *review.forks]


def _piece(piece: ImportPiece | LogPiece | ForkPiece) -> Iterator[str]:
    if isinstance(piece, ImportPiece):
        name = one_line(piece.originals[0].name, 200)
        yield f"{name} ({piece.tool}, grade {piece.grade.value}): {piece.said.sentence}"
        wrong = [one for result in piece.results for one in result.wrong if one.outcome is Outcome.FAILS]
        yield from list(dict.fromkeys(map(wrong_words, wrong)))[:_MOST]
    elif isinstance(piece, LogPiece):
        yield f"{one_line(piece.reading.artefact.name, 200)} ({piece.reading.title} log): {piece.said.sentence}"
    else:
        yes = [f"{one.ask} {one.sentence}" for one in piece.answers if one.outcome == "yes"]
        head = f"{one_line(piece.name, 200)} at {piece.head[:12]} ({plural(piece.ahead, 'commit')} of its own)"
        yield f"{head}: {' '.join(yes[:_MOST]) or 'no question is answered yes.'}"
