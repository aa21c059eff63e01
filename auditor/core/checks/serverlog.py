"""Whether the server's own log of the run says what the client saw."""

import math

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.counting.ledger import RoundLedger
from auditor.core.enginelogs import Interval, Scope
from auditor.core.facts import FactName
from auditor.core.judging.compare import text_of
from auditor.core.wording import figure, plural
from auditor.terms import Outcome

NO_LOG = "no log of the server was given"
_COMPARED: tuple[FactName, ...] = (
    "speculation",
    "draft_tokens",
    "acceptance_mode",
    "tensor_parallel",
    "pipeline_parallel",
    "data_parallel",
)
"""Facts that an endpoint and a log spell alike."""


def log_agrees(c: Context) -> Answer:
    """Does the server's own log say that it generated what the client received?"""
    if c.timeline is None:
        return Answer(Outcome.NOT_APPLICABLE, NO_LOG)
    log, rounds = c.timeline.log, [one for one in (c.subject.rounds if c.subject else ()) if one.complete]
    if log.reason is not None:
        return not_available(f"the server's log could not be laid beside the rounds: {log.reason}")
    pairs = [(one, c.timeline.intervals.get((one.cell, one.repeat), ())) for one in rounds]
    known = [(one, found) for one, found in pairs if found]
    if not known:
        return not_available("no line of the server's log lies whole within a measured round")
    if known[0][1][0].scope is Scope.REQUEST:
        return _by_request(known)
    return _by_window(known, c.plan.tolerance.max_half_width)


def _by_request(known: list[tuple[RoundLedger, tuple[Interval, ...]]]) -> Answer:
    """Each line is one request: the tokens must be those received."""
    ours = theirs = lines = 0
    for one, found in known:
        counts = [interval.delivered for interval in found]
        if len(counts) != one.tally.requests or None in counts or one.tally.delivered is None:
            words = f"the server's log holds {plural(len(counts), 'request')} of a round that sent {one.tally.requests}"
            return not_available(words, "keep the server to yourself, or see that its log is written at once")
        lines, ours, theirs = lines + len(counts), ours + one.tally.delivered, theirs + sum(n or 0 for n in counts)
    words = f"{plural(theirs, 'token')} in {plural(lines, 'line')} of the server's log, {ours:,} received"
    if ours == theirs:
        return holds(words)
    return fails(words, "read both with `audit log-read` and `audit log`")


def _by_window(known: list[tuple[RoundLedger, tuple[Interval, ...]]], limit: float) -> Answer:
    """Each line averages all requests over a span of time: the means must be near the client's rate of all streams."""
    rates = [float(i.delivered_rate.value) for _, found in known for i in found if i.delivered_rate is not None]
    tokens = [one.tally.delivered for one, _ in known]
    window = sum(one.window_ns or 0 for one, _ in known)
    if not rates or None in tokens or not window:
        return not_available("the rate of all streams could not be laid beside the server's log")
    theirs, ours = math.fsum(rates) / len(rates), sum(n or 0 for n in tokens) * 1e9 / window
    many = plural(len(rates), "line")
    words = f"{figure(theirs)} tok/s is the mean of {many} of the server's log, {figure(ours)} tok/s was received"
    if abs(theirs - ours) <= limit * ours:
        return holds(words)
    return fails(words, "lines that do not span the whole round can differ; read them with `audit log-read`")


def log_facts(c: Context) -> Answer:
    """Does the server's log say of the server what its endpoints say?"""
    if c.timeline is None:
        return Answer(Outcome.NOT_APPLICABLE, NO_LOG)
    log = c.timeline.log
    server = c.facts.servers[log.server]
    compared = [name for name in _COMPARED if name in log.facts and log.facts[name].value is not None]
    for name in compared:
        said, fact = log.facts[name], server.facts.get(name)
        if fact is not None and fact.value is not None and fact.value != said.value:
            words = f"{name} is {text_of(said.value)} ({said.source}) and {text_of(fact.value)} ({fact.source})"
            return fails(words, "the log may be of another start, or of another server")
    told = ", ".join(f"{name} {text_of(fact.value)} ({fact.source})" for name, fact in sorted(log.facts.items()))
    if not told:
        return not_available("the server's log holds no start lines of a known shape")
    return holds(f"from the server's log: {told}")
