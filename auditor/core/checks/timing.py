"""Whether the times can be believed, and whether the measurement is long and narrow enough."""

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.counting.ledger import CellLedger
from auditor.core.wording import plural
from auditor.terms import Outcome

CLIENT_BOUND = 0.9
"""Streams in flight by streams configured, below which the client was the limit."""
FULL_LOAD = 0.8
"""The same over the whole window, with the time in which streams had run out of work."""
SHARED_READS = 0.05
"""Share of events that may share a socket read with another."""
_OPEN = "requests were sent by the clock, and not by a number of streams"


def sustained(c: Context) -> Answer:
    """Were 1,000 tokens delivered on each stream?"""
    least = c.plan.tolerance.sustained_tokens
    lengths = [line.tally.delivered for line in c.lines if line.status == "complete"]
    known = [length for length in lengths if length is not None]
    if not known or len(known) < len(lengths):
        return not_available("delivered tokens could not be counted on every stream")
    short = [length for length in known if length < least]
    if not short:
        return holds(f"every answer has {least:,} tokens or more")
    have = plural(len(known), "answer has", "answers have")
    words = f"{len(short)} of {have} fewer than {least:,} tokens; the shortest has {min(short):,}"
    return fails(words, "ask for longer answers with --tokens")


def interval(c: Context) -> Answer:
    """Is the measurement narrow enough to be compared?"""
    limit, judged = c.plan.tolerance.max_half_width, c.judged
    if judged is None:
        return not_available("the rate on which the claim is judged was not measured")
    width = judged.half_width
    if width is None:
        return fails(judged.reason or "there is no interval", "repeat with --repeats 3 or more")
    words = f"the 95 % interval of {plural(judged.n, 'repeat')} is {width:.1%} to either side"
    if width <= limit:
        return holds(words)
    return fails(f"{words}, more than {limit:.0%}", "more --repeats, or a quieter machine")


def in_flight(c: Context) -> Answer:
    """Were as many streams in flight as configured, as long as requests were waiting?"""
    if c.plan.subject.rate is not None:
        return Answer(Outcome.NOT_APPLICABLE, _OPEN)
    cell = c.subject
    while_waiting = _while_waiting(c) if cell else None
    if cell is None or while_waiting is None:
        return not_available("the streams in flight could not be measured", gravity="note")
    were = plural(cell.streams, "stream was", "streams were")
    words = f"{while_waiting:.2f} of {were} in flight while requests were waiting"
    if while_waiting >= CLIENT_BOUND * cell.streams:
        return holds(words)
    return fails(words, "run the client on a machine of its own; it could not keep the streams open")


def full_load(c: Context) -> Answer:
    """Was the load full for most of the time, start and end included?"""
    if c.plan.subject.rate is not None:
        return Answer(Outcome.NOT_APPLICABLE, _OPEN)
    cell = c.subject
    effective = effective_streams(cell) if cell else None
    if cell is None or effective is None:
        return not_available("the load over the whole window could not be measured", gravity="note")
    words = (
        f"{effective:.2f} of {plural(cell.streams, 'stream was', 'streams were')} in flight on average, from the first "
        "send to the last token"
    )
    if effective >= FULL_LOAD * cell.streams:
        return holds(words)
    return fails(words, "answers of more equal length: leave ignore_eos on, or give prompts of one kind")


def times_ordered(c: Context) -> Answer:
    """Do the times run forwards?"""
    for item in c.account.counted:
        times = item.stream.deliveries.at_ns
        sent = item.line.times.send_ns
        early = len(times) > 0 and sent is not None and times[0] < sent
        if early or (times[1:] < times[:-1]).any():
            words = f"the times of exchange {item.line.exchange} run backwards"
            return fails(words, "look at the clocks of the client's machine")
    return holds("the times of every exchange run forwards")


def own_times(c: Context) -> Answer:
    """Does each event have a time of its own?"""
    events = sum(line.tally.events or 0 for line in c.lines)
    if not events:
        return not_available("no event was received")
    shared = sum(line.events_sharing_a_read for line in c.lines)
    source = "the kernel's receive times" if c.account.ledger.clock_error_ns is not None else "the client's clock"
    words = f"{shared:,} of {events:,} events shared a socket read with another and so carry one time ({source})"
    if shared <= SHARED_READS * events:
        return holds(words)
    return fails(words, "steps that deliver several tokens at once do this; gaps within them say nothing")


def clean_streams(c: Context) -> Answer:
    """Were the streams well formed?"""
    noted = [(line, note) for line in c.lines for note in line.notes]
    if not noted:
        return holds("every stream was well formed")
    number = len({line.exchange for line, _ in noted})
    words = f"{plural(number, 'stream was', 'streams were')} not well formed; the first: {noted[0][1]}"
    return fails(words, "look for a proxy between client and server")


def effective_streams(cell: CellLedger) -> float | None:
    """C_eff: the sum of e2e over the sum of the windows of all rounds."""
    e2e, window = 0, 0
    for one in cell.rounds:
        if one.e2e_ns is None or not one.window_ns:
            return None
        e2e, window = e2e + one.e2e_ns, window + one.window_ns
    return e2e / window if window else None


def _while_waiting(c: Context) -> float | None:
    """Mean number of streams in flight from the first send until the last request is sent or the first answer ends,
    whichever is later, over all rounds."""
    busy = length = 0
    for one in c.subject.rounds if c.subject else ():
        times = [line.times for line in c.lines if line.exchange in one.exchanges and line.status == "complete"]
        spans = [(t.send_ns, t.end_ns) for t in times if t.send_ns is not None and t.end_ns is not None]
        if not spans or len(spans) < len(times):
            return None
        start, end = min(send for send, _ in spans), max(max(s for s, _ in spans), min(e for _, e in spans))
        busy += sum(max(0, min(last, end) - send) for send, last in spans)
        length += end - start
    return busy / length if length else None
