"""The chance that a random number is explained."""

import math

import numpy as np
import pytest

from auditor.core.explain.chance import chance_of_match

POINT = (100.0, 100.0)


def test_one_interval_covers_its_share_of_the_logarithm() -> None:
    assert chance_of_match(100, [(100, 110)], POINT) == pytest.approx(math.log(1.1) / math.log(25))


def test_the_whole_range_is_certain_and_nothing_is_impossible() -> None:
    assert chance_of_match(100, [(1, 1000)], POINT) == pytest.approx(1)
    assert chance_of_match(100, [], POINT) == 0
    assert chance_of_match(100, [(1, 19.9), (501, 600)], POINT) == 0


def test_what_overlaps_is_counted_once_and_what_sticks_out_is_cut() -> None:
    together = chance_of_match(100, [(90, 110), (100, 120), (95, 105)], POINT)
    assert together == pytest.approx(math.log(120 / 90) / math.log(25))
    assert chance_of_match(100, [(10, 25)], POINT) == pytest.approx(math.log(25 / 20) / math.log(25))


def test_the_rounding_of_the_claim_widens_every_rule() -> None:
    found = chance_of_match(100, [(100, 100)], (99.0, 101.0))
    assert found == pytest.approx(math.log(101 / 99) / math.log(25))


def test_25_rules_of_5_percent_meet_as_many_as_were_simulated() -> None:
    """A survey of peers found 30 % by simulation for 25 rules at 5 %; here by drawing against the exact measure."""
    rng = np.random.default_rng(5)
    rules = [(value * 0.95, value * 1.05) for value in (100 * 0.2 * 25 ** rng.uniform(0, 1, 25)).tolist()]
    draws = 100 * 0.2 * 25 ** rng.uniform(0, 1, 200_000)
    seen = np.zeros(len(draws), dtype=bool)
    for low, high in rules:
        seen |= (draws >= low) & (draws <= high)
    assert chance_of_match(100, rules, POINT) == pytest.approx(seen.mean(), abs=0.004)


def test_a_claim_that_reaches_down_to_nothing_meets_everything() -> None:
    assert chance_of_match(100, [(50, 51)], (0.0, 1.0)) == 1
