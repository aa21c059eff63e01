"""What a log says, in words for people. Every figure is as the log prints it, or has no more places."""

from collections.abc import Iterator

from auditor.core.enginelogs.acceptance import Acceptance
from auditor.core.enginelogs.identity import Identity, LineCheck
from auditor.core.enginelogs.ofclaim import OfClaim
from auditor.core.enginelogs.passes import Passes
from auditor.core.enginelogs.rates import ACCEPTED, DELIVERED, DRAFTED, LAST_SECONDS, PROMPT, SO_FAR, Rates, RateSummary
from auditor.core.enginelogs.requestcheck import RequestChecks
from auditor.core.enginelogs.result import LogReading
from auditor.core.enginelogs.witnesses import LogWitness
from auditor.review.serverlog import ServerLog

_LISTED = 20
"""Lines that are listed; all that were kept are in the JSON."""
_PER_ENGINE = ("vllm", "sglang", "lmdeploy")
"""Engines whose lines are of one engine or rank among several."""
_STATES = {
    "agrees": "agree within rounding",
    "more": "print more than their drafts gave, which is always possible",
    "fewer": "print less than their drafts gave, which cut answers explain",
    "stretched": "have a speculation line that covers a pause",
    "fraction": "are less than a token apart",
    "contradicts": "contradict themselves",
}
_FENCEPOSTS = {
    "n": "divide all tokens by the time after the first, which shows the rate too high by n / (n - 1)",
    "n-1": "divide the tokens after the first by their time",
    "either": "are rounded too coarsely to tell which tokens they divide",
    "neither": "print a rate that their tokens and time do not give",
}


def text_of(log: ServerLog) -> str:
    """The whole reading, witnesses left out."""
    return "\n".join(_lines(log))


def witness_lines(figures: tuple[LogWitness, ...], claimed: str, beside: OfClaim) -> list[str]:
    """What of the log meets a claimed number, one line each; nothing of a log of something else."""
    if beside.same is False:
        return [beside.sentence, "It speaks of no figure of the claim."]
    if not figures:
        return [beside.sentence, f"No figure of this log is {claimed}."]
    caution = "a log shows what was printed, not what was meant"
    if beside.same is None:
        caution = "they are no witnesses, for other servers print such figures too"
    head = f"Figures of this log that are {claimed}; {caution}:"
    return [beside.sentence, head, *(f"  {figure.kind}: {figure.sentence}" for figure in figures)]


def _lines(log: ServerLog) -> Iterator[str]:
    reading = log.reading
    yield from _head(reading)
    yield from _facts(reading)
    yield from _rates(reading.rates, reading.passes)
    if reading.acceptance:
        yield from _acceptance(reading.acceptance)
    if reading.identity:
        yield from _identity(reading.identity)
    if reading.passes:
        yield from _passes(reading.passes)
    if reading.requests:
        yield from _requests(reading.requests)
    yield from _unread(log)
    yield "Cannot tell from this log:"
    yield from (f"  {sentence}" for sentence in reading.cannot_tell)


def _head(reading: LogReading) -> Iterator[str]:
    artefact = reading.artefact
    release = f" {reading.release}" if reading.release else ""
    yield f"{artefact.name}: {reading.title}{release}, {reading.lines:,} lines, sha256 {artefact.sha256[:16]}"
    if not reading.intervals:
        yield "Span         no line with figures: nothing ran for an interval, or such lines were switched off"
        return
    sources = f" of {', '.join(reading.sources[:4])}" if reading.sources else ""
    plural = "" if reading.intervals == 1 else "s"
    more = f" and {len(reading.sources) - 4} more" if len(reading.sources) > 4 else ""
    if reading.first.text:
        date = f" ({reading.first.reason})" if reading.first.reason else ""
        both = f"{reading.first.text} to {reading.last.text}"
        span = f"{reading.first.text if reading.first == reading.last else both}{date}"
    else:
        span = reading.first.reason or ""
    yield f"Span         {span}; {reading.intervals:,} interval{plural}{sources}{more}"
    yield f"A line is    {reading.averaging}"
    if len(reading.sources) > 1 and reading.rates.by_time is None and reading.engine in _PER_ENGINE:
        yield "             several engines print here: what the server delivered is their sum, which no line holds"


def _facts(reading: LogReading) -> Iterator[str]:
    facts = {name: fact.value for name, fact in reading.facts.items() if fact.value is not None and name != "version"}
    if facts:
        yield "Server       " + ", ".join(f"{name} {_answer(value)}" for name, value in facts.items())
    for kind in dict.fromkeys(sign.kind for sign in reading.signs):
        signs = [sign for sign in reading.signs if sign.kind == kind]
        listed = ", ".join(f"{s.text} (line {s.line}{', look into it' if s.is_grave else ''})" for s in signs)
        yield f"  {kind}: {listed}"


