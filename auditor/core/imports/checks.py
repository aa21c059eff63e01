"""What does not add up in an imported result, and which of its figures are not what a reader takes them for."""

from collections.abc import Callable, Iterator

from auditor.core.bases import BASES
from auditor.core.imports.measured import Measured, gaps
from auditor.core.imports.record import Figure, ImportFinding
from auditor.core.judging.verdict import Gravity
from auditor.core.wording import figure as shown
from auditor.core.wording import plural
from auditor.terms import Outcome, Rung

TOLERANCE = 0.01
"""Relative difference that rounding and the choice of percentile may make."""
_NAMES = {basis.id: basis.name for basis in BASES} | {
    "itl": "the time between tokens",
    "icl": "the time between events",
    "tpot": "the time per token after the first",
    "tpot-with-first": "the request's time by its tokens, the wait for the first included",
    "duration": "first send to last end",
    "concurrency": "requests in flight on average",
    "peak_concurrency": "most requests in flight at once",
}


def findings_of(measured: Measured) -> tuple[ImportFinding, ...]:
    """Every check on one result, in order."""
    return tuple(finding for check in CHECKS for finding in check(measured))


def figures_add_up(measured: Measured) -> Iterator[ImportFinding]:
    """Is each printed figure what the tool's own formula gives from the requests of the same file?"""
    agree = 0
    for one in measured.result.figures:
        right = _right(measured, one.quantity, one.unit)
        differs = [] if right is None else list(laid(one, right))
        agree += right is not None and not differs
        yield from differs
    if agree:
        words = f"{plural(agree, 'printed figure')} recomputed from the file's own data: equal."
        yield _finding("figures-recomputed", Outcome.HOLDS, "note", words)


def laid(one: Figure, right: float) -> Iterator[ImportFinding]:
    """A printed figure beside what the file's own data gives for it: a finding where they differ."""
    if not _is_near(one.value, right):
        words = f"`{one.name}` is printed as {_with_unit(one.value, one)}; from the file's own data it is"
        yield _about(one, right, "figure-differs", "dirty", f"{words} {_with_unit(right, one)}.", _ASK)


def labels_hold(measured: Measured) -> Iterator[ImportFinding]:
    """Does each figure count what a reader takes it for?"""
    for one in measured.result.figures:
        if one.label is None or one.label == one.quantity or not one.value:
            continue
        what, taken = _name(one.quantity or ""), _name(one.label)
        right = _right(measured, one.label, one.unit)
        if right is None:
            words = f"`{one.name}` ({_with_unit(one.value, one)}) is {what}; {taken} cannot be told from this file."
            yield _about(one, None, "figure-mislabelled", "note", words, None, Outcome.NOT_AVAILABLE)
        elif abs(one.value - right) > 2 * TOLERANCE * right:
            words = f"`{one.name}` ({_with_unit(one.value, one)}) is {what}; {taken} is {_with_unit(right, one)}."
            yield _about(one, right, "figure-mislabelled", "note", words, f"quote {_with_unit(right, one)} as {taken}")


def peak_above_mean(measured: Measured) -> Iterator[ImportFinding]:
    """Is the printed peak at least the printed mean?"""
    peak = next((one for one in measured.result.figures if one.label == "peak/second"), None)
    mean = _printed(measured, "delivered/system")
    if peak is None or mean is None or not 0 < peak.value < mean.value:
        return
    right = measured.sample.peak_tokens
    words = (
        f"`{peak.name}` ({_with_unit(peak.value, peak)}) lies below `{mean.name}` ({_with_unit(mean.value, mean)}), "
        "which no peak can: it counts events, each of which held several tokens."
    )
    remedy = None if right is None else f"the best second held {right:,.0f} tokens"
    yield _about(peak, right, "peak-below-mean", "note", words, remedy)


def tokens_per_event(measured: Measured) -> Iterator[ImportFinding]:
    """Does each event carry one token?"""
    events, delivered = measured.events, measured.delivered
    if not events or not delivered or all(one.rung is Rung.EVENTS for one in measured.done):
        return
    ratio = delivered / events
    words = f"{delivered:,} tokens came in {events:,} events, {shown(ratio, (1,), 3)} per event"
    if abs(ratio - 1) <= TOLERANCE:
        yield _finding("tokens-per-event", Outcome.HOLDS, "note", f"{words}.")
    elif ratio > 1:
        words = f"{words}: whatever counts events or the gaps between them is no count of tokens."
        yield _finding("tokens-per-event", Outcome.FAILS, "note", words)
    else:
        words = f"{words}: events without a token, or tokens that the tool did not count."
        yield _finding("tokens-per-event", Outcome.FAILS, "note", words)


