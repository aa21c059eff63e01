"""Intervals from repeats: Student's t over the repeats of a plan."""

import math
import statistics
from collections.abc import Sequence

from auditor.core.record import Record, six

_T_975 = (
    12.7062, 4.30265, 3.18245, 2.77645, 2.57058, 2.44691, 2.36462, 2.306, 2.26216, 2.22814,
    2.20099, 2.17881, 2.16037, 2.14479, 2.13145, 2.11991, 2.10982, 2.10092, 2.09302, 2.08596,
    2.07961, 2.07387, 2.06866, 2.0639, 2.05954, 2.05553, 2.05183, 2.04841, 2.04523, 2.04227,
)  # fmt: skip
"""Quantiles of Student's t at 0.975 for 1 to 30 degrees of freedom."""


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


def t_quantile(degrees: int) -> float:
    """Student's t at 0.975; beyond 30 degrees of freedom by the expansion around the normal quantile, good to 1e-4."""
    if degrees <= len(_T_975):
        return _T_975[degrees - 1]
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
    spread = math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (n - 1))
    half = t_quantile(n - 1) * spread / math.sqrt(n)
    return Estimate(value=six(mean), low=six(max(0.0, mean - half)), high=six(mean + half), n=n)
