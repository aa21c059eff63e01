"""Intervals from repeats: Student's t over the repeats of a plan."""

import math
import statistics
from collections.abc import Sequence
from functools import cache

from auditor.core.record import Record, six

_T_975 = (
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814,
    2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596,
    2.07961, 2.07387, 2.06866, 2.0639, 2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227,
)  # fmt: skip
"""Quantiles of Student's t at 0.975 for 1 to 30 degrees of freedom."""
_SLICES = 400
"""Even number of slices of a sum over an angle."""


class Estimate(Record):
    """A mean of repeats with its 95 % interval, six significant digits."""

    value: float
    low: float | None = None
    high: float | None = None
    n: int
    """Repeats."""
    reason: str | None = None
    """Why there is no interval."""

    @property
    def half_width(self) -> float | None:
        """Half of the interval relative to the value; None without an interval."""
        if self.low is None or self.high is None or self.value == 0:
            return None
        return (self.high - self.low) / 2 / self.value


def t_quantile(degrees: float) -> float:
    """Student's t at 0.975; beyond 30 degrees of freedom by the expansion around the normal quantile, good to 1e-4."""
    if degrees <= len(_T_975):
        return _T_975[int(degrees) - 1] if degrees == int(degrees) else t_above(degrees, 0.025)
    z = statistics.NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4 / degrees
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96 / degrees**2
    return z + first + second


def estimate(values: Sequence[float]) -> Estimate:
    """Mean and 95 % interval of one value per repeat; one repeat has no interval."""
    n = len(values)
    mean = math.fsum(values) / n
    if n == 1:
        return Estimate(value=six(mean), n=1, reason="one repeat gives no interval")
    half = t_quantile(n - 1) * spread(values) / math.sqrt(n)
    return Estimate(value=six(mean), low=six(max(0.0, mean - half)), high=six(mean + half), n=n)


def ratio_estimate(ratios: Sequence[float]) -> Estimate:
    """Geometric mean and 95 % interval of one ratio per repeat: t on the logarithms; one repeat has no interval."""
    logs = [math.log(ratio) for ratio in ratios]
    n, mean = len(logs), math.fsum(logs) / len(logs)
    if n == 1:
        return Estimate(value=six(math.exp(mean)), n=1, reason="one repeat gives no interval")
    half = t_quantile(n - 1) * spread(logs) / math.sqrt(n)
    return Estimate(value=six(math.exp(mean)), low=six(math.exp(mean - half)), high=six(math.exp(mean + half)), n=n)


def spread(values: Sequence[float]) -> float:
    """Standard deviation of a sample of two or more."""
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


def t_tail(value: float, degrees: float) -> float:
    """The chance that Student's t exceeds a value of 0 or more.

    With t = sqrt(degrees) tan(angle) the density is the power `degrees - 1` of the cosine, which Simpson's rule sums.
    """
    start = math.atan(value / math.sqrt(degrees))
    step = (math.pi / 2 - start) / _SLICES
    heights = [max(0.0, math.cos(start + i * step)) ** (degrees - 1) for i in range(_SLICES + 1)]
    area: float = (
        step / 3 * (heights[0] + heights[-1] + 4 * math.fsum(heights[1:-1:2]) + 2 * math.fsum(heights[2:-1:2]))
    )
    return area * math.exp(math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - math.lgamma(0.5))


@cache
def t_above(degrees: float, tail: float) -> float:
    """The value that Student's t exceeds with the chance `tail`, to 1e-6 of itself."""
    high = 1.0
    while t_tail(high, degrees) > tail:
        high *= 2
    low = 0.0
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, degrees) > tail else (low, middle)
    return (low + high) / 2