def rungs_agree(measured: Measured) -> Iterator[ImportFinding]:
    """Do the counts of the same answers agree?"""
    sums: dict[Rung, int] = {}
    for rung in Rung:
        counts = [one.counts.get(rung) for one in measured.done]
        known = [count for count in counts if count is not None]
        if known and len(known) == len(counts):
            sums[rung] = sum(known)
    best = next(iter(sums), None)
    for rung, count in list(sums.items())[1:]:
        if best is None or rung is Rung.EVENTS or _is_near(count, sums[best]):
            continue
        words = f"{best.replace('_', ' ')} counts {sums[best]:,} tokens and {rung.replace('_', ' ')} {count:,}."
        yield _finding("counts-differ", Outcome.FAILS, "note", words, "say which of them a figure rests on")


def tokens_were_counted(measured: Measured) -> Iterator[ImportFinding]:
    """Did anything count tokens, and not only events?"""
    bare = sum(one.rung is Rung.EVENTS for one in measured.done)
    if bare:
        words = f"of {plural(bare, 'request')} only the events can be counted: each may have held several tokens."
        remedy = "tokenise the text with the model's tokenizer"
        yield _finding("events-for-tokens", Outcome.FAILS, "note", words[0].upper() + words[1:], remedy)


def requested_is_not_delivered(measured: Measured) -> Iterator[ImportFinding]:
    """Did the answers reach the length that was asked for, and was that length counted instead of them?"""
    retokenised = measured.sample.recounted.whole
    delivered, requested = measured.delivered, measured.sample.counts.requested
    if delivered and retokenised is not None and retokenised < delivered * (1 - TOLERANCE):
        words = (
            f"{delivered:,} output tokens are counted; the text that came tokenises to {retokenised:,.0f}. Either the "
            "requested length was taken for the delivered one, or text was lost."
        )
        figure = _printed(measured, "output_tokens")
        found = _finding("requested-as-delivered", Outcome.FAILS, "note", words)
        about = {
            "figure": figure.name if figure else None,
            "printed": delivered,
            "right": retokenised,
            "unit": "tokens",
        }
        yield found.model_copy(update=about)
        rate, right = _printed(measured, "delivered/system"), measured.quantity("retokenised/system", "tokens/s")
        if rate is not None and right is not None:
            words = f"`{rate.name}` ({_with_unit(rate.value, rate)}) rests on that count; by the text it is"
            words = f"{words} {_with_unit(right, rate)}."
            yield _about(rate, right, "requested-as-delivered", "note", words, None)
    if delivered and requested and delivered < 0.95 * requested:
        words = f"{delivered:,} tokens were delivered of {requested:,} that were asked for: the answers ended early."
        yield _finding("ended-early", Outcome.FAILS, "note", words, "compare only with answers of this length")


def successes_are_answers(measured: Measured) -> Iterator[ImportFinding]:
    """Is every success an answer, and is every failure left out of the sums?"""
    empty = sum(1 for one in measured.done if one.output_tokens == 0)
    if empty:
        words = f"{plural(empty, 'request')} of {len(measured.done):,} called a success brought no token."
        yield _finding("empty-success", Outcome.FAILS, "dirty", words, "leave them out")
    if failed := len(measured.failed):
        share = f"{plural(failed, 'request')} of {len(measured.result.requests):,} failed"
        yield _finding(
            "failed-requests", Outcome.FAILS, "note", f"{share}: a rate over the others is no rate of this load."
        )


