"""Backwards where the number that was measured is taken to count events: steps of the target per second.

With s steps per second, L tokens per step and k drafted per step, delivered is s L and every rule of drafts is linear
in L, so each needs one length, and L lies from 1 to k + 1.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from auditor.core.explain.record import Backward
from auditor.core.explain.served import Served
from auditor.core.wording import span


@dataclass(frozen=True, slots=True)
class _Rule:
    id: str
    name: str
    formula: str
    per_step: Callable[[float, float], float]
    """Of the tokens per step and k."""


RULES = (
    _Rule("delivered", "Delivered", "steps x L", lambda length, k: length),
    _Rule("verified", "Verified positions", "steps x (k + 1)", lambda length, k: k + 1),
    _Rule("delivered+drafted", "Delivered + drafted", "steps x (L + k)", lambda length, k: length + k),
    _Rule("drafted", "Drafted", "steps x k", lambda length, k: k),
    _Rule("drafted+rejected", "Proposed + rejected", "steps x (2k + 1 - L)", lambda length, k: 2 * k + 1 - length),
)


def event_sentences(claim: tuple[float, float], steps: tuple[float, float], served: Served) -> Iterator[Backward]:
    """Each rule: the most that it gives at any acceptance, and the length that the claim takes."""
    if served.width is None:
        return
    k = served.width
    for rule in RULES:
        ends = sorted((rule.per_step(1.0, k), rule.per_step(k + 1, k)))
        reach = (steps[0] * ends[0], steps[1] * ends[1])
        words = f"{rule.name}: {span(*reach, claim)} tok/s at any acceptance ({rule.formula})"
        if reach[1] < claim[0] or reach[0] > claim[1]:
            why = f"the claim lies {'above' if reach[1] < claim[0] else 'below'} that"
            yield Backward(id=rule.id, sentence=f"{words}.", is_possible=False, why=why)
            continue
        if ends[0] == ends[1]:
            yield Backward(id=rule.id, sentence=f"{words}.", is_possible=True, why="it meets the claim")
            continue
        need = _lengths(rule, (claim[0] / steps[1], claim[1] / steps[0]), k)
        words = f"{words}; the claim takes {span(*need, digits=3)} tokens per step."
        yield Backward(id=rule.id, sentence=words, is_possible=served.gives(need), why=served.length_words())


def _lengths(rule: _Rule, per_step: tuple[float, float], k: float) -> tuple[float, float]:
    """The lengths from 1 to k + 1 at which a linear rule gives so much per step."""
    start, slope = rule.per_step(0.0, k), rule.per_step(1.0, k) - rule.per_step(0.0, k)
    low, high = sorted((value - start) / slope for value in per_step)
    return max(1.0, low), min(k + 1, high)
