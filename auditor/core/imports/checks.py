"""What does not add up in an imported result, and which of its figures are not what a reader takes them for."""

from collections.abc import Callable, Iterator

from auditor.core.imports import conduct
from auditor.core.imports.findings import ASK, TOLERANCE, about, fails, finding, is_near, name_of, printed, with_unit
from auditor.core.imports.measured import Measured
from auditor.core.imports.quantities import quantity
from auditor.core.imports.record import Figure, ImportFinding
from auditor.core.wording import plural
from auditor.terms import Outcome


def findings_of(measured: Measured) -> tuple[ImportFinding, ...]:
    """Every check on one result, in order."""
    return tuple(finding for check in CHECKS for finding in check(measured))


def laid(one: Figure, right: float) -> Iterator[ImportFinding]:
    """A printed figure beside what the file's own data gives for it: a finding where they differ."""
    if not is_near(one.value, right):
        words = f"`{one.name}` is printed as {with_unit(one.value, one)}; from the file's own data it is"
        found = fails("figure-differs", f"{words} {with_unit(right, one)}.", ASK, gravity="dirty")
        yield about(one, right, found)


def figures_add_up(measured: Measured) -> Iterator[ImportFinding]:
    """Is each printed figure what the tool's own formula gives from the requests of the same file?"""
    agree = 0
    for one in measured.result.figures:
        is_own = one.quantity == "output_tokens" and measured.counted("output_tokens") is None
        right = None if one.quantity is None or is_own else quantity(measured, one.quantity, one.unit)
        differs = [] if right is None else list(laid(one, right))
        agree += right is not None and not differs
        yield from differs
    if agree:
        words = f"{plural(agree, 'printed figure')} recomputed from the file's own data: equal."
        yield finding("figures-recomputed", Outcome.HOLDS, "note", words)


def labels_hold(measured: Measured) -> Iterator[ImportFinding]:
    """Does each figure count what a reader takes it for?"""
    for one in measured.result.figures:
        if one.label is None or one.quantity is None or one.label == one.quantity or not one.value:
            continue
        taken, right = name_of(one.label), quantity(measured, one.label, one.unit)
        words = f"`{one.name}` ({with_unit(one.value, one)}) is {name_of(one.quantity)}; {taken}"
        if right is None:
            words = f"{words} cannot be told from this file."
            yield about(one, None, finding("figure-mislabelled", Outcome.NOT_AVAILABLE, "note", words))
        elif abs(one.value - right) > 2 * TOLERANCE * right:
            value = with_unit(right, one)
            yield about(one, right, fails("figure-mislabelled", f"{words}: {value}.", f"quote {value} as {taken}"))


def peak_above_mean(measured: Measured) -> Iterator[ImportFinding]:
    """Is the printed peak at least the printed mean?"""
    peak = next((one for one in measured.result.figures if one.label == "peak/second"), None)
    mean = printed(measured, "delivered/system")
    if peak is None or mean is None or not 0 < peak.value < mean.value:
        return
    words = f"`{peak.name}` ({with_unit(peak.value, peak)}) lies below `{mean.name}` ({with_unit(mean.value, mean)})"
    words = f"{words}, which no peak can: it counts events, each of which held several tokens."
    right = measured.sample.peak_tokens
    remedy = None if right is None else f"the best second held {right:,.0f} tokens"
    yield about(peak, right, fails("peak-below-mean", words, remedy))


CHECKS: tuple[Callable[[Measured], Iterator[ImportFinding]], ...] = (
    figures_add_up,
    labels_hold,
    peak_above_mean,
    conduct.tokens_per_event,
    conduct.tokens_were_counted,
    conduct.text_agrees,
    conduct.answers_reached_their_length,
    conduct.rungs_agree,
    conduct.successes_are_answers,
    conduct.drafts_add_up,
    conduct.streams_were_in_flight,
    conduct.times_are_in_order,
)
"""In the order of the report: the figures, then the requests behind them."""
