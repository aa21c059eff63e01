"""Explains a claim from a few numbers, without a run: what was delivered, the draft width, the acceptance."""

from collections.abc import Callable, Iterator, Sequence

from auditor.core.bases import BASES, Basis, BasisValue
from auditor.core.claim.record import Case
from auditor.core.explain.acceptance import length_of
from auditor.core.explain.backevents import event_sentences
from auditor.core.explain.backwards import backwards, factor_words
from auditor.core.explain.closedloop import Setting, geometric, rate_at
from auditor.core.explain.given import Given
from auditor.core.explain.matching import Number, explain, number_of, reading_of
from auditor.core.explain.record import Explanation, Reading
from auditor.core.explain.served import Served, Span, stated_of
from auditor.core.record import six
from auditor.core.stats import Estimate
from auditor.core.wording import span as spanned
from auditor.errors import UsageError

_DRAFTS = ("drafted", "accepted", "verified", "delivered+drafted", "drafted+rejected", "events")
_STREAMS = ("drafted-x-streams", "verified-x-streams", "delivered+drafted-x-streams", "events-x-streams")
_BASES = {basis.id: basis for basis in BASES}


def from_numbers(case: Case, given: Given, limit: float, *, as_events: bool = False) -> Explanation | None:
    """Lay the claim beside every rule that these numbers allow; None where the claim states no number.

    With `as_events` the rate is taken to count events, that is steps: delivered is then so many times as much as a
    step gives tokens. The first token of a request and the overshoot are left out. Raises UsageError where events
    cannot become tokens.
    """
    claim = number_of(case.reported)
    if claim is None:
        return None
    spans = given.spans()
    if as_events and not spans:
        raise UsageError(
            "events become tokens only by the draft width and an acceptance that can be",
            remedy="give --draft-tokens and --acceptance",
        )
    served = _served(given, spans, as_events)
    readings = list(_readings(given, spans, claim, limit, as_events))
    found = explain(
        claim,
        readings,
        given=given.words(as_events=as_events),
        delivered=_estimate(served.low, served.high),
        delivered_id="delivered/decode",
        limit=limit,
        setting_of=_setting_of(given, spans, as_events),
    )
    stated = stated_of(case)
    sentences = backwards(claim, served, stated, has_drafts=not as_events)
    if as_events:
        steps = tuple(event_sentences((claim.low, claim.high), (given.rate.low, given.rate.high), served))
        sentences = (*steps, *sentences)
    words = [factor_words(claim, served.low, served.high), *_reach(readings, given, claim), *found.words]
    return found.model_copy(update={"words": tuple(words), "backwards": sentences})


def _served(given: Given, spans: Sequence[Span], as_events: bool) -> Served:
    lengths = tuple(pair for span in spans if (pair := span.lengths(given.width or 0)) is not None)
    low, high = given.rate.low, given.rate.high
    if as_events:
        low, high = low * min(pair[0] for pair in lengths), high * max(pair[1] for pair in lengths)
    return Served(
        value=(low + high) / 2,
        low=low,
        high=high,
        width=given.width,
        per_step=given.width,
        lengths=lengths,
        spans=tuple(spans),
        acceptance_words=given.acceptance_words,
        streams=given.streams,
        gpus=given.gpus,
        output_tokens=given.output_tokens,
        prompt_tokens=given.prompt_tokens,
        may_be_events=not as_events,
    )


def _readings(given: Given, spans: Sequence[Span], claim: Number, limit: float, as_events: bool) -> Iterator[Reading]:
    for identifier, name in _rules(given):
        basis = _BASES[identifier]
        values = [(span, _value(basis, name, given, span, as_events)) for span in spans or (None,)]
        known = [(span, found) for span, found in values if found is not None]
        hangs = any(ends[0] != ends[1] for _, (_, ends) in known) or len({found[1] for _, found in known}) > 1
        if not known:
            value = _basis_value(basis, name, None, "needs the acceptance")
            yield reading_of(value, claim, limit)
        for span, (value, ends) in known if hangs else known[:1]:
            definition = span.definition.value if hangs and span is not None and len(given.definitions) > 1 else None
            yield reading_of(value, claim, limit, definition=definition, ends=ends if hangs else None)


