"""The gaps between events, steps and tokens of the judged load."""

import math
from collections import Counter
from collections.abc import Sequence

from auditor.core.counting.gaps import Gaps, GapSummary, quantile
from auditor.core.counting.ledger import Ledger
from auditor.core.wording import plural
from auditor.report.shown import NOT_KNOWN, count, milliseconds
from auditor.report.tokens import TokenDigest
from auditor.report.views import Block, Cell, Chart, Row, Section, Table, cells, columns

BINS_PER_DECADE = 4
LEAST_NS = 1000
"""Shorter gaps are drawn as this long; a logarithmic axis has no 0."""


def gaps_section(found: GapSummary, digest: TokenDigest, ledger: Ledger, subject: str) -> Section:
    """The time between events, steps and tokens: the figures of the verdict, and their sizes from the token log."""
    title = "Gaps between tokens and events"
    if found.icl_ns is None:
        return Section("gaps", title, ("Not known: fewer than two events were delivered on the judged load.",))
    lines = [line for line in ledger.exchanges if line.cell == subject]
    shared, events = sum(line.events_sharing_a_read for line in lines), sum(line.tally.events or 0 for line in lines)
    lead = f"All complete answers of the judged load. {shared:,} of {plural(events, 'event')} shared a socket read"
    lead += " with another"
    lead += ": these carry one time, and the gaps between them say nothing of the server." if shared else "."
    is_same = found.itl_ns is not None
    rows = [_row("between events, and so between tokens" if is_same else "between events", found.icl_ns)]
    if found.step_ns is not None:
        rows.append(_row("between steps", found.step_ns))
    if not is_same:
        rows.append(cells("between tokens", Cell(NOT_KNOWN, found.itl_reason or ""), *[""] * (len(_COLUMNS) - 2)))
    blocks = [Block(table=Table("Gaps", columns(*_COLUMNS), tuple(rows)))]
    drawn = (("events", digest.event_gaps_ns), ("steps", digest.step_gaps_ns))
    domain = gap_domain([gaps for _, gaps in drawn])
    for unit, gaps in drawn:
        if gaps:
            color = "quiet" if unit == "events" else "delivered"
            blocks.append(gap_block(f"Gaps between {unit}", f"gaps-{unit}", unit, gaps, domain, color))
    return Section("gaps", title, (lead,), tuple(blocks))


_COLUMNS = ("Gap", "#Number", "#Least", "#Median", "#90 % below", "#99 % below", "#Most")


def _row(label: str, gaps: Gaps) -> Row:
    values = (gaps.least_ns, gaps.median_ns, gaps.p90_ns, gaps.p99_ns, gaps.most_ns)
    return cells(label, count(gaps.n), *map(milliseconds, values))


def gap_domain(several: Sequence[Sequence[int]]) -> list[float]:
    """The axis that several ordered series of gaps share, milliseconds; those without a gap are passed over."""
    ends = [gaps[index] for gaps in several if gaps for index in (0, -1)]
    return [_edge(_bin(min(ends))), _edge(_bin(max(ends)) + 1)] if ends else []


def gap_block(heading: str, name: str, unit: str, gaps: Sequence[int], domain: list[float], color: str) -> Block:
    """Ordered gaps by size, in bins of equal width on a scale of powers of ten; `name` is the chart's own."""
    found = Counter(_bin(gap) for gap in gaps)
    rows = [
        {"color": color, "from": _edge(number), "to": _edge(number + 1), "n": found[number]} for number in sorted(found)
    ]
    text = f"{plural(len(gaps), 'gap')} between {unit}, from {milliseconds(gaps[0])} to {milliseconds(gaps[-1])}"
    text += f", half of them up to {milliseconds(quantile(gaps, 0.5))}."
    chart = Chart(name, "gaps", text, tuple(rows), (), {"unit": unit, "domain": domain})
    short = sum(1 for gap in gaps if gap < LEAST_NS)
    note = f"Shorter than 1 µs and drawn as 1 µs: {short:,} of {plural(len(gaps), 'gap')}." if short else ""
    return Block(heading, chart=chart, note=note, is_half=True)


def _bin(gap_ns: int) -> int:
    return math.floor(BINS_PER_DECADE * math.log10(max(gap_ns, LEAST_NS) / 1e6))


def _edge(number: int) -> float:
    """The lower edge of a bin, milliseconds."""
    return float(f"{10 ** (number / BINS_PER_DECADE):.6g}")
