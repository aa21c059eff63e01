"""How easily a random number would be explained: the measure of the union of intervals on a logarithmic axis."""

import math
from collections.abc import Sequence

RANGE = (0.2, 5.0)
"""Random numbers are drawn from this share to this multiple of the delivered rate."""

Interval = tuple[float, float]


def chance_of_match(delivered: float, rules: Sequence[Interval], claim: Interval) -> float:
    """The chance that a number drawn log-uniformly from 0.2 to 5 times delivered meets at least one of the rules.

    The number drawn is rounded as the claim is, relative to its size. Exact: x meets [low, high] when
    x sqrt(ch / cl) >= low and x sqrt(cl / ch) <= high, with [cl, ch] the claim.
    """
    if claim[0] <= 0:
        return 1.0 if rules else 0.0
    bottom, top = (math.log(delivered * end) for end in RANGE)
    slack = math.log(claim[1] / claim[0]) / 2
    spans = [(math.log(low) - slack if low > 0 else bottom, math.log(high) + slack) for low, high in rules if high > 0]
    clipped = sorted((max(low, bottom), min(high, top)) for low, high in spans if high > bottom and low < top)
    covered, reached = 0.0, bottom
    for low, high in clipped:
        covered += max(0.0, high - max(low, reached))
        reached = max(reached, high)
    return covered / (top - bottom)
