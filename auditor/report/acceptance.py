"""What was accepted: by load, by position in the draft, by step, and by kind of prompt."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from auditor.core.counting.ledger import ExchangeLedger, Ledger
from auditor.core.judging.verdict import CellSummary, Verdict
from auditor.core.wording import plural
from auditor.report.rates import marks_of
from auditor.report.shown import NOT_KNOWN, count, figure, percent
from auditor.report.tokens import TokenDigest
from auditor.report.views import Block, Cell, Chart, Section, Table, cells, columns


def acceptance_section(verdict: Verdict, ledger: Ledger, digest: TokenDigest) -> Section:
    """What was accepted, and where."""
    blocks = [_by_load(verdict)]
    drafted = [cell for cell in verdict.cells if cell.tally.drafted]
    blocks.extend(block for cell in drafted for block in _of_cell(cell, digest))
    blocks.append(_by_kind(verdict, ledger))
    return Section("acceptance", "What was accepted", (), tuple(blocks))


def _by_load(verdict: Verdict) -> Block:
    rows = []
    for cell in verdict.cells:
        if cell.speculation == "off":
            continue
        rate = NOT_KNOWN if cell.acceptance_rate is None else percent(cell.acceptance_rate)
        length = NOT_KNOWN if cell.acceptance_length is None else figure(cell.acceptance_length, (1,))
        counts = (count(cell.tally.drafted), count(cell.tally.accepted))
        rows.append(cells(cell.cell, cell.speculation, *counts, rate, length))
    if not rows:
        return Block(paragraphs=("No load was measured with speculation.",))
    heads = columns("Load", "Speculation", "#Drafted", "#Accepted", "#Rate, A / D", "#Length, 1 + A / S")
    return Block(table=Table("Acceptance by load", heads, tuple(rows)))


def _of_cell(cell: CellSummary, digest: TokenDigest) -> Iterator[Block]:
    """By position as the server counts it, and by step as the streams show it."""
    heading = f"{cell.cell}: {cell.speculation}"
    if cell.accepted_by_position is None:
        words = "By position in the draft: not known, the server does not count it for this kind of speculation."
        yield Block(heading, (words,))
    else:
        steps = cell.tally.verify_steps
        found = dict(enumerate(cell.accepted_by_position, 1))
        options = {"title": "position in the draft", "of": "accepted, of verify steps"}
        yield Block(heading)
        yield from _shares(f"positions-{cell.cell}", found, steps, options)
    per_step = digest.accepted_per_step.get(cell.cell)
    if not per_step:
        yield Block(paragraphs=("By step: not known, the server does not show its steps.",))
        return
    found = {number: per_step[number] for number in range(max(per_step) + 1)}
    options = {"title": "drafts accepted in a step", "of": "of verify steps"}
    yield from _shares(f"steps-{cell.cell}", found, sum(found.values()), options)


def _shares(name: str, found: dict[int, int], total: int | None, options: dict[str, str]) -> Iterator[Block]:
    shares = {number: n / total if total else None for number, n in found.items()}
    texts = {number: NOT_KNOWN if share is None else percent(share) for number, share in shares.items()}
    heads = columns(options["title"].capitalize(), "#Number", f"#Share {options['of'].removeprefix('accepted, ')}")
    rows = tuple(cells(str(number), count(n), texts[number]) for number, n in found.items())
    table = Table(f"By {options['title']}", heads, rows)
    drawn = tuple({"number": number, "share": share} for number, share in shares.items() if share is not None)
    words = ", ".join(f"{number}: {texts[number]}" for number in found)
    chart = Chart(name, "shares", f"Share {options['of']} by {options['title']}. {words}.", drawn, (), dict(options))
    if not drawn:
        yield Block(table=table)
        return
    yield Block(table.caption, chart=chart, is_half=True)
    yield Block(table=table, summary=f"{table.caption}, as a table", is_half=True)


def _by_kind(verdict: Verdict, ledger: Ledger) -> Block:
    subject = next((cell.cell for cell in verdict.cells if cell.role == "subject"), None)
    lines: dict[str, list[ExchangeLedger]] = defaultdict(list)
    for line in ledger.exchanges:
        if line.cell == subject and line.status == "complete":
            lines[line.kind].append(line)
    marks, rows = marks_of(verdict.claimed), []
    for kind, own in lines.items():
        estimate = verdict.by_kind.get(kind)
        drafted, accepted = _sum(line.tally.drafted for line in own), _sum(line.tally.accepted for line in own)
        share = percent(accepted / drafted) if accepted is not None and drafted else NOT_KNOWN
        rate = Cell(NOT_KNOWN)
        if estimate is not None:
            width = f"no interval ({plural(estimate.n, 'answer')})"
            if estimate.low is not None and estimate.high is not None:
                width = f"{figure(estimate.low, marks)} to {figure(estimate.high, marks)}"
            rate = Cell(figure(estimate.value, marks), width)
        rows.append(cells(kind, count(len(own)), rate, count(drafted), count(accepted), share))
    if not rows:
        return Block(heading="By kind of prompt", paragraphs=("Not known: no answer of the judged load is complete.",))
    heads = columns("Kind", "#Answers", "#Decode, tok/s", "#Drafted", "#Accepted", "#Rate, A / D")
    return Block(heading="By kind of prompt", table=Table("The judged load by kind of prompt", heads, tuple(rows)))


def _sum(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return None if None in known else sum(value or 0 for value in known)
