"""Backwards through the rules that count drafts: which acceptance at the width that was used, and which width at the
acceptance that was seen.

With k drafted per step, L tokens per step and d delivered per second, a rule gives d times its factor of L and k. All
four factors fall as L grows, so the most that a rule can give is at L = 1, where every draft is rejected.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from auditor.core.explain.record import Backward
from auditor.core.explain.served import K_MAX, Served, Span, Stated
from auditor.core.wording import figure, numbers, span

Factors = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Rule:
    id: str
    name: str
    factor: Callable[[float, float], float]
    """Of the tokens per step and k."""
    length: Callable[[float, float], float]
    """The L at which the factor is q, of q and k."""


RULES = (
    _Rule("verified", "verified positions",
          lambda length, k: (k + 1) / length, lambda q, k: (k + 1) / q),
    _Rule("delivered+drafted", "delivered + drafted",
          lambda length, k: 1 + k / length, lambda q, k: k / (q - 1) if q > 1 else math.inf),
    _Rule("drafted", "drafted", lambda length, k: k / length, lambda q, k: k / q),
    _Rule("drafted+rejected", "proposed + rejected",
          lambda length, k: (2 * k + 1 - length) / length, lambda q, k: (2 * k + 1) / (q + 1)),
)  # fmt: skip


def draft_sentences(factors: Factors, claim_low: float, served: Served, stated: Stated) -> Iterator[Backward]:
    """Each rule at the width that was used, then at others; where the width is not known, what it would have to be."""
    if served.width == 0:
        words = "Drafted tokens in the number: nothing was drafted in what was measured."
        yield Backward(id="drafts", sentence=words, is_possible=False, why="there is nothing to count")
        return
    if served.width is None or served.per_step is None:
        yield _width_not_known(factors, served)
        return
    for rule in RULES:
        yield _at_this_width(rule, factors, claim_low, served)
    if served.spans:
        for rule in RULES[:2]:
            yield _at_other_widths(rule, factors, served, stated)


def _width_not_known(factors: Factors, served: Served) -> Backward:
    least = max(1, math.ceil(factors[0] - 1))
    lengths = [f"{(k + 1) / factors[0]:.3g} at k = {k}" for k in range(least, least + 3)]
    words = (
        f"Verified positions: at most delivered x (k + 1) at any acceptance, so k of {least} or more, with tokens per "
        f"step of at most {', '.join(lengths)}."
    )
    return Backward(
        id="verified", sentence=words, is_possible=None, why="whether what was measured drafted is not known"
    )


def _at_this_width(rule: _Rule, factors: Factors, claim_low: float, served: Served) -> Backward:
    k, name = served.per_step or 0.0, rule.name.capitalize()
    most = rule.factor(1.0, k)
    at = f"k = {k:.3g}" if k == served.width else f"{k:.3g} drafted per step (k = {served.width:g})"
    product = f"{figure(served.value)} x {most:.3g} = {figure(served.value * most, (claim_low,))}"
    bound = f"{name}: at {at} and any acceptance at most {product} tok/s"
    if served.high * most < claim_low:
        why = "even with every draft rejected it stays below the claim"
        return Backward(id=rule.id, sentence=f"{bound}.", is_possible=False, why=why)
    need = (max(1.0, rule.length(factors[1], k)), rule.length(factors[0], k))
    if need[1] < 1 or need[0] > k + 1:
        why = "a step gives at least 1 token" if need[1] < 1 else f"a step gives at most k + 1 = {k + 1:.3g} tokens"
        words = f"{name}: at {at} it would take {span(*need, digits=3)} tokens per step."
        return Backward(id=rule.id, sentence=words, is_possible=False, why=why)
    need = (need[0], min(need[1], k + 1))
    rate = span((need[0] - 1) / k, (need[1] - 1) / k, digits=2)
    words = f"{bound}; the claim takes {span(*need, digits=3)} tokens per step, accepted/drafted {rate}."
    return Backward(id=rule.id, sentence=words, is_possible=served.gives(need), why=served.length_words())


def _at_other_widths(rule: _Rule, factors: Factors, served: Served, stated: Stated) -> Backward:
    found = [(defined, _widths(rule, factors, served, defined)) for defined in served.spans]
    some = [f"k = {numbers(widths)}{_defined(defined, served)}" for defined, widths in found if widths]
    name = rule.name.capitalize()
    if not some:
        words = f"{name} at {served.acceptance_words}: no k from 1 to {K_MAX} gives the claim."
        return Backward(id=f"{rule.id}/k", sentence=words, is_possible=False, why="each was tried")
    words = f"{name} at {served.acceptance_words}: {'; '.join(some)}, if as much were delivered."
    fits = stated.width is None or any(stated.width in widths for _, widths in found)
    why = "the claim does not state k" if stated.width is None else f"the claim states k = {stated.width}"
    return Backward(id=f"{rule.id}/k", sentence=words, is_possible=fits, why=why)


def _defined(defined: Span, served: Served) -> str:
    return f" (acceptance {defined.definition.value.replace('_', ' ')})" if len(served.spans) > 1 else ""


def _widths(rule: _Rule, factors: Factors, served: Served, defined: Span) -> list[int]:
    """The widths at which the acceptance seen gives the claim; steps without a draft stay as rare as they were."""
    share = (served.per_step or 0.0) / served.width if served.width else 1.0
    found = []
    for k in range(1, K_MAX + 1):
        lengths = defined.lengths(k)
        if lengths is None:
            continue
        shortest, longest = (1 + share * (length - 1) for length in lengths)
        low, high = rule.factor(longest, k * share), rule.factor(shortest, k * share)
        if low <= factors[1] and high >= factors[0]:
            found.append(k)
    return found
