"""The gaps between events, steps and tokens of a cell, and how many drafts its steps accepted."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from auditor.core.counting.exchange import Counted
from auditor.core.record import Record


class Gaps(Record):
    """Gaps of one kind, nanoseconds; a quantile is the least gap that is not below its share of all."""

    n: int
    least_ns: int
    median_ns: int
    p90_ns: int
    p99_ns: int
    most_ns: int


class GapSummary(Record):
    """The gaps of all complete answers of a cell."""

    icl_ns: Gaps | None = None
    """Between events that carried something."""
    step_ns: Gaps | None = None
    """Between the first events of target steps, where steps are shown."""
    itl_ns: Gaps | None = None
    """Between tokens."""
    itl_reason: str | None = None
    """Why there are no gaps between tokens."""
    accepted_per_step: dict[int, int] = {}
    """Verify steps by the number of drafts that each accepted, where the server shows its steps."""


def quantile(ordered: Sequence[int], share: float) -> int:
    """The value of that rank: the least that is not below a share of all."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]


def gap_summary(counted: Iterable[Counted], cell: str) -> GapSummary:
    """Summarise the gaps of a cell; an answer that did not complete is left out."""
    streams = [item.stream for item in counted if item.line.cell == cell and item.line.status == "complete"]
    deliveries = [stream.deliveries for stream in streams]
    events = [later.at_ns - earlier.at_ns for one in deliveries for earlier, later in pairwise(one)]
    one_each = bool(events) and all(delivery.tokens == 1 for one in deliveries for delivery in one)
    shown = [(stream.deliveries, stream.steps) for stream in streams if stream.steps]
    starts = [[one[step.first].at_ns for step in steps if step.deliveries] for one, steps in shown]
    steps = [later - earlier for one in starts for earlier, later in pairwise(one)]
    verified = [step for _, all_steps in shown for step in all_steps if step.phase == "verify"]
    accepted = Counter(step.accepted for step in verified if step.accepted is not None)
    return GapSummary(
        icl_ns=_gaps(events),
        step_ns=_gaps(steps),
        itl_ns=_gaps(events) if one_each else None,
        itl_reason=None if one_each else "not every event carried exactly one token",
        accepted_per_step=dict(sorted(accepted.items())),
    )


def _gaps(values: list[int]) -> Gaps | None:
    if not values:
        return None
    ordered = sorted(values)
    return Gaps(
        n=len(ordered),
        least_ns=ordered[0],
        median_ns=quantile(ordered, 0.5),
        p90_ns=quantile(ordered, 0.9),
        p99_ns=quantile(ordered, 0.99),
        most_ns=ordered[-1],
    )
