"""Is the claim possible on its hardware at all? What the record of the ceiling says, in a few lines."""

from auditor.core.judging.ceiling import Ceiling, Line
from auditor.core.wording import plural
from auditor.core.wording import span as between
from auditor.report.shown import NOT_KNOWN, figure, percent
from auditor.report.views import Block, Cell, Row, Section, Table, cells, columns

TITLE = "Is it possible?"
_FIRST = 2
"""Lines that stand outside the fold."""


def possible_section(found: Ceiling | None) -> Section:
    """The claim beside what its hardware can do at most."""
    if found is None:
        return Section(
            "possible", TITLE, ("Not known: the claim states no hardware, model or number to work it out of.",)
        )
    lead = [ceiling_words(found)]
    if found.hard is not None:
        marks = _marks(found)
        lead.append(
            f"Hard bound in the most favourable reading of what is not stated: {figure(found.hard, marks)} tok/s."
        )
    blocks = []
    if found.until:
        blocks.append(Block("What would decide it", items=found.until))
    if found.lines:
        blocks.append(Block(table=_table(found, found.lines[:_FIRST], "Bounds of memory bandwidth, all streams")))
    if rest := found.lines[_FIRST:]:
        table = _table(found, rest, "Further bounds of memory bandwidth, all streams")
        blocks.append(Block(table=table, summary=f"{plural(len(rest), 'further bound')}: other layouts and settings"))
    if found.assumptions:
        words = f"{plural(len(found.assumptions), 'assumption')} of the most favourable reading"
        blocks.append(Block(items=found.assumptions, summary=words))
    return Section("possible", TITLE, tuple(lead), tuple(blocks))


def ceiling_words(found: Ceiling) -> str:
    """The sentence of the ceiling as a sentence."""
    return f"{found.sentence[:1].upper()}{found.sentence[1:].removesuffix('.')}."


def _marks(found: Ceiling) -> tuple[float, ...]:
    return tuple(end for end in (found.low, found.high) if end is not None)


def _table(found: Ceiling, lines: tuple[Line, ...], caption: str) -> Table:
    heads = columns("Setting", "#Expected, tok/s", "#Hard, tok/s", "#Claim, of hard")
    return Table(caption, heads, tuple(_row(found, line) for line in lines))


def _row(found: Ceiling, line: Line) -> Row:
    marks = _marks(found)
    name = Cell(
        f"{line.conditions}, {plural(line.streams, 'stream')}", f"{line.layout}, {figure(line.step_gb)} GB a step"
    )
    share = NOT_KNOWN if line.of_hard is None else " to ".join(dict.fromkeys(map(percent, line.of_hard)))
    return cells(name, between(*line.expected, marks), between(*line.hard, marks), share)
