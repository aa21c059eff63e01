"""The sections of a review's page on its pieces: a result file, a log, a fork."""

from collections.abc import Iterator

from auditor.core.enginelogs.rates import RateSummary
from auditor.core.explain.record import Explanation
from auditor.core.forks.answers import Answer, Line
from auditor.core.imports.claimed import Beside
from auditor.core.inspection.record import Inspection
from auditor.core.reviewing.record import ForkPiece, ImportPiece, LogPiece, ResultPiece
from auditor.core.wording import plural
from auditor.report.forkwords import class_words, found_words
from auditor.report.shown import NOT_KNOWN, figure, one_line
from auditor.report.views import Block, Cell, Row, Section, Table, cells, columns
from auditor.terms import Outcome

_FIGURES, _MISFITS, _LINES = 8, 20, 12
_STRENGTHS = {"contradiction": "bad", "odd": "warn", "note": "plain"}
_ANSWERS = {"yes": "warn", "no": "ok", "unclear": "plain"}


def import_section(piece: ImportPiece, number: int) -> Section:
    """A result file: right figures beside wrong ones, the claim beside it, and what does not fit."""
    name = one_line(piece.originals[0].name, 80)
    blocks = [_results(piece.results) if len(piece.results) > 1 else _result(piece.results[0])]
    if piece.more_results:
        more = f"{plural(piece.more_results, 'further result')} of the file: `audit import --full` shows them"
        blocks.append(Block(note=more))
    for beside in piece.beside[:1]:
        blocks += _explained(beside.explanation, _beside_words(beside))
    blocks.append(_inspected(piece.inspection))
    return Section(f"import-{number}", f"File: {name}", (), tuple(blocks))


def _result(result: ResultPiece) -> Block:
    words = f"{result.grade.value}: {result.grade_because}. {_load(result)}. Counted by: {result.counted_by}."
    heads = columns("figure", "#printed", "#right", "unit")
    rows = tuple(cells(name, *rest, mark=mark) for name, rest, mark in _figures(result, _FIGURES))
    table = Table("Printed figures, and the right one where another is printed", heads, rows)
    return Block(paragraphs=(words,), table=table if rows else None)


def _results(results: tuple[ResultPiece, ...]) -> Block:
    """Several results in one table, each with what is wrong in it and the first of its rates."""
    rows = tuple(
        cells(Cell(one_line(one.name, 120), _load(one)), name, *rest, mark=mark)
        for one in results
        for name, rest, mark in _figures(one, 1)
    )
    words = f"{results[0].grade.value}: {results[0].grade_because}. Counted by: {results[0].counted_by}."
    heads = columns("result", "figure", "#printed", "#right", "unit")
    table = Table("Printed figures, and the right one where another is printed", heads, rows)
    return Block(paragraphs=(words,), table=table if rows else None)


def _load(result: ResultPiece) -> str:
    model = one_line(result.model or "", 120) or "model not said"
    return f"{plural(result.requests, 'request')}, {model}" if result.requests else model


def _figures(result: ResultPiece, most: int) -> Iterator[tuple[Cell, tuple[str, str, str], str]]:
    """Each wrong figure with the right one, then the first that are as they should be."""
    for wrong in result.wrong:
        name = Cell(f"`{one_line(wrong.figure or '', 120)}`", one_line(wrong.sentence))
        printed = NOT_KNOWN if wrong.printed is None else figure(wrong.printed)
        right = "cannot be told" if wrong.right is None else figure(wrong.right)
        yield name, (printed, right, wrong.unit or ""), "met" if wrong.outcome is Outcome.FAILS else ""
    about = {wrong.figure for wrong in result.wrong}
    for one in [one for one in result.figures if one.name not in about][:most]:
        yield Cell(f"`{one_line(one.name, 120)}`"), (figure(one.value), "", one.unit), ""


def _beside_words(beside: Beside) -> str:
    same = {True: "It is of the claim's model", False: "It is of another model", None: "Its model is not known"}
    words = f"{same[beside.is_same_model]}. Judged on {beside.judged_on}: {beside.judged_because}."
    return f"{words} By itself: {beside.verdict.value}: {beside.sentence}."


def _explained(found: Explanation, words: str) -> list[Block]:
    """What meets the claim, by which chance, and what would have to be true."""
    meets = [one for one in found.readings if one.state in ("meets", "meets once")]
    rows = tuple(
        cells(Cell(one.name, one.formula), figure(one.estimate.value, (found.claim_low, found.claim_high)), one.unit)
        for one in meets
        if one.estimate
    )
    table = Table("Counting rules that meet the claim", columns("rule", "#gives", "unit"), rows)
    lines = (words, *found.words, found.chance_words, found.caution)
    blocks = [Block("The claim beside it", paragraphs=lines, table=table if rows else None)]
    if found.backwards:
        items = tuple(f"{one.sentence} {one.why}" for one in found.backwards)
        blocks.append(Block(items=items, summary="What would have to be true"))
    return blocks


def _inspected(found: Inspection) -> Block:
    seen = found.all_found
    rows = tuple(
        cells(
            Cell(one.strength, mark=_STRENGTHS[one.strength]),
            Cell(one_line(one.sentence), f"In honest files: {one.seen_in_honest}" if one.seen_in_honest else ""),
        )
        for _, one in seen[:_MISFITS]
    )
    if not rows:
        return Block("What does not fit in it", paragraphs=("Nothing was found that does not fit.",))
    more = f"{plural(len(seen) - _MISFITS, 'more')} in `audit inspect`" if len(seen) > _MISFITS else ""
    table = Table("Inspection; none of it says that anything was forged", columns("strength", "found"), rows)
    return Block("What does not fit in it", table=table, note=more)


