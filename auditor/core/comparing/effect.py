"""By how much two sides differ: t on the logarithms of repeats, several comparisons held to 5 % together by Holm.

Decided: the repeat is the unit, and no bootstrap (docs/decisions/0005-comparisons.md).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from auditor.core.stats import spread, t_quantile, t_tail

ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Effect:
    """The ratio of the second side to the first, on logarithms."""

    mean: float
    """Logarithm of the ratio."""
    n: int
    """Repeats of each side."""
    noise: float
    """Standard deviation of the difference of one repeat."""
    per_repeat: float
    """Degrees of freedom by each repeat after the first: 1 paired, up to 2 unpaired."""

    @property
    def degrees(self) -> float:
        """Degrees of freedom."""
        return (self.n - 1) * self.per_repeat

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return self.noise / math.sqrt(self.n)

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the ratio."""
        half = t_quantile(self.degrees) * self.error
        return math.exp(self.mean - half), math.exp(self.mean + half)

    @property
    def p(self) -> float:
        """The chance of a difference this far from none, either way, between equal servers."""
        return min(1.0, 2 * t_tail(abs(self.mean) / self.error, self.degrees))


def effect_of(one: Sequence[float], other: Sequence[float], *, is_paired: bool) -> Effect | str:
    """The effect, or why there is none.

    Paired, each repeat of one side stands beside that of the other; else the sides vary by themselves (Welch).
    """
    n = len(one)
    if n < 2:
        return "one repeat gives no interval" if n else "no repeat has a value on both sides"
    logs, others = [math.log(value) for value in one], [math.log(value) for value in other]
    mean = math.fsum(others) / n - math.fsum(logs) / n
    if is_paired:
        noise, per_repeat = spread([b - a for a, b in zip(logs, others, strict=True)]), 1.0
    else:
        a, b = spread(logs) ** 2, spread(others) ** 2
        noise = math.sqrt(a + b)
        per_repeat = (a + b) ** 2 / (a**2 + b**2) if a + b else 1.0
    # Rounding alone moves the logarithms of equal ratios by about 1e-16.
    return (
        Effect(mean, n, noise, per_repeat) if noise > 1e-12 else "the repeats do not vary, so nothing gives an interval"
    )


def holm(chances: Sequence[float]) -> list[float]:
    """Each chance, adjusted so that all that are at most 5 % err together in 5 % of cases at most (Holm 1979)."""
    adjusted, least = [0.0] * len(chances), 0.0
    for rank, index in enumerate(sorted(range(len(chances)), key=chances.__getitem__)):
        least = max(least, min(1.0, (len(chances) - rank) * chances[index]))
        adjusted[index] = least
    return adjusted
