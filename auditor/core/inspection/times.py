"""Times against each other: marks against events, moments at which nothing came to anybody, and the future."""

from itertools import pairwise

from auditor.core.imports.clock import time_of_text
from auditor.core.imports.measured import Measured
from auditor.core.inspection.record import Checked, Misfit, Unchecked
from auditor.core.wording import plural
from auditor.errors import UsageError

_CLOCK_NS = 2 * 10**6
"""What the marks of one moment may be apart where a tool takes them one after the other."""
_DAY_NS = 86_400 * 10**9
_STILL_NS = 10**9


def marks_fit_events(measured: Measured) -> Checked:
    """Are the first and the last event where the file's own TTFT and end say?"""
    first = last = looked = 0
    for one in measured.done:
        if not one.events_ns or one.ttft_ns is None:
            continue
        looked += 1
        first += abs(one.events_ns[0] - one.ttft_ns) > _CLOCK_NS and one.events_ns[0] != 0
        last += one.e2e_ns is not None and one.events_ns[-1] > one.e2e_ns + _CLOCK_NS
    if not looked:
        yield Unchecked("the file has not both events and marks of its requests")
    if first:
        words = f"In {plural(first, 'request')} of {looked:,} the first event is not at the time to first token stated."
        yield Misfit(id="first-against-events", strength="contradiction", sentence=words)
    if last:
        words = f"In {plural(last, 'request')} of {looked:,} the last event comes after the end stated."
        yield Misfit(id="end-against-events", strength="contradiction", sentence=words)


def clock_runs_on(measured: Measured) -> Checked:
    """Was there a moment at which all of several streams stood still, as where a clock was set?"""
    spans = [
        (one.send_ns + one.events_ns[0], [one.send_ns + event for event in one.events_ns])
        for one in measured.done
        if one.send_ns is not None and one.events_ns
    ]
    if not spans:
        yield Unchecked("the file has no events on one clock")
        return
    events = sorted(event for _, own in spans for event in own)
    bounds = [(own[0], own[-1]) for _, own in spans]
    for before, after in pairwise(events):
        if after - before < _STILL_NS:
            continue
        held = sum(start <= before and end >= after for start, end in bounds)
        if held > 1:
            words = (f"Nothing came to any of {plural(held, 'stream')} for {(after - before) / 1e9:.2f} s: the server "
                     "stood still, or the clock was set.")  # fmt: skip
            yield Misfit(id="all-still", strength="note", sentence=words, seen_in_honest="a long prefill may do so")
            return


def is_of_the_past(measured: Measured, now_ns: int, dated_ns: int | None) -> Checked:
    """Do its times lie before now, before the date of the file and near the start that it states?"""
    result = measured.result
    ends = [one.send_ns + (one.e2e_ns or 0) for one in measured.done if one.send_ns is not None]
    stated = _stated(result.started)
    if result.clock != "epoch" or not ends:
        if stated is None:
            yield Unchecked("the file has no date that can be read")
            return
        ends = [stated]
    latest = max(ends)
    if latest > now_ns + _DAY_NS:
        words = f"Its times lie {(latest - now_ns) / _DAY_NS:.1f} days in the future."
        yield Misfit(id="future", strength="contradiction", sentence=words)
    elif dated_ns is not None and latest > dated_ns + _DAY_NS:
        words = (
            f"Its times lie {(latest - dated_ns) / _DAY_NS:.1f} days after the file was written, by the file system."
        )
        yield Misfit(id="after-file", strength="odd", sentence=words, seen_in_honest="0 of 119 results")
    if stated is not None and result.clock == "epoch" and abs(stated - min(ends)) > 2 * _DAY_NS:
        days = abs(stated - min(ends)) / _DAY_NS
        words = f"It states {result.started} as its start; its requests are {days:.1f} days off."
        yield Misfit(id="start-against-requests", strength="contradiction", sentence=words)


def _stated(started: str | None) -> int | None:
    try:
        return None if started is None else time_of_text(started, "")
    except UsageError:
        return None
