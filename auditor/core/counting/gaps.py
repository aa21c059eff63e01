"""The gaps between events, steps and tokens of a cell, and how many drafts its steps accepted."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from auditor.core.record import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from auditor.core.counting.exchange import Counted


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


def gap_summary(counted: "Iterable[Counted]", cell: str) -> GapSummary:
    """Summarise the gaps of a cell; an answer that did not complete is left out."""
    import numpy as np

    streams = [item.stream for item in counted if item.line.cell == cell and item.line.status == "complete"]
    deliveries = [stream.deliveries for stream in streams]
    events = _between([one.at_ns for one in deliveries])
    one_each = len(events) > 0 and all(bool((one.tokens == 1).all()) for one in deliveries)
    shown = [(stream.deliveries, stream.steps) for stream in streams if stream.steps]
    firsts = [[step.first for step in steps if step.deliveries] for _, steps in shown]
    starts = [one.at_ns[np.array(first, np.int64)] for (one, _), first in zip(shown, firsts, strict=True)]
    verified = [step for _, all_steps in shown for step in all_steps if step.phase == "verify"]
    accepted = Counter(step.accepted for step in verified if step.accepted is not None)
    return GapSummary(
        icl_ns=_gaps(events),
        step_ns=_gaps(_between(starts)),
        itl_ns=_gaps(events) if one_each else None,
        itl_reason=None if one_each else "not every event carried exactly one token",
        accepted_per_step=dict(sorted(accepted.items())),
    )


def _between(times: "Sequence[NDArray[np.int64]]") -> "NDArray[np.int64]":
    """The gaps within each of several series of times."""
    import numpy as np

    return np.concatenate([np.empty(0, np.int64), *(np.diff(one) for one in times)])


def _gaps(values: "NDArray[np.int64]") -> Gaps | None:
    import numpy as np

    if not len(values):
        return None
    ordered: Sequence[int] = np.sort(values)  # type: ignore[assignment]  # indexed and measured, no more
    return Gaps(
        n=len(ordered),
        least_ns=int(ordered[0]),
        median_ns=int(quantile(ordered, 0.5)),
        p90_ns=int(quantile(ordered, 0.9)),
        p99_ns=int(quantile(ordered, 0.99)),
        most_ns=int(ordered[-1]),
    )
