"""Intervals by Student's t, against values from tables and worked by hand."""

import math

import pytest

from auditor.core.stats import estimate, t_quantile

TABLE = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 9: 2.262, 10: 2.228, 19: 2.093, 29: 2.045, 30: 2.042}
BEYOND = {31: 2.03951, 40: 2.02108, 50: 2.00856, 60: 2.00030, 100: 1.98397, 120: 1.97993, 1000: 1.96234, 10**6: 1.95997}


@pytest.mark.parametrize("degrees", TABLE)
def test_quantiles_are_those_of_the_table(degrees: int) -> None:
    assert t_quantile(degrees) == pytest.approx(TABLE[degrees], abs=6e-4)


@pytest.mark.parametrize("degrees", BEYOND)
def test_quantiles_beyond_the_table(degrees: int) -> None:
    assert t_quantile(degrees) == pytest.approx(BEYOND[degrees], abs=1e-4)


def test_quantiles_fall_from_one_degree_to_the_next() -> None:
    values = [t_quantile(degrees) for degrees in range(1, 200)]
    assert values == sorted(values, reverse=True)


def test_three_repeats_by_hand() -> None:
    """39, 40, 41: mean 40, standard deviation 1, half width 4.30265 / sqrt(3) = 2.48414."""
    found = estimate([39, 40, 41])
    assert (found.value, found.low, found.high, found.n) == (40, 37.5159, 42.4841, 3)
    assert found.half_width == pytest.approx(4.30265 / math.sqrt(3) / 40, rel=1e-4)
    assert found.reason is None


def test_two_repeats_by_hand() -> None:
    """10 and 12: deviation sqrt(2), half width 12.7062: the interval would begin below zero and is cut there."""
    found = estimate([10, 12])
    assert (found.value, found.low, found.high) == (11, 0, 23.7062)


def test_equal_repeats_have_an_interval_of_no_width() -> None:
    found = estimate([7.0, 7.0, 7.0])
    assert (found.low, found.high, found.half_width) == (7, 7, 0)


def test_one_repeat_has_no_interval() -> None:
    found = estimate([123.4567891])
    assert (found.value, found.low, found.high, found.half_width) == (123.457, None, None, None)
    assert found.reason == "one repeat gives no interval"


def test_nothing_delivered_has_no_relative_width() -> None:
    assert estimate([0.0, 0.0]).half_width is None


def test_the_order_of_repeats_does_not_matter() -> None:
    values = [0.1, 1e9, 3.3, 7e-5, 2.5e4]
    assert estimate(values) == estimate(values[::-1])