def _answer(value: object) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _rates(rates: Rates, passes: Passes | None) -> Iterator[str]:
    delivered = rates.by_name.get(DELIVERED)
    if delivered:
        idle = f"; {rates.idle_lines:,} idle" if rates.idle_lines else ""
        yield f"Delivered    {_summary(delivered)}{idle}"
        groups = (("one request running", rates.alone), ("several", rates.several), ("none any more", rates.ended))
        for words, summary in groups:
            if summary:
                yield f"  {words}: {_summary(summary)}"
        if rates.most_running is not None:
            yield f"  most requests running: {rates.most_running}"
    else:
        yield "Delivered    not printed"
    if rates.by_time:
        yield f"  by time: {rates.by_time} tok/s, {rates.by_time_how}"
    if passes and passes.by_time:
        yield f"  by time: {passes.by_time} tok/s, each line weighing as long as its passes took"
    for name, words in ((LAST_SECONDS, "  last seconds of a request:"), (SO_FAR, "  a request so far:")):
        if name in rates.by_name:
            yield f"{words} {_summary(rates.by_name[name])}"
    for name, mark in ((ACCEPTED, ", bonus tokens left out"), (DRAFTED, ", not output"), (PROMPT, "")):
        if name in rates.by_name:
            yield f"{name.capitalize():<12} {_summary(rates.by_name[name])}{mark}"


def _summary(summary: RateSummary) -> str:
    if summary.lines == 1:
        return f"{summary.best} tok/s at line {summary.best_line}"
    return (
        f"mean {summary.mean} tok/s over {summary.lines:,} lines, best {summary.best} at line {summary.best_line},"
        f" least {summary.least} at line {summary.least_line}"
    )


def _acceptance(acceptance: Acceptance) -> Iterator[str]:
    parts = []
    if acceptance.rate is not None and acceptance.accepted is not None and acceptance.drafted is not None:
        counts = f"{acceptance.accepted:,} of {acceptance.drafted:,} drafted, {acceptance.counted_how}"
        parts.append(f"{acceptance.rate} ({counts})")
    if acceptance.length:
        parts.append(f"length {acceptance.length} ({acceptance.least_length} to {acceptance.most_length} by line)")
    if acceptance.per_position:
        parts.append(f"by position {', '.join(acceptance.per_position)}")
    yield f"Acceptance   {'; '.join(parts) or 'no counts are printed'}"
    if acceptance.rate is None and acceptance.reported_rate is not None:
        what = acceptance.reported_definition or "which means three things by release; give --release"
        yield f"  reported accept rate {acceptance.reported_rate}: {what}"
        if acceptance.strict_rate:
            yield f"  accepted over drafted, from the length: {acceptance.strict_rate}"


def _identity(identity: Identity) -> Iterator[str]:
    yield f"Agreement    {identity.rule}, within the rounding of each line"
    for state, count in identity.states.items():
        yield f"  {count:,} of {identity.checked:,} {_STATES[state]}"
    for reason, count in identity.unchecked.items():
        yield f"  {count:,} not checked: {reason}"
    disagreeing = identity.checked - identity.states.get("agrees", 0)
    yield from _listed(identity.shown, disagreeing)


def _passes(passes: Passes) -> Iterator[str]:
    how = "the default" if passes.is_default else "as the server was set"
    if not passes.runs:
        yield "Agreement    no run of lines with the same requests is long enough to hold against the clock"
        return
    yield (
        f"Agreement    throughput, accept length and clock: {passes.agreeing:,} of {passes.runs:,} runs of lines fit"
        f" {passes.expected} passes a line ({how})"
    )
    for run in passes.shown:
        fits = "" if run.agrees else ": requests came and went inside, or another decode_log_interval"
        where = f"lines {run.first_line} to {run.last_line}"
        yield f"  {where}, {run.running} running: {run.passes} passes a line{fits}"


def _requests(checks: RequestChecks) -> Iterator[str]:
    yield f"Agreement    {checks.requests:,} requests, each line against its own figures"
    for post, count in checks.fenceposts.items():
        gain = ""
        if post == "n" and checks.largest_gain:
            gain = f" (most {checks.largest_gain} %, line {checks.largest_gain_line})"
        yield f"  {count:,} {_FENCEPOSTS[post]}{gain}"
    words = {
        "exact": "have as many tokens as first, verify steps and accepted make",
        "more": "have more: steps without a draft",
        "fewer": "have fewer: accepted tokens cut at the end",
    }
    for balance, count in checks.balances.items():
        yield f"  {count:,} {words[balance]}"
    yield from _listed(checks.shown, checks.contradictions)


def _listed(checks: tuple[LineCheck, ...], count: int) -> Iterator[str]:
    grave = sorted(checks, key=lambda check: (check.state in ("more", "fraction"), check.line))[:_LISTED]
    for check in sorted(grave, key=lambda check: check.line):
        yield f"  line {check.line}: {check.sentence}"
    if count > len(grave):
        yield f"  and {count - len(grave):,} more; --json lists them"


def _unread(log: ServerLog) -> Iterator[str]:
    reading = log.reading
    if reading.unread:
        words = f"{reading.unread:,} lines look like figures and could not be read (torn, or of another release)"
        yield f"Unread       {words}, the first is line {reading.first_unread}"
    if reading.left_out:
        yield f"Left out     {reading.left_out:,} lines of other ranks, which repeat the first rank's"
    if log.cut_lines:
        yield f"Cut          {log.cut_lines:,} very long lines were read at their beginning only"
    for name, count in reading.others.items():
        yield f"Also seen    lines of {name}, {count:,} intervals, left out"
