"""Runs a claim backwards: what would have to be true for it to come from what was delivered, and whether it can be."""

import math
from collections.abc import Iterator

from auditor.core.explain.backdrafts import Factors, draft_sentences
from auditor.core.explain.matching import Number
from auditor.core.explain.record import Backward
from auditor.core.explain.served import Served, Stated
from auditor.core.wording import figure, percent, span

_FINE = 0.01
"""Relative half-width up to which a claim is one number and no range."""


def backwards(claim: Number, served: Served, stated: Stated, *, has_drafts: bool = True) -> tuple[Backward, ...]:
    """The sentences, empty where the delivered rate itself meets the claim; without `has_drafts`, those of drafts are
    left out.

    `is_possible` is within physical and stated limits: whole numbers of streams and drafts, an acceptance from 0 to 1,
    at most k + 1 tokens a step, and what the claim or the measurement says.
    """
    if served.low <= 0 or claim.low <= 0:
        return ()
    factors = (claim.low / served.high, claim.high / served.low)
    if factors[0] > 1:
        drafts = draft_sentences(factors, claim.low, served, stated) if has_drafts else ()
        return (*drafts, *_above(factors, claim, served, stated))
    return tuple(_below(factors, claim, served, stated)) if factors[1] < 1 else ()


def factor_words(claim: Number, low: float, high: float) -> str:
    """The claim as a multiple of what was delivered, with the smallest factor spelled out."""
    if high <= 0:
        return "Nothing was delivered."
    if low <= 0:
        return "The interval of what was delivered reaches down to 0: too wide for a factor."
    factors = (claim.low / high, claim.high / low)
    if factors[0] <= 1 <= factors[1]:
        return "What was delivered meets the claim."
    words = f"The claim is {span(*factors, digits=3)} times what was delivered"
    if factors[0] > 1:
        return f"{words}; the smallest factor is {figure(claim.low)} / {figure(high)} = {factors[0]:.2f}."
    return f"{words}; the largest factor is {figure(claim.high)} / {figure(low)} = {factors[1]:.2f}."


def _above(factors: Factors, claim: Number, served: Served, stated: Stated) -> Iterator[Backward]:
    if not served.width:
        yield _with_speculation(factors, served, stated)
    if served.may_be_events:
        yield _was_events(factors, served)
    if served.is_one_stream:
        yield _streams(factors, claim, served, stated)
    yield from _gpus(claim, served, stated)
    yield _total(factors, served, stated)
    yield _window(factors, served)


def _below(factors: Factors, claim: Number, served: Served, stated: Stated) -> Iterator[Backward]:
    """An undercount: events, accepted tokens only, a share of the GPUs, or reasoning left out."""
    if served.width != 0:
        yield _events_counted(factors, served)
        yield _accepted_counted(factors, served)
    yield from _gpus(claim, served, stated, is_share=True)
    yield _reasoning(factors, served)


def _reasoning(factors: Factors, served: Served) -> Backward:
    need = (1 - factors[1], 1 - factors[0])
    words = f"Reasoning left out: {span(*need, digits=2)} of the delivered tokens were reasoning."
    if served.reasoning is None:
        return Backward(id="reasoning", sentence=words, is_possible=None, why="how many were is not known")
    fits = need[0] <= served.reasoning <= need[1]
    return Backward(id="reasoning", sentence=words, is_possible=fits, why=f"{percent(served.reasoning)} were")


def _with_speculation(factors: Factors, served: Served, stated: Stated) -> Backward:
    least = max(1, math.ceil(factors[0] - 1))
    words = (
        f"Delivered with speculation where the measured server had none: {factors[0]:.3g} tokens per step or more, so "
        f"k of {least} or more, if a verify step takes no longer than a plain one."
    )
    fits: bool | None = True
    why = "nothing stated speaks against it"
    if served.width is None:
        fits, why = None, "whether what was measured used speculation is not known"
    if stated.is_off:
        fits, why = False, "the claim states that there was no speculation"
    if stated.width is not None and stated.width < least:
        fits, why = False, f"the claim states k = {stated.width}, at most {stated.width + 1} tokens per step"
    return Backward(id="speculation", sentence=words, is_possible=fits, why=why)


def _was_events(factors: Factors, served: Served) -> Backward:
    words = f"Events counted where tokens were meant: {span(*factors, digits=3)} tokens per event would make up for it."
    return _by_length("was-events", words, factors, served)