def log_section(piece: LogPiece, number: int) -> Section:
    """A log: interval means, counters, acceptance, whether its lines agree, and what meets the claim."""
    reading = piece.reading
    rows = [_rate(name, one) for name, one in reading.rates.by_name.items()]
    alone = (("one request running", reading.rates.alone), ("several", reading.rates.several))
    rows += [_rate(f"delivered, {name}", one) for name, one in alone if one]
    heads = columns("rate", "#mean", "#best", "#least", "#lines")
    blocks = [Block(table=Table("What its intervals print, tok/s", heads, tuple(rows)))] if rows else []
    pairs = [("A line is", reading.averaging), *_acceptance(piece), *_agreement(piece)]
    pairs += [(sign.kind, f"{sign.text} (line {sign.line})") for sign in reading.signs if sign.is_grave]
    table = Table(
        "What the log says of itself", columns("of", "says"), tuple(cells(*map(one_line, pair)) for pair in pairs)
    )
    blocks.append(Block(table=table))
    if reading.witnesses and piece.of_claim.same is not False:
        items = tuple(one_line(one.sentence) for one in reading.witnesses)
        blocks.append(Block("Figures that meet the number", items=items))
    if piece.explanation:
        blocks += _explained(piece.explanation, f"From {piece.explanation.given}.")
    elif piece.no_explanation:
        blocks.append(Block("The claim beside it", paragraphs=(f"Not laid beside: {piece.no_explanation}.",)))
    name = one_line(reading.artefact.name, 80)
    return Section(f"log-{number}", f"Log: {name}", (piece.of_claim.sentence,), tuple(blocks))


def _rate(name: str, one: RateSummary) -> Row:
    return cells(name, one.mean, Cell(one.best, f"line {one.best_line:,}"), one.least, f"{one.lines:,}")


def _acceptance(piece: LogPiece) -> list[tuple[str, str]]:
    found = piece.reading.acceptance
    if found is None:
        return [("Acceptance", "no drafts are printed")]
    counts = ""
    if found.accepted is not None and found.drafted is not None:
        counts = f" ({found.accepted:,} accepted of {found.drafted:,} drafted)"
    pairs = [
        ("Acceptance rate", f"{found.rate}{counts}" if found.rate else f"not known: {found.reason or 'no counts'}")
    ]
    if found.length:
        pairs.append(("Acceptance length", f"{found.length} ({found.length_how})"))
    if found.per_position:
        pairs.append(("By position", ", ".join(found.per_position)))
    if found.reported_rate:
        pairs.append(("The engine's own rate", f"{found.reported_rate}: {found.reported_definition or 'not defined'}"))
    return pairs


def _agreement(piece: LogPiece) -> list[tuple[str, str]]:
    found = piece.reading.identity
    if found is None or not found.checked:
        return []
    states = ", ".join(f"{state} {count:,}" for state, count in found.states.items())
    return [("Agreement of its lines", f"{found.rule}: {found.checked:,} lines: {states}")]


def fork_section(piece: ForkPiece, number: int) -> Section:
    """A fork: the answers with their lines."""
    rows = tuple(
        cells(one.ask, Cell(one.outcome, mark=_ANSWERS[one.outcome]), Cell(one.sentence, note=found_words(one)))
        for one in piece.answers
    )
    table = Table("What a reviewer asks, and what the changed lines say", columns("question", "answer", "why"), rows)
    blocks = [Block(table=table)]
    blocks += [_lines(one) for one in piece.answers if one.sure.lines or one.hints.lines]
    kinds = tuple(cells(class_words(one), f"{one.added:,}", f"{one.removed:,}") for one in piece.classes)
    classes = Table("Changed lines by class", columns("class", "#added", "#removed"), kinds)
    if kinds:
        blocks.append(Block(table=classes, summary=f"{plural(piece.lines, 'changed line')} by class"))
    which = {True: "this commit", False: "another commit", None: "no commit"}[piece.is_claimed]
    lead = f"Commit {piece.head[:12]}, {plural(piece.ahead, 'commit')} of its own, beside "
    beside = one_line(piece.upstream or "its own repository", 120)
    lead += f"{beside} at {(piece.base or '')[:12]}. The claim names {which}."
    return Section(f"fork-{number}", f"Fork: {one_line(piece.name, 80)}", (lead, *piece.notes), tuple(blocks))


def _lines(answer: Answer) -> Block:
    found = answer.sure if answer.sure.lines else answer.hints
    rows = tuple(cells(_place(line), _code(line)) for line in found.lines[:_LINES])
    words = f"{answer.ask} {plural(min(len(found.lines), _LINES), 'line')} of {found.count:,}"
    return Block(table=Table("Changed lines", columns("file", "line"), rows), summary=words)


def _place(line: Line) -> Cell:
    sides = {"+": "line {} of the fork", "-": "line {} of the base, removed", "": ""}
    return Cell(one_line(line.path, 300), note=sides[line.sign].format(f"{line.number:,}"))


def _code(line: Line) -> str:
    text = one_line(line.text)
    return text if "`" in text or not text else f"`{text}`"
