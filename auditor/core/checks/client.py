"""Whether the client was fast enough to measure this server."""

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.counting.client import ClientLoad

BUSY = 0.9
"""Share of a core that the event loop may use."""
LOST = 0.2
"""Share of the time in which it may be late by more than 10 ms."""
READ_AHEAD = 1 << 16
"""Bytes that may lie unread in a socket most of the time: what one read takes."""
QUEUE = 0.02
"""Time that requests waited in the client by the time that they were in flight."""


def kept_up(c: Context) -> Answer:
    """Did the client keep up with the server?"""
    load = next((one for one in c.account.ledger.client if one.cell == c.plan.subject.key), None)
    if load is None:
        return not_available("the client did not record how it kept up", gravity="note")
    words = (
        f"the event loop used {load.loop_busy:.0%} of a core and was late by {load.lag_ns / 1e6:.1f} ms at most; "
        f"{load.read_ahead_bytes:,} bytes lay unread in the fullest socket"
    )
    if why := slow(load, is_open=c.plan.subject.rate is not None):
        return fails(f"the client was the limit: {why}; {words}", "run the client on a machine of its own")
    return holds(words)


def slow(load: ClientLoad, *, is_open: bool) -> str | None:
    """Why what was measured is the client; None where it is not."""
    if load.loop_busy > BUSY:
        return f"its event loop used more than {BUSY:.0%} of a core"
    if load.lost > LOST:
        return f"its event loop was late by more than 10 ms for {load.lost:.0%} of the time"
    if load.read_ahead_bytes > READ_AHEAD:
        return "what the server sent lay unread"
    if load.log_waits:
        return f"it waited {load.log_waits} times for its log to be written"
    if not is_open and load.queue_share is not None and load.queue_share > QUEUE:
        return f"requests waited in it for {load.queue_share:.1%} of the time that they were in flight"
    return None
