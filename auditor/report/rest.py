"""Where the rest went: what was drafted and never delivered, and the counting rules side by side."""

from collections.abc import Iterable
from typing import Any

from auditor.core.bases import BasisValue
from auditor.core.verdict import CellSummary, Verdict
from auditor.report.rates import NO_INTERVAL, bare_interval, factor, interval_row, marks_of, short_text, span
from auditor.report.shown import NOT_KNOWN, figure, plural
from auditor.report.views import Block, Cell, Chart, Key, Row, Section, Table, cells, columns
from auditor.terms import Outcome


def rest_section(verdict: Verdict) -> Section:
    """Where the rest went: what was drafted and never delivered, and the counting bases side by side."""
    blocks = []
    segments = [row for cell in verdict.cells for row in _segments(cell)]
    if segments:
        words = "; ".join(_split_words(cell) for cell in verdict.cells)
        used = {row["part"] for row in segments}
        keys = tuple(Key(color, label) for part, (color, label) in PARTS.items() if part in used)
        chart = Chart("split", "split", f"Tokens per 100 delivered. {words}.", tuple(segments), keys)
        blocks.append(Block(chart=chart, note="Left of 100: what reached the client. Right of it: what did not."))
    blocks.append(Block(table=_terms(verdict)))
    blocks.append(
        Block(
            heading="Does it add up?",
            paragraphs=("Delivered = first + plain + verify steps + accepted - overshoot.",),
            items=tuple(_identity(cell) for cell in verdict.cells),
        )
    )
    blocks.extend(_basis_blocks(verdict))
    return Section("rest", "Where the rest went", (), tuple(blocks))


PARTS = {
    "first": ("first", "first token, from the prefill"),
    "plain": ("plain", "plain steps"),
    "bonus": ("bonus", "verify steps: the target's own token"),
    "target": ("plain", "steps of the target"),
    "accepted": ("delivered", "accepted drafts"),
    "unsplit": ("quiet", "delivered, origin not told by the server"),
    "rejected": ("rejected", "rejected drafts, never delivered"),
    "overshoot": ("overshoot", "overshoot, counted past the end"),
}
"""The parts of a bar: name, colour, label."""


def _parts(cell: CellSummary) -> dict[str, int]:
    tally = cell.tally
    if not tally.delivered:
        return {}
    parts: dict[str, int | None]
    if tally.first is None or tally.target_steps is None or tally.accepted_delivered is None:
        parts = {"unsplit": tally.delivered}
    elif tally.plain_steps is None or tally.verify_steps is None:
        parts = {"first": tally.first, "target": tally.target_steps, "accepted": tally.accepted_delivered}
    else:
        steps = {"plain": tally.plain_steps, "bonus": tally.verify_steps}
        parts = {"first": tally.first, **steps, "accepted": tally.accepted_delivered}
    over = tally.overshoot if tally.overshoot is not None else tally.overshoot_left
    parts |= {"rejected": cell.rejected, "overshoot": over}
    return {name: number for name, number in parts.items() if number is not None and number > 0}


def _segments(cell: CellSummary) -> list[dict[str, object]]:
    delivered = cell.tally.delivered or 1
    rows, at = [], 0
    for part, number in _parts(cell).items():
        ends = {"from": 100 * at / delivered, "to": 100 * (at + number) / delivered}
        rows.append({"cell": cell.cell, "part": part, "color": PARTS[part][0], "count": number, **ends})
        at += number
    return rows


def _split_words(cell: CellSummary) -> str:
    parts = [f"{number:,} {PARTS[part][1].split(',')[0]}" for part, number in _parts(cell).items()]
    return f"{cell.cell}: {', '.join(parts) or 'nothing delivered'}"


def _terms(verdict: Verdict) -> Table:
    rows = []
    for cell in verdict.cells:
        tally = cell.tally
        over = tally.overshoot if tally.overshoot is not None else tally.overshoot_left
        numbers = (tally.delivered, tally.first, tally.plain_steps, tally.verify_steps, tally.drafted, tally.accepted)
        shown = [NOT_KNOWN if n is None else f"{n:,}" for n in (*numbers, cell.rejected, over, tally.draft_width)]
        rows.append(cells(cell.cell, *shown, mark="strong" if cell.role == "subject" else ""))
    heads = ("#N delivered", "#F first", "#P plain", "#S verify", "#D drafted", "#A accepted", "#R rejected")
    return Table("Counts by load", columns("Load", *heads, "#O overshoot", "#k width"), tuple(rows))


def _identity(cell: CellSummary) -> str:
    identity = cell.identity
    if identity.outcome is Outcome.HOLDS and identity.is_exact:
        how = "exact, every term counted on its own" if cell.tally.overshoot is not None else "exact"
    elif identity.outcome is Outcome.HOLDS:
        how = "holds, with the overshoot as the remainder and within its bounds"
    else:
        how = "does not add up" if identity.outcome is Outcome.FAILS else "cannot be checked"
    return f"{cell.cell}: {identity.sentence} ({how})"


CLOCKS = ("decode", "request", "system")


