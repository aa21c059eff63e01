"""How rates, claims and loads are put into words; shared by the sections on speed."""

import re
from collections.abc import Iterable
from typing import Any

from auditor.core.bases import BasisValue
from auditor.core.judging.verdict import CellSummary, Claimed, Verdict
from auditor.core.stats import Estimate
from auditor.core.wording import plural
from auditor.report.shown import NOT_KNOWN, figure, numbers_in
from auditor.report.views import Cell
from auditor.terms import VerdictKind

NO_INTERVAL = "no interval"


NOT_COMPARABLE = "not comparable"
"""Stands where a factor would, when what was measured is not what the claim is about."""


def marks_of(claimed: Claimed) -> tuple[float, ...]:
    """The numbers onto or across which nothing is rounded: the claim's, as written and as read."""
    ends = [end for end in (claimed.low, claimed.high) if end is not None]
    return (*numbers_in(claimed.text), *ends)


def interval(estimate: Estimate, marks: Iterable[float] = ()) -> str:
    """`55.1 to 61.2, n = 3`, or that there is no interval."""
    return f"{bare_interval(estimate, marks)}, n = {estimate.n:,}"


def bare_interval(estimate: Estimate, marks: Iterable[float] = ()) -> str:
    """The same without the number of repeats."""
    limits = tuple(marks)
    if estimate.low is None or estimate.high is None:
        return NO_INTERVAL
    return f"{figure(estimate.low, limits)} to {figure(estimate.high, limits)}"


def span(claimed: Claimed) -> str:
    """What the claim's own rounding allows."""
    if claimed.low is None or claimed.high is None:
        return "no number"
    return f"{figure(claimed.low)} to {figure(claimed.high)}"


def short_text(claimed: Claimed) -> str:
    """The claim beside its mark in a chart."""
    text = claimed.text.removesuffix(" tok/s")
    return text if len(text) <= 16 else span(claimed)


LONG = 300
"""Letters above which what is said of the rules, which then lists them, does not stand at the front."""


def is_comparable(verdict: Verdict) -> bool:
    """Whether what was measured is what the claim is about, so that one may be set against the other."""
    return verdict.kind is not VerdictKind.NOT_COMPARABLE and not verdict.run.rehearsal


def is_valid(verdict: Verdict) -> bool:
    """Whether the speed that was measured is one of valid output; that of any other is no throughput."""
    return verdict.kind is not VerdictKind.INVALID_OUTPUT


def factor(verdict: Verdict, basis: BasisValue | None) -> str | None:
    """Claim by value, the least and the most that both intervals allow; None where either is missing, and where what
    was measured is not what the claim is about or no valid output."""
    if not is_comparable(verdict) or not is_valid(verdict):
        return None
    readings = verdict.explanation.readings if verdict.explanation else ()
    ends = next((reading.factor for reading in readings if basis is not None and reading.id == basis.id), None)
    if ends is not None:
        low, high = (figure(end, (1,), 3) for end in ends)
        return low if low == high else f"{low} to {high}"
    claimed, estimate = verdict.claimed, basis.estimate if basis else None
    if claimed.low is None or claimed.high is None or estimate is None or not estimate.value:
        return None
    return figure((claimed.low + claimed.high) / 2 / estimate.value, (1,), 3)


def explained(verdict: Verdict) -> tuple[str, ...]:
    """What may be said of the counting rules; without the factor where there is none to be shown."""
    words = verdict.explanation.words if verdict.explanation else ()
    return words if is_comparable(verdict) else tuple(one for one in words if not _FACTOR.match(one))


_FACTOR = re.compile(r"The claim is \S+( to \S+)? times what was delivered|What was delivered meets the claim")


def label_of(cell: CellSummary) -> str:
    """A cell in a few words: `subject: ngram-simple, k = 8, 1 stream`."""
    how = "without speculation" if cell.speculation == "off" else cell.speculation
    how = "speculation not known" if how == NOT_KNOWN else how
    return f"{cell.cell}: {how}, {plural(cell.streams, 'stream')}"


def rate_cell(estimate: Estimate | None, marks: Iterable[float], reason: str | None = None) -> Cell:
    """A rate with its interval beneath."""
    if estimate is None:
        return Cell(NOT_KNOWN, reason or "")
    limits = tuple(marks)
    return Cell(figure(estimate.value, limits), interval(estimate, limits))


def interval_row(label: str, estimate: Estimate, marks: tuple[float, ...], color: str) -> dict[str, Any]:
    """A row of a chart: a value with its interval."""
    value = estimate.value
    low = value if estimate.low is None else estimate.low
    high = value if estimate.high is None else estimate.high
    return {"label": label, "low": low, "high": high, "value": value, "text": figure(value, marks), "color": color}


def measured_words(verdict: Verdict) -> str:
    """What was measured, as far as it was observed: `model X, engine Y, GPU not known`."""
    observed = {row.field: row.observed or NOT_KNOWN for row in verdict.comparisons}
    return ", ".join(f"{field} {observed[field]}" for field in ("model", "engine", "GPU") if field in observed)
