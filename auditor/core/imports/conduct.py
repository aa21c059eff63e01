"""Checks on the requests of an imported result: their tokens, their events, their times, and the drafts behind them."""

from collections.abc import Iterator

from auditor.core.imports.findings import ASK, TOLERANCE, fails, finding, is_near
from auditor.core.imports.measured import Measured, gaps
from auditor.core.imports.record import ImportFinding
from auditor.core.wording import figure as shown
from auditor.core.wording import plural
from auditor.terms import Outcome, Rung


def tokens_per_event(measured: Measured) -> Iterator[ImportFinding]:
    """Does each event carry one token?"""
    events, delivered = measured.events, measured.delivered
    if not events or not delivered or all(one.rung is Rung.EVENTS for one in measured.done):
        return
    ratio = delivered / events
    words = f"{delivered:,} tokens came in {events:,} events, {shown(ratio, (1,), 3)} per event"
    if abs(ratio - 1) <= TOLERANCE:
        yield finding("tokens-per-event", Outcome.HOLDS, "note", f"{words}.")
    elif ratio > 1:
        words = f"{words}: whatever counts events or the gaps between them is no count of tokens."
        yield fails("tokens-per-event", words)
    else:
        yield fails("tokens-per-event", f"{words}: events without a token, or tokens that the tool did not count.")


def tokens_were_counted(measured: Measured) -> Iterator[ImportFinding]:
    """Did anything count tokens, and not only events?"""
    bare = sum(one.rung is Rung.EVENTS for one in measured.done)
    if bare:
        words = f"Of {plural(bare, 'request')} only the events can be counted: each may have held several tokens."
        yield fails("events-for-tokens", words, "tokenise the text with the model's tokenizer")


def text_agrees(measured: Measured) -> Iterator[ImportFinding]:
    """Does the text that came tokenise to as many tokens as were counted?"""
    retokenised, delivered = measured.sample.recounted.whole, measured.delivered
    if not delivered or retokenised is None or any(one.counts for one in measured.done):
        return
    if not is_near(retokenised, delivered):
        words = f"{delivered:,} output tokens are counted; the text that came tokenises to {retokenised:,.0f}."
        yield fails("counts-differ", words, "say which of them a figure rests on")


def answers_reached_their_length(measured: Measured) -> Iterator[ImportFinding]:
    """Are the answers as long as was asked for?"""
    delivered, requested = measured.delivered, measured.sample.counts.requested
    if delivered and requested and delivered < 0.95 * requested:
        words = f"{delivered:,} tokens were delivered of {requested:,} that were asked for: the answers ended early."
        yield fails("ended-early", words, "compare only with answers of this length")


def rungs_agree(measured: Measured) -> Iterator[ImportFinding]:
    """Do the counts of the same answers agree?"""
    sums: dict[Rung, int] = {}
    for rung in Rung:
        counts = [one.counts.get(rung) for one in measured.done]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(counts):
            sums[rung] = sum(known)
    best = next(iter(sums), None)
    for rung, count in sums.items():
        if best is not None and rung is not Rung.EVENTS and not is_near(count, sums[best]):
            words = f"{best.replace('_', ' ')} counts {sums[best]:,} tokens and {rung.replace('_', ' ')} {count:,}."
            yield fails("counts-differ", words, "say which of them a figure rests on")


def successes_are_answers(measured: Measured) -> Iterator[ImportFinding]:
    """Is every success an answer, and was every request answered?"""
    empty = sum(one.output_tokens == 0 for one in measured.done)
    if empty:
        words = f"{plural(empty, 'request')} of {len(measured.done):,} called a success brought no token."
        yield fails("empty-success", words, "leave them out", gravity="dirty")
    if failed := len(measured.failed):
        words = f"{plural(failed, 'request')} of {len(measured.result.requests):,} failed"
        yield fails("failed-requests", f"{words}: a rate over the others is no rate of this load.")


def drafts_add_up(measured: Measured) -> Iterator[ImportFinding]:
    """Can the drafts be as they are counted?"""
    drafts, delivered = measured.drafts, measured.delivered
    steps, drafted, accepted, width = drafts.verify_steps, drafts.drafted, drafts.accepted, drafts.draft_width
    if drafted is not None and accepted is not None and accepted > drafted:
        words = f"{accepted:,} drafted tokens were accepted of {drafted:,} that were drafted."
        yield fails("drafts-impossible", words, gravity="dirty")
    if steps is not None and width and drafted is not None and drafted > steps * width:
        words = f"{drafted:,} tokens were drafted in {steps:,} steps of at most {width}."
        yield fails("drafts-impossible", words, gravity="dirty")
    if steps is None or accepted is None or delivered is None or width is None:
        return
    most = delivered + width * max(1, len(measured.done))
    if steps + accepted > most:
        words = (
            f"{steps:,} steps and {accepted:,} accepted drafts make more than the {delivered:,} tokens delivered and "
            "what can lie past the end of answers: the server's counters saw other traffic."
        )
        yield fails("drafts-above-delivered", words)


def streams_were_in_flight(measured: Measured) -> Iterator[ImportFinding]:
    """Were as many requests in flight as configured?"""
    configured, seen = measured.result.settings.concurrency, measured.effective_streams
    if not configured or configured < 2 or seen is None:
        return
    words = f"{shown(seen, (configured,), 3)} requests were in flight on average of {configured:,} configured"
    if seen < 0.9 * configured:
        remedy = "leave out ramp-up and tail, and multiply nothing by the configured number"
        yield fails("streams-idle", f"{words}.", remedy)
    elif seen > (1 + TOLERANCE) * configured:
        yield fails("streams-above", f"{words}, which cannot be.", gravity="dirty")


def times_are_in_order(measured: Measured) -> Iterator[ImportFinding]:
    """Does each request begin before it ends, do its events follow each other, and do all lie in the window?"""
    bad = 0
    for one in measured.done:
        marks = [mark for mark in (0, one.ttft_ns, one.last_ns, one.e2e_ns) if mark is not None]
        bad += marks != sorted(marks) or any(gap < 0 for gap in gaps(one))
    if bad:
        words = f"{plural(bad, 'request')} of {len(measured.done):,} ends before it began, or has events out of order."
        yield fails("times-out-of-order", words, ASK, gravity="dirty")
    span, window = measured.span_ns, measured.result.duration_ns
    if span is not None and window is not None and span > window * (1 + TOLERANCE) + _CLOCK_NS:
        words = f"The requests take {span / 1e9:.3f} s, more than the {window / 1e9:.3f} s that the rates are over."
        yield fails("window-cut", words, ASK, gravity="dirty")


_CLOCK_NS = 10**6
"""What two readings of a clock may be apart."""
