"""What a comparison could have shown: the power of the t test, with the noise as measured and at its upper limit."""

import math
from collections.abc import Callable
from statistics import NormalDist

from auditor.core.comparing.effect import ALPHA, Effect
from auditor.core.stats import t_above

POWER = 0.9
MOST_REPEATS = 1000
_SLICES = 200
_below = NormalDist().cdf


def power(effect: Effect, log_ratio: float, n: int, *, noise: float | None = None, alpha: float = ALPHA) -> float:
    """The chance that `n` repeats show a true ratio, given the noise of one repeat; that measured where none is given.

    The noncentral t: over the chance of each standard deviation, as a share u of the true one, that the normal mean
    lies beyond the quantile times u.
    """
    degrees = (n - 1) * effect.per_repeat
    shift = abs(log_ratio) * math.sqrt(n) / (effect.noise if noise is None else noise)
    limit = t_above(degrees, alpha / 2)
    scale = math.log(2) + degrees / 2 * math.log(degrees / 2) - math.lgamma(degrees / 2)
    step = (1 + 8 / math.sqrt(2 * degrees)) / _SLICES

    def slice_of(index: int) -> float:
        u = max(index * step, 1e-12)
        density = math.exp(scale + (degrees - 1) * math.log(u) - degrees * u * u / 2)
        return density * (_below(shift - limit * u) + _below(-shift - limit * u))

    ends, odd = slice_of(0) + slice_of(_SLICES), math.fsum(slice_of(i) for i in range(1, _SLICES, 2))
    return min(1.0, step / 3 * (ends + 4 * odd + 2 * math.fsum(slice_of(i) for i in range(2, _SLICES, 2))))


def smallest_shown(effect: Effect, alpha: float = ALPHA) -> float:
    """The least ratio above 1 that this many repeats would have shown with a power of 0.9."""
    low, high = 0.0, effect.error
    while power(effect, high, effect.n, alpha=alpha) < POWER:
        low, high = high, 2 * high
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if power(effect, middle, effect.n, alpha=alpha) >= POWER else (middle, high)
    return math.exp(min(high, 50.0))


def repeats_needed(effect: Effect, ratio: float, *, is_sure: bool, alpha: float = ALPHA) -> int | None:
    """Repeats that would show a ratio with a power of 0.9; None where that takes more than a thousand.

    `is_sure` takes the noise at the upper limit that these repeats leave it, which nine of ten noises stay below.
    """
    noise = upper_noise(effect) if is_sure else effect.noise

    def enough(n: int) -> bool:
        return power(effect, math.log(ratio), n, noise=noise, alpha=alpha) >= POWER

    return _first(enough, 2, MOST_REPEATS)


def upper_noise(effect: Effect) -> float:
    """The 90 % upper limit of the noise, by chi-squared."""
    low, high = 0.0, effect.degrees
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _chi_squared(middle, effect.degrees) < 1 - POWER else (low, middle)
    return effect.noise * math.sqrt(effect.degrees / high)


def _chi_squared(value: float, degrees: float) -> float:
    """The chance that chi-squared lies below a value: the series of the incomplete gamma function."""
    half, x = degrees / 2, value / 2
    if x <= 0:
        return 0.0
    term = total = math.exp(half * math.log(x) - x - math.lgamma(half + 1))
    number = half
    while term > 1e-12 * total:
        number += 1
        term *= x / number
        total += term
    return total


def _first(is_true: Callable[[int], bool], low: int, high: int) -> int | None:
    """The least number for which it is true, if it stays true from there on."""
    if not is_true(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_true(middle) else (middle + 1, high)
    return low