def _streams(factors: Factors, claim: Number, served: Served, stated: Stated) -> Backward:
    """Several streams added up. Rates fall under load, so each may be slower than the one measured, but not faster."""
    count, alone = stated.streams, span(served.low, served.high)
    if count is None:
        least = max(2, math.ceil(factors[0] - 1e-9))
        words = f"Streams added up: {least:,} streams at {_each(claim, least, served)} each, or more at less."
        return Backward(id="streams", sentence=words, is_possible=True, why="the claim does not state its streams")
    if count == 1:
        words = "Streams added up: more than one."
        return Backward(id="streams", sentence=words, is_possible=False, why="the claim states 1 stream")
    words = f"Streams added up: {count:,} streams at {_each(claim, count, served)} each."
    if claim.low / count <= served.high:
        why = f"the claim states {count:,} streams; one measured gives {alone}, and rates fall under load"
        return Backward(id="streams", sentence=words, is_possible=True, why=why)
    if count < (served.streams or 1):
        why = f"with {served.streams:,} streams one gives {alone}; with {count:,}, as claimed, it is not known"
        return Backward(id="streams", sentence=words, is_possible=None, why=why)
    most = figure(count * served.high, (claim.low,))
    why = f"the claim states {count:,} streams; at the full rate of one they give {most}"
    return Backward(id="streams", sentence=words, is_possible=False, why=why)


def _each(claim: Number, count: int, served: Served) -> str:
    """The rate of each of so many streams, at most the one measured where that is enough."""
    low, high, middle = claim.low / count, claim.high / count, (claim.low + claim.high) / 2 / count
    if claim.half_width <= _FINE and not low <= served.high < middle:
        return f"{figure(middle, digits=3)} tok/s"
    return f"{span(low, min(high, served.high) if low <= served.high else high, digits=3)} tok/s"


def _gpus(claim: Number, served: Served, stated: Stated, *, is_share: bool = False) -> Iterator[Backward]:
    """Added up over the GPUs, or shared among them."""
    gpus = served.gpus or stated.gpus
    if gpus is None or gpus < 2:
        return
    by = 1 / gpus if is_share else gpus
    low, high = by * served.low, by * served.high
    would = span(low, high, (claim.low, claim.high))
    how = f"Per GPU: what was delivered by {gpus}" if is_share else f"Times GPUs: {gpus} times what was delivered"
    fits = low <= claim.high and high >= claim.low
    why = "it meets the claim" if fits else f"that is {'above' if low > claim.high else 'below'} the claim"
    yield Backward(id="gpus", sentence=f"{how} is {would} tok/s.", is_possible=fits, why=why)


def _total(factors: Factors, served: Served, stated: Stated) -> Backward:
    more = (factors[0] - 1, factors[1] - 1)
    output = served.output_tokens or stated.output_tokens
    if output is None:
        words = f"Prompt tokens counted in: a prompt {span(*more, digits=3)} times as long as its answer."
        return Backward(id="total", sentence=words, is_possible=None, why="the lengths are not known")
    need = (more[0] * output, more[1] * output)
    words = f"Prompt tokens counted in: a prompt of {span(*need, digits=3)} tokens for an answer of {output:,.0f}."
    known = stated.prompt_tokens or served.prompt_tokens
    if known is None:
        return Backward(id="total", sentence=words, is_possible=None, why="the length of the prompt is not known")
    whose = "stated" if stated.prompt_tokens else "measured"
    return Backward(
        id="total", sentence=words, is_possible=need[0] <= known <= need[1], why=f"{known:,.0f} tokens are {whose}"
    )


def _window(factors: Factors, served: Served) -> Backward:
    shares = (1 / factors[1], 1 / factors[0])
    if served.output_tokens is None or served.decode_s is None:
        words = f"Another window: {span(*shares, digits=2)} of the time for the same tokens, or a stretch that fast."
        return Backward(id="window", sentence=words, is_possible=None, why="no times are known")
    took = served.output_tokens / served.low
    would = span(shares[0] * took, shares[1] * took, digits=3)
    words = f"Another window: the {served.output_tokens:,.0f} tokens of a request within {would} s."
    why = f"from the first token to the last it took {served.decode_s:.3g} s"
    return Backward(id="window", sentence=words, is_possible=shares[1] * took >= served.decode_s, why=why)


def _events_counted(factors: Factors, served: Served) -> Backward:
    need = (1 / factors[1], 1 / factors[0])
    words = f"Events counted instead of tokens: {span(*need, digits=3)} tokens per event."
    return _by_length("events", words, need, served)


def _accepted_counted(factors: Factors, served: Served) -> Backward:
    need = (1 / (1 - factors[0]), 1 / (1 - factors[1]))
    words = f"Accepted drafts only, without the bonus token: {span(*need, digits=3)} tokens per step."
    return _by_length("accepted", words, need, served)


def _by_length(identifier: str, words: str, need: Factors, served: Served) -> Backward:
    if served.width is not None and need[0] > served.width + 1:
        why = f"a step gives at most k + 1 = {served.width + 1:g} tokens"
        return Backward(id=identifier, sentence=words, is_possible=False, why=why)
    return Backward(id=identifier, sentence=words, is_possible=served.gives(need), why=served.length_words())
