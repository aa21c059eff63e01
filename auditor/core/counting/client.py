"""Whether the client kept up: how late it was, what it used, and what lay unread, from its own marks in the log."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from auditor.core.counting.evidence import Evidence, Exchange, Mark
from auditor.core.counting.gaps import quantile
from auditor.core.record import Record


class ClientLoad(Record):
    """The client while one cell was measured."""

    cell: str
    span_ns: int
    """Time that its marks cover."""
    loop_busy: float
    """Share of that time in which the event loop used a core."""
    cpu_cores: float
    """Cores that all of the process used on average, its log writer included."""
    lag_ns: int
    """The most that the event loop was late."""
    lost: float
    """Share of the time in which the loop was late by more than 10 ms."""
    read_ahead_bytes: int
    """The most that lay unread in one socket, over the marks the median."""
    log_waits: int
    """How often the loop waited for the log to be written."""
    queue_median_ns: int | None = None
    """Of a request: from when it was due to when its first byte left. It is in no time to first token."""
    queue_p99_ns: int | None = None
    queue_share: float | None = None
    """The sum of these by the sum of the times in flight."""


def client_loads(evidence: Evidence, cells: Iterable[str]) -> tuple[ClientLoad, ...]:
    """One for each cell that has marks; none for logs of earlier tools, which have none."""
    marks = [mark for mark in evidence.marks if mark.what.get("mark") == "client"]
    found = []
    for cell in cells if marks else ():
        own = [one for one in evidence.exchanges if one.purpose == "measure" and one.meta.get("cell") == cell]
        within = _within(marks, own)
        if within:
            found.append(_load(cell, within, own))
    return tuple(found)


def _within(marks: Sequence[Mark], exchanges: Sequence[Exchange]) -> list[Mark]:
    """The marks whose time lies, for the most part, in a round of these exchanges."""
    rounds: dict[int, list[int]] = {}
    for one in exchanges:
        if one.send_ns is not None and one.close_ns is not None:
            rounds.setdefault(int(one.meta.get("repeat", 0)), []).extend((one.send_ns, one.close_ns))
    spans = [(min(times), max(times)) for times in rounds.values()]
    found = []
    for mark in marks:
        span_ns = _number(mark, "span_ns")
        begin = mark.t_ns - span_ns
        shared = sum(max(0, min(mark.t_ns, last) - max(begin, first)) for first, last in spans)
        if span_ns and shared > span_ns / 2:
            found.append(mark)
    return found


def _load(cell: str, marks: Sequence[Mark], exchanges: Sequence[Exchange]) -> ClientLoad:
    span_ns = sum(_number(mark, "span_ns") for mark in marks)
    ahead = sorted(_number(mark, "read_ahead") for mark in marks)
    waits = [_number(mark, "log_waits") for mark in marks]
    queues, flown = [], 0
    for one in exchanges:
        due = one.meta.get("due_ns")
        if isinstance(due, int) and one.send_ns is not None and one.close_ns is not None:
            queues.append(max(0, one.send_ns - due))
            flown += one.close_ns - one.send_ns
    queues.sort()
    return ClientLoad(
        cell=cell,
        span_ns=span_ns,
        loop_busy=_share(sum(_number(mark, "loop_ns") for mark in marks), span_ns),
        cpu_cores=_share(sum(_number(mark, "cpu_ns") for mark in marks), span_ns),
        lag_ns=max(_number(mark, "lag_ns") for mark in marks),
        lost=_share(sum(_number(mark, "lost_ns") for mark in marks), span_ns),
        read_ahead_bytes=quantile(ahead, 0.5),
        log_waits=max(waits) - min(waits),
        queue_median_ns=quantile(queues, 0.5) if queues else None,
        queue_p99_ns=quantile(queues, 0.99) if queues else None,
        queue_share=_share(sum(queues), flown) if flown else None,
    )


def _number(mark: Mark, name: str) -> int:
    """A count of a mark; what is none, as in a log that was made up, counts as 0."""
    value: Any = mark.what.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 62 else 0


def _share(part: int, whole: int) -> float:
    """Rounded down to four digits after the point."""
    return math.floor(part / whole * 1e4) / 1e4