def drafts_add_up(measured: Measured) -> Iterator[ImportFinding]:
    """Can the drafts be as they are counted?"""
    drafts = measured.drafts
    steps, drafted, accepted, width = drafts.verify_steps, drafts.drafted, drafts.accepted, drafts.draft_width
    if drafted is not None and accepted is not None and accepted > drafted:
        words = f"{accepted:,} drafted tokens were accepted of {drafted:,} that were drafted."
        yield _finding("drafts-impossible", Outcome.FAILS, "dirty", words)
    if steps is not None and width and drafted is not None and drafted > steps * width:
        words = f"{drafted:,} tokens were drafted in {steps:,} steps of at most {width}."
        yield _finding("drafts-impossible", Outcome.FAILS, "dirty", words)
    delivered = measured.delivered
    if None not in (steps, accepted, delivered) and (steps or 0) + (accepted or 0) > 1.02 * (delivered or 0) + 16:
        words = (
            f"{steps:,} steps and {accepted:,} accepted drafts make more than the {delivered:,} tokens delivered: the "
            "server's counters saw other traffic, or tokens past the end of answers."
        )
        yield _finding("drafts-above-delivered", Outcome.FAILS, "note", words)


def streams_were_in_flight(measured: Measured) -> Iterator[ImportFinding]:
    """Were as many requests in flight as configured?"""
    configured, seen = measured.result.settings.concurrency, measured.effective_streams
    if not configured or configured < 2 or seen is None:
        return
    words = f"{shown(seen, (configured,), 3)} requests were in flight on average of {configured:,} configured"
    if seen < 0.9 * configured:
        remedy = "leave out ramp-up and tail, and multiply nothing by the configured number"
        yield _finding("streams-idle", Outcome.FAILS, "note", f"{words}.", remedy)
    elif seen > 1.02 * configured:
        yield _finding("streams-above", Outcome.FAILS, "dirty", f"{words}, which cannot be.")


def times_are_in_order(measured: Measured) -> Iterator[ImportFinding]:
    """Does each request begin before it ends, and do its events follow each other?"""
    bad = 0
    for one in measured.done:
        marks = [mark for mark in (0, one.ttft_ns, one.last_ns, one.e2e_ns) if mark is not None]
        bad += marks != sorted(marks) or any(gap < 0 for gap in gaps(one))
    if bad:
        words = f"{plural(bad, 'request')} of {len(measured.done):,} ends before it began, or has events out of order."
        yield _finding("times-out-of-order", Outcome.FAILS, "dirty", words, _ASK)
    span, window = measured.span_ns, measured.result.duration_ns
    if span is not None and window is not None and span > window * (1 + TOLERANCE) + 10**6:
        words = f"the requests take {span / 1e9:.3f} s, more than the {window / 1e9:.3f} s that the rates are over."
        yield _finding("window-cut", Outcome.FAILS, "dirty", words[0].upper() + words[1:], _ASK)


CHECKS: tuple[Callable[[Measured], Iterator[ImportFinding]], ...] = (
    figures_add_up,
    labels_hold,
    peak_above_mean,
    tokens_per_event,
    tokens_were_counted,
    requested_is_not_delivered,
    rungs_agree,
    successes_are_answers,
    drafts_add_up,
    streams_were_in_flight,
    times_are_in_order,
)
_ASK = "ask for the file as the tool wrote it"


def _printed(measured: Measured, quantity: str) -> Figure | None:
    return next((one for one in measured.result.figures if one.quantity == quantity), None)


def _right(measured: Measured, quantity: str | None, unit: str) -> float | None:
    return None if quantity is None else measured.quantity(quantity, unit)


def _is_near(printed: float, right: float) -> bool:
    return abs(printed - right) <= max(TOLERANCE * abs(right), 0.0051)


def _name(quantity: str) -> str:
    what, _, how = quantity.partition(":")
    name = _NAMES.get(what, what.replace("_", " "))
    return f"{name} ({how})" if how else name


def _with_unit(value: float, one: Figure) -> str:
    return f"{shown(value)} {one.unit}".rstrip()


def _finding(
    identifier: str, outcome: Outcome, gravity: Gravity, sentence: str, remedy: str | None = None
) -> ImportFinding:
    return ImportFinding(id=identifier, outcome=outcome, gravity=gravity, sentence=sentence, remedy=remedy)


def _about(
    one: Figure,
    right: float | None,
    identifier: str,
    gravity: Gravity,
    sentence: str,
    remedy: str | None,
    outcome: Outcome = Outcome.FAILS,
) -> ImportFinding:
    found = _finding(identifier, outcome, gravity, sentence, remedy)
    about = {"figure": one.name, "printed": one.value, "right": right, "unit": one.unit}
    return found.model_copy(update=about)