def _rules(given: Given) -> Iterator[tuple[str, str]]:
    """The rules that these numbers allow, each with its name: all share one clock, that of the given rate."""
    yield "delivered/decode", "delivered"
    if given.prompt_tokens is not None and given.output_tokens is not None:
        yield "total/request", "prompt + delivered"
    if given.width:
        yield from ((f"{rule}/decode", _BASES[f"{rule}/decode"].name.split(", first")[0]) for rule in _DRAFTS)
    if (given.streams or 1) > 1:
        yield "decode-x-streams", "delivered times streams"
        if given.width:
            yield from ((rule, _BASES[rule].name.replace("of one stream ", "")) for rule in _STREAMS)
    if (given.gpus or 1) > 1:
        yield "decode-x-gpus", "delivered times GPUs"
        yield "decode/gpu", "delivered per GPU"
        if given.prompt_tokens is not None and given.output_tokens is not None:
            yield "total/gpu", "prompt + delivered, per GPU"


Valued = tuple[BasisValue, tuple[float, float]]


def _value(basis: Basis, name: str, given: Given, span: Span | None, as_events: bool) -> Valued | None:
    """The interval over the corners of what was given, and the values at the lowest and highest acceptance."""
    middle = (given.rate.low + given.rate.high) / 2
    ends = [rate_at(_setting(given, middle, end, span, as_events), basis.id) for end in _acceptances(given)]
    corners = [
        rate_at(_setting(given, rate, end, span, as_events), basis.id)
        for rate in (given.rate.low, given.rate.high)
        for end in _acceptances(given)
    ]
    known = [corner for corner in corners if corner is not None]
    if len(known) < len(corners) or ends[0] is None or ends[-1] is None:
        return None
    estimate = _estimate(min(known), max(known))
    return _basis_value(basis, name, estimate, None), (six(ends[0]), six(ends[-1]))


def _acceptances(given: Given) -> tuple[float | None, ...]:
    return (None,) if given.acceptance is None else given.acceptance


def _setting(given: Given, rate: float, acceptance: float | None, span: Span | None, as_events: bool) -> Setting:
    """The server behind the numbers: `rate` counts tokens, or steps if `as_events`."""
    width, reached = given.width, None
    if width is not None and acceptance is not None and span is not None:
        length = length_of(acceptance, width, span.definition) or 1.0
        reached = geometric(length - 1, width)
        rate = rate * length if as_events else rate
    return Setting(
        streams=given.streams or 1,
        gpus=given.gpus,
        output_tokens=given.output_tokens or 1,
        token_ns=1e9 / rate,
        first_tokens=0,
        wait_ns=0,
        prompt_tokens=given.prompt_tokens,
        width=width,
        drafted=width,
        reached=reached,
    )


def _setting_of(given: Given, spans: Sequence[Span], as_events: bool) -> Callable[[Reading], Setting | None]:
    middle = (given.rate.low + given.rate.high) / 2
    acceptance = None if given.acceptance is None else sum(given.acceptance) / 2

    def setting_of(reading: Reading) -> Setting:
        same = [span for span in spans if reading.definition in (None, span.definition.value)]
        return _setting(given, middle, acceptance, same[0] if same else None, as_events)

    return setting_of


def _estimate(low: float, high: float) -> Estimate:
    return Estimate(value=six((low + high) / 2), low=six(low), high=six(high), n=1)


def _basis_value(basis: Basis, name: str, estimate: Estimate | None, reason: str | None) -> BasisValue:
    return BasisValue(
        id=basis.id,
        name=name,
        formula=basis.formula.replace(" per s of decode", "").replace(" per s of request", ""),
        unit=basis.unit,
        is_honest=basis.is_honest,
        estimate=estimate,
        reason=reason,
    )


def _reach(readings: Sequence[Reading], given: Given, claim: Number) -> Iterator[str]:
    """Whether any rule that counts drafts comes near the claim, under any definition."""
    drafts = [one for one in readings if one.id.split("/")[0] in _DRAFTS and one.estimate is not None]
    if not drafts or given.acceptance is None:
        return
    low = min(one.estimate.low or 0.0 for one in drafts if one.estimate)
    high = max(one.estimate.high or 0.0 for one in drafts if one.estimate)
    under = "under any of these definitions " if len(given.definitions) > 1 else ""
    reach = spanned(low, high, (claim.low, claim.high))
    if high < claim.low or low > claim.high:
        yield f"At {given.acceptance_words} no rule that counts drafts {under}gives the claim: they give {reach} tok/s."
