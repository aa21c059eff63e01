"""Where the rest went: what was delivered beside what was drafted and never delivered, and whether it adds up."""

from auditor.core.judging.verdict import CellSummary, Verdict
from auditor.report.shown import NOT_KNOWN
from auditor.report.views import Block, Chart, Key, Section, Table, cells, columns
from auditor.terms import Outcome


def rest_section(verdict: Verdict) -> Section:
    """Delivered beside rejected and overshoot, by load."""
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
