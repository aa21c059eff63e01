"""The ladder of a row: what comes out of it as more requests are in flight, and where more of them stop to pay.

The knee is where power is largest (L. Kleinrock, "Power and deterministic rules of thumb for probabilistic problems in
computer communications", ICC 1979): power = throughput / response time. With C requests in flight in a closed loop,
response time is C / throughput (Little's law), so power = throughput^2 / C. Up to the knee twice the streams give more
than 1.41 times the output; beyond it they give less, and each answer takes longer by more than the output grows.
"""

from collections.abc import Sequence

from auditor.core.bases import Load, bases_of, find
from auditor.core.checks.timing import effective_streams
from auditor.core.counting.ledger import CellLedger, Ledger
from auditor.core.plan.plan import Plan
from auditor.core.record import Record, six
from auditor.core.stats import Estimate
from auditor.core.wording import listed, plural

LEAST_RUNGS = 3
"""Numbers of streams from which a knee can be told."""


class Rung(Record):
    """One load of a row; rates in tokens per second, None with what was not measured."""

    streams: int
    effective_streams: float | None
    """Requests in flight on average: the sum of request times by the window."""
    output: Estimate | None
    """Delivered by all streams over one window."""
    total: Estimate | None
    """The same with the prompts."""
    peak: Estimate | None
    """Delivered in the best second; not sustained."""
    decode: Estimate | None
    """Delivered to one stream after its first event."""
    complete: int
    """Answers that completed."""
    sent: int


class Knee(Record):
    """Where more streams stop to pay."""

    streams: int | None
    """None where it was not reached or cannot be told."""
    sentence: str


def rungs_of(plan: Plan, ledger: Ledger) -> tuple[Rung, ...]:
    """The judged load and the others of its ladder, by streams."""
    server = plan.subject.server
    cells = [
        cell for cell in plan.cells if cell.server == server and cell.role in ("subject", "extra") and not cell.text
    ]
    rungs = {cell.streams: _rung(found, ledger) for cell in cells if (found := ledger.cell(cell.key)) is not None}
    return tuple(rungs[streams] for streams in sorted(rungs))


def _rung(cell: CellLedger, ledger: Ledger) -> Rung:
    lines = [line for line in ledger.exchanges if line.cell == cell.cell]
    values = bases_of(cell, Load(cell.streams), lines)
    effective = effective_streams(cell)

    def rate(*names: str) -> Estimate | None:
        # With one stream its requests are the window, and there is no rule of a window beside theirs.
        found = (find(values, name) for name in names)
        return next((value.estimate for value in found if value and value.estimate), None)

    return Rung(
        streams=cell.streams,
        effective_streams=None if effective is None else six(effective),
        output=rate("delivered/system", "delivered/request"),
        total=rate("total/system", "total/request"),
        peak=rate("peak/second"),
        decode=rate("delivered/decode"),
        complete=sum(one.complete for one in cell.rounds),
        sent=len(lines),
    )


def knee_of(rungs: Sequence[Rung]) -> Knee | None:
    """Where power is largest; None for a row without a ladder."""
    if len(rungs) < 2:
        return None
    known = [(rung, power) for rung in rungs if (power := _power(rung)) is not None]
    missing = [str(rung.streams) for rung in rungs if _power(rung) is None]
    if missing:
        return Knee(streams=None, sentence=f"cannot be told: no output rate at {listed(missing)} streams")
    if len(known) < LEAST_RUNGS:
        return Knee(streams=None, sentence=f"cannot be told from fewer than {LEAST_RUNGS} numbers of streams")
    best, _ = max(known, key=lambda one: one[1].value)
    last = known[-1][0].streams
    if best.streams == last:
        return Knee(streams=None, sentence=f"not reached by {plural(last, 'stream')}: each step still paid")
    words = f"at {plural(best.streams, 'stream')}: beyond, twice the streams give less than 1.41 times the output"
    return Knee(streams=best.streams, sentence=f"{words}{_doubt(best, known)}")


def _power(rung: Rung) -> Estimate | None:
    """Output squared by streams in flight; its interval is that of the output."""
    if rung.output is None:
        return None
    streams = rung.effective_streams or rung.streams
    low, high = (None if end is None else end**2 / streams for end in (rung.output.low, rung.output.high))
    return Estimate(value=rung.output.value**2 / streams, low=low, high=high, n=rung.output.n)


def _doubt(best: Rung, known: Sequence[tuple[Rung, Estimate]]) -> str:
    """Which other numbers of streams the repeats do not part from the knee."""
    own = next(power for rung, power in known if rung is best)
    if own.low is None:
        return "; from one repeat, so without an interval"
    others = [rung for rung, power in known if rung is not best and power.high is not None and power.high >= own.low]
    names = listed([str(rung.streams) for rung in others])
    return f"; the repeats do not part it from {names}" if others else ""
