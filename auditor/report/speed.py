"""The sections on speed: claimed against delivered, and whether speculation helps."""

from auditor.core.bases import BasisValue
from auditor.core.judging.verdict import Verdict
from auditor.report.rates import interval, interval_row, label_of, marks_of, rate_cell, short_text, span
from auditor.report.shown import NOT_KNOWN, figure
from auditor.report.views import Block, Cell, Chart, Row, Section, Table, cells, columns


def claimed_section(verdict: Verdict) -> Section:
    """Claimed against delivered."""
    claimed, marks = verdict.claimed, marks_of(verdict.claimed)
    rows = [cells("claimed", short_text(claimed), f"read as {span(claimed)}", mark="claim")]
    rows += [_basis_row(basis, marks, basis.id == claimed.judged_on) for basis in _delivered_bases(verdict)]
    table = Table("Tokens per second", columns("", "#tok/s", "#95 % interval"), tuple(rows))
    blocks = (
        Block(chart=_chart(verdict, marks), table=table),
        Block(heading="Every load that was measured", table=_loads(verdict, marks)),
    )
    lead = f"Judged on {_judged_name(verdict)}, because {claimed.judged_because}."
    if claimed.basis is not None and claimed.basis not in claimed.judged_because:
        lead += f" The claim’s own word for it: {claimed.basis}."
    return Section("claimed", "Claimed against delivered", (lead,), blocks)


def _chart(verdict: Verdict, marks: tuple[float, ...]) -> Chart | None:
    """The claim and every way to count delivered tokens on one axis; None when nothing was measured."""
    claimed = verdict.claimed
    rows = [
        interval_row(basis.name, basis.estimate, marks, "delivered" if basis.id == claimed.judged_on else "quiet")
        for basis in _delivered_bases(verdict)
        if basis.estimate is not None
    ]
    rows += [
        interval_row("without speculation, decode", cell.decode_rate, marks, "quiet")
        for cell in verdict.cells
        if cell.role == "reference" and cell.decode_rate and cell.streams == _judged_streams(verdict)
    ]
    if not rows:
        return None
    if claimed.low is not None and claimed.high is not None:
        ends = {"low": claimed.low, "high": claimed.high, "value": None}
        rows.insert(0, {"label": "claimed", "color": "claim", "text": short_text(claimed), **ends})
    words = "; ".join(f"{row['label']} {row['text']}" for row in rows)
    return Chart("intervals", "intervals", f"Tokens per second: {words}.", tuple(rows))


def _judged_name(verdict: Verdict) -> str:
    return f"“{verdict.delivered.name}”" if verdict.delivered else f"“{verdict.claimed.judged_on}”"


def _judged_streams(verdict: Verdict) -> int:
    return next((cell.streams for cell in verdict.cells if cell.role == "subject"), 1)


def _delivered_bases(verdict: Verdict) -> list[BasisValue]:
    """The judged basis first, then the other ways to count delivered tokens."""
    judged = [verdict.delivered] if verdict.delivered else []
    others = [b for b in verdict.bases if b.id.startswith("delivered/") or b.id == "peak/second"]
    return judged + [basis for basis in others if basis.is_honest and basis.id != verdict.claimed.judged_on]


def _basis_row(basis: BasisValue, marks: tuple[float, ...], is_judged: bool) -> Row:
    note, mark = ("the basis on which the claim is judged", "strong") if is_judged else ("", "")
    if basis.estimate is None:
        return cells(Cell(basis.name, "; ".join(filter(None, (note, basis.reason)))), NOT_KNOWN, "", mark=mark)
    return cells(
        Cell(basis.name, note), figure(basis.estimate.value, marks), interval(basis.estimate, marks), mark=mark
    )


def _loads(verdict: Verdict, marks: tuple[float, ...]) -> Table:
    rows = []
    for cell in verdict.cells:
        ttft = cell.ttft_ms
        wait = Cell(NOT_KNOWN)
        if ttft is not None:
            spread = "one answer" if ttft.n == 1 else f"mean of {ttft.n:,} answers"
            wait = Cell(f"{figure(ttft.value, (), 3)} ms", spread)
        name = Cell(label_of(cell), f"server “{cell.server}”, {cell.role}")
        system = rate_cell(cell.system_rate, marks)
        mark = "strong" if cell.role == "subject" else ""
        rows.append(cells(name, rate_cell(cell.decode_rate, marks), system, wait, mark=mark))
    heads = columns("Load", "#Decode, one stream", "#All streams", "#First token after")
    return Table("Delivered tokens per second, by load", heads, tuple(rows))


def pairs_section(verdict: Verdict) -> Section:
    """Does speculation help here?"""
    title = "Does speculation help here?"
    if not verdict.pairs:
        words = "Not known: no load was measured both with and without speculation. `--pair URL` measures both."
        return Section("pairs", title, (words,))
    by_key = {cell.cell: cell for cell in verdict.cells}
    marks, rows = marks_of(verdict.claimed), []
    for pair in verdict.pairs:
        one, other = by_key[pair.cell], by_key[pair.reference]
        rows.append(cells(label_of(one), rate_cell(one.decode_rate, marks), rate_cell(other.decode_rate, marks)))
    heads = columns("Load", "#With", "#Without")
    table = Table("Decode rate of one stream, tokens per second", heads, tuple(rows))
    items = tuple(f"{pair.cell}: {pair.sentence}" for pair in verdict.pairs)
    return Section("pairs", title, (), (Block(table=table, items=items),))
