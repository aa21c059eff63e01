"""Where the rest went: what was drafted and never delivered, and the counting rules side by side."""

from collections.abc import Iterable

from auditor.core.bases import BasisValue
from auditor.core.verdict import CellSummary, Verdict
from auditor.report.rates import factor, interval, interval_row, label_of, marks_of, span
from auditor.report.shown import NOT_KNOWN, figure
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
        rows.append(cells(label_of(cell), *shown, mark="strong" if cell.role == "subject" else ""))
    heads = ("#N delivered", "#F first", "#P plain", "#S verify", "#D drafted", "#A accepted", "#R rejected")
    return Table("Counts by load", columns("Load", *heads, "#O overshoot", "#k"), tuple(rows))


def _identity(cell: CellSummary) -> str:
    identity = cell.identity
    if identity.outcome is Outcome.HOLDS and identity.is_exact:
        how = "exact, every term counted on its own" if cell.tally.overshoot is not None else "exact"
    elif identity.outcome is Outcome.HOLDS:
        how = "holds, with the overshoot as the remainder and within its bounds"
    else:
        how = "does not add up" if identity.outcome is Outcome.FAILS else "cannot be checked"
    return f"{cell.cell}: {identity.sentence} ({how})"


def _basis_blocks(verdict: Verdict) -> Iterable[Block]:
    claimed, marks = verdict.claimed, marks_of(verdict.claimed)
    known = [basis for basis in verdict.bases if basis.estimate is not None]
    known.sort(key=lambda basis: -basis.estimate.value if basis.estimate else 0.0)
    if not known:
        words = "Nothing was measured that could be counted in another way."
        yield Block(heading="Counting rules side by side", paragraphs=(words,))
        return
    clock = claimed.judged_on.partition("/")[2]
    clock = clock if clock in ("decode", "request", "system") else "decode"
    shown = [basis for basis in known if basis.id.partition("/")[2] not in {"decode", "request", "system"} - {clock}]
    rows = [_basis_point(basis, marks, basis.id == claimed.judged_on) for basis in shown]
    options = {"low": claimed.low, "high": claimed.high, "text": claimed.text}
    words = "; ".join(f"{row['label']} {row['text']}" for row in rows)
    text = f"Tokens per second by counting rule, claimed {claimed.text}: {words}."
    keys = (Key("delivered", "the judged basis"), Key("quiet", "other counting rules"), Key("claim", "the claim"))
    paragraphs = ["What the published number may have counted: each rule below, applied to this measurement."]
    if verdict.matching:
        paragraphs.append(verdict.matching_caution)
    elif claimed.low is not None:
        paragraphs.append("No rule meets the claim. A rule without an interval, or with too wide a one, meets nothing.")
    yield Block(
        heading="Counting rules side by side",
        paragraphs=tuple(paragraphs),
        chart=Chart("bases", "bases", text, tuple(rows), keys if claimed.low is not None else keys[:2], options),
    )
    heads = columns("Counting rule", "#tok/s", "95 % interval", "#Claim / value", "Formula")
    table = Table("Counting rules, the largest first", heads, tuple(_basis_rows(verdict, known, marks)))
    note = "Honest: counts delivered tokens under a label that people use for them. Symbols are in the glossary."
    yield Block(table=table, note=note)


def _basis_point(basis: BasisValue, marks: tuple[float, ...], is_judged: bool) -> dict[str, object]:
    assert basis.estimate is not None
    name = basis.name.removesuffix(", first to last event").removesuffix(", send to end")
    row = interval_row(name, basis.estimate, marks, "delivered" if is_judged else "quiet")
    return {**row, "short": basis.formula.partition(" per s of ")[0]}


def _basis_rows(verdict: Verdict, known: list[BasisValue], marks: tuple[float, ...]) -> Iterable[Row]:
    claimed = verdict.claimed
    is_claim_due = claimed.low is not None and claimed.high is not None
    middle = ((claimed.low or 0) + (claimed.high or 0)) / 2
    claim = cells("claimed", claimed.text, span(claimed), "", "", mark="claim")
    for basis in known:
        estimate = basis.estimate
        if estimate is None:
            continue
        if is_claim_due and estimate.value < middle:
            yield claim
            is_claim_due = False
        value, times = figure(estimate.value, marks), factor(claimed, estimate) or ""
        mark = "strong" if basis.id == claimed.judged_on else ""
        yield cells(_basis_name(verdict, basis), value, interval(estimate, marks), times, basis.formula, mark=mark)
    if is_claim_due:
        yield claim
    for basis in verdict.bases:
        if basis.estimate is None:
            yield cells(Cell(basis.name), NOT_KNOWN, basis.reason or "", "", basis.formula)


def _basis_name(verdict: Verdict, basis: BasisValue) -> Cell:
    judged = "judged" if basis.id == verdict.claimed.judged_on else ""
    honest = "honest" if basis.is_honest else ""
    note = ", ".join(word for word in (judged, honest) if word)
    if basis.id in verdict.matching:
        return Cell(basis.name, f"meets the claim{f', {note}' if note else ''}", "warn")
    return Cell(basis.name, note)