def _basis_blocks(verdict: Verdict) -> Iterable[Block]:
    """The rules that matter in a chart and a table; the others folded away."""
    claimed, marks = verdict.claimed, marks_of(verdict.claimed)
    main = [basis for basis in verdict.bases if _is_main(verdict, basis)]
    heading = "Counting rules side by side"
    if not main:
        yield Block(heading=heading, paragraphs=("Nothing was measured that could be counted in another way.",))
        return
    rows = [_basis_point(verdict, basis, marks) for basis in _sorted(main)]
    formulas = [row["short"] for row in rows]
    rows = [row if formulas.count(row["short"]) == 1 else {**row, "short": row["label"]} for row in rows]
    options = {"low": claimed.low, "high": claimed.high}
    words = "; ".join(f"{row['label']} {row['text']}" for row in rows)
    text = f"Tokens per second by counting rule, claimed {claimed.text}: {words}."
    keys = (Key("delivered", "the judged basis"), Key("quiet", "other counting rules"), Key("claim", "the claim"))
    paragraphs = ["What the published number may have counted: each rule, applied to this measurement."]
    if verdict.matching:
        paragraphs.append(verdict.matching_caution)
    elif claimed.low is not None:
        paragraphs.append("No rule meets the claim. A rule without an interval, or with too wide a one, meets nothing.")
    yield Block(
        heading=heading,
        paragraphs=tuple(paragraphs),
        chart=Chart("bases", "bases", text, tuple(rows), keys if claimed.low is not None else keys[:2], options),
        table=_basis_table(verdict, main, marks, "Counting rules, the largest first"),
        note="Honest: counts delivered tokens under a label that people use for them. Symbols are in the glossary.",
    )
    others = [basis for basis in verdict.bases if basis not in main]
    if others:
        table = _basis_table(verdict, others, marks, "Further counting rules")
        yield Block(table=table, summary=f"{plural(len(others), 'further rule')}: other clocks, and what has no figure")


def _clock(verdict: Verdict) -> str:
    """The clock of the judged basis; decode where it has none."""
    clock = verdict.claimed.judged_on.partition("/")[2]
    return clock if clock in CLOCKS else CLOCKS[0]


def _is_main(verdict: Verdict, basis: BasisValue) -> bool:
    if basis.estimate is None:
        return False
    is_special = basis.is_honest or basis.id in verdict.matching or basis.id == verdict.claimed.judged_on
    return is_special or basis.id.endswith(f"/{_clock(verdict)}")


def _sorted(bases: Iterable[BasisValue]) -> list[BasisValue]:
    """The largest first; those without a value last."""
    return sorted(bases, key=lambda basis: (basis.estimate is None, -basis.estimate.value if basis.estimate else 0.0))


def _basis_point(verdict: Verdict, basis: BasisValue, marks: tuple[float, ...]) -> dict[str, Any]:
    assert basis.estimate is not None
    color = "delivered" if basis.id == verdict.claimed.judged_on else "quiet"
    clock = basis.id.partition("/")[2]
    like = next((one.name for one in verdict.bases if one.id == f"delivered/{clock}"), "")
    name = basis.name.removesuffix(f", {like.partition(', ')[2]}") if clock == _clock(verdict) else basis.name
    row = interval_row(name, basis.estimate, marks, color)
    return {**row, "short": basis.formula.removesuffix(f" per s of {_clock(verdict)}")}


def _basis_table(verdict: Verdict, bases: Iterable[BasisValue], marks: tuple[float, ...], caption: str) -> Table:
    """Sorted rules with the claim in its place; without intervals, where no rule has one."""
    found = _sorted(bases)
    estimates = [basis.estimate for basis in found if basis.estimate is not None]
    has_intervals = any(estimate.low is not None for estimate in estimates)
    numbers = sorted({estimate.n for estimate in estimates})
    if numbers:
        n = f"n = {' or '.join(map(str, numbers))}"
        caption = f"{caption} ({n})" if has_intervals else f"{caption} ({NO_INTERVAL}, {n})"
    rows = [_basis_row(verdict, basis, marks, has_intervals) for basis in found]
    claimed = verdict.claimed
    if claimed.low is not None and claimed.high is not None and estimates:
        middle = (claimed.low + claimed.high) / 2
        at = sum(estimate.value >= middle for estimate in estimates)
        spans = (span(claimed),) if has_intervals else ()
        rows.insert(at, cells("claimed", short_text(claimed), *spans, "", "", mark="claim"))
    heads = ("#tok/s", "#95 % interval") if has_intervals else ("#tok/s",)
    return Table(caption, columns("Counting rule", *heads, "#Claim / value", "Formula"), tuple(rows))


def _basis_row(verdict: Verdict, basis: BasisValue, marks: tuple[float, ...], has_intervals: bool) -> Row:
    estimate, claimed = basis.estimate, verdict.claimed
    name = _basis_name(verdict, basis)
    if estimate is None:
        blank = ("",) if has_intervals else ()
        return cells(Cell(name.text, basis.reason or ""), NOT_KNOWN, *blank, "", basis.formula)
    value = Cell(figure(estimate.value, marks), "" if basis.unit == "tokens/s" else basis.unit)
    spans = (bare_interval(estimate, marks),) if has_intervals else ()
    mark = "strong" if basis.id == claimed.judged_on else "met" if basis.id in verdict.matching else ""
    return cells(name, value, *spans, factor(claimed, estimate) or "", basis.formula, mark=mark)


def _basis_name(verdict: Verdict, basis: BasisValue) -> Cell:
    notes = [
        "meets the claim" if basis.id in verdict.matching else "",
        "judged" if basis.id == verdict.claimed.judged_on else "",
        "honest" if basis.is_honest else "",
    ]
    return Cell(basis.name, ", ".join(note for note in notes if note))
