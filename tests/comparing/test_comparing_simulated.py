"""400 simulated comparisons: how often equal servers are told apart, and how often servers 10 % apart are not."""

import math
from collections.abc import Iterator

import numpy as np
import pytest

from auditor.core.comparing.compare import outcome_of, raw_of
from auditor.core.comparing.effect import Effect, effect_of, holm
from auditor.core.comparing.power import power, repeats_needed, smallest_shown
from auditor.core.comparing.quantities import BY_ID, Sample, Slot, matched

PROMPTS, COMPARISONS = 8, 400
RATE = BY_ID["decode-rate"]
Samples = dict[Slot, Sample]


def servers(
    rng: np.random.Generator, repeats: int, ratio: float, *, together: bool = True
) -> tuple[dict[Slot, Sample], dict[Slot, Sample]]:
    """Two servers: prompts of different speed, repeats in which the machine is faster or slower, heavy-tailed noise.

    `together`, both are measured in turns and share what the machine does; else each has its own repeats.
    """
    prompts = rng.normal(0, 0.25, PROMPTS)
    machine = 0.03 * rng.standard_t(5, repeats)
    found = []
    for factor in (1.0, ratio):
        own = machine if together else 0.03 * rng.standard_t(5, repeats)
        level = own[:, None] + 0.015 * rng.standard_t(5, (repeats, 1)) + 0.02 * rng.standard_t(4, (repeats, PROMPTS))
        rates = 100 * factor * np.exp(prompts + level)
        found.append(
            {
                (repeat, index, f"p{index}"): Sample(
                    None, None, None, None, round(1e12 / rates[repeat, index]), 1001, 1000
                )
                for repeat in range(repeats)
                for index in range(PROMPTS)
            }
        )
    return found[0], found[1]


def shown(
    seed: int, repeats: int, ratio: float, *, together: bool = True, comparisons: int = COMPARISONS
) -> Iterator[str]:
    """The outcome of every comparison, through the same functions as a real one."""
    rng = np.random.default_rng(seed)
    for _ in range(comparisons):
        sides = servers(rng, repeats, ratio, together=together)
        raw = raw_of(RATE, sides, matched(*sides, PROMPTS), PROMPTS, is_paired=together)
        assert raw is not None
        assert isinstance(raw.effect, Effect)
        yield outcome_of(raw, raw.effect.p, None)


def wilson(hits: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share."""
    z, share = 1.96, hits / n
    middle, half = share + z * z / 2 / n, z * math.sqrt(share * (1 - share) / n + z * z / 4 / n / n)
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


@pytest.mark.parametrize("repeats", [3, 5, 10])
def test_equal_servers_are_told_apart_in_five_per_cent(repeats: int) -> None:
    wrong = sum(outcome != "none shown" for outcome in shown(repeats, repeats, 1.0))
    low, high = wilson(wrong, COMPARISONS)
    assert low <= 0.05 <= high, f"{wrong} of {COMPARISONS}"


def test_a_bootstrap_over_prompts_and_repeats_tells_equal_servers_apart_more_often() -> None:
    """Why there is none: at three repeats about one in nine."""
    rng = np.random.default_rng(4)
    wrong = 0
    for _ in range(COMPARISONS):
        one, other = servers(rng, 3, 1.0)
        logs = np.log([one[slot].decode_ns / other[slot].decode_ns for slot in sorted(one)]).reshape(3, PROMPTS)  # type: ignore[operator]
        rows, columns = rng.integers(0, 3, (400, 3)), rng.integers(0, PROMPTS, (400, PROMPTS))
        means = logs[rows[:, :, None], columns[:, None, :]].mean((1, 2))
        low, high = np.quantile(means, (0.025, 0.975))
        wrong += not low < 0 < high
    assert wilson(wrong, COMPARISONS)[0] > 0.05


@pytest.mark.parametrize("repeats", [3, 5, 10])
def test_equal_servers_in_runs_apart_are_told_apart_no_more_often(repeats: int) -> None:
    """Without pairs the sides' noises may differ; what allows for that errs less often than stated."""
    wrong = sum(outcome != "none shown" for outcome in shown(repeats, repeats, 1.0, together=False))
    assert wilson(wrong, COMPARISONS)[0] <= 0.05, f"{wrong} of {COMPARISONS}"


def test_ten_per_cent_are_shown_at_the_stated_number_of_repeats() -> None:
    """As a user has it: a first comparison of five repeats states a number, and the next one takes it."""
    rng = np.random.default_rng(11)
    outcomes: list[str] = []
    for first in range(COMPARISONS // 8):
        sides = servers(rng, 5, 1.0)
        raw = raw_of(RATE, sides, matched(*sides, PROMPTS), PROMPTS, is_paired=True)
        assert raw is not None
        assert isinstance(raw.effect, Effect)
        stated = repeats_needed(raw.effect, 1.10, is_sure=True)
        assert stated is not None
        outcomes += shown(100 + first, stated, 1.10, comparisons=8)
    assert len(outcomes) == COMPARISONS
    assert outcomes.count("faster") >= 0.9 * COMPARISONS
    assert "slower" not in outcomes


@pytest.mark.parametrize(("n", "per_repeat", "noise"), [(3, 1.0, 0.03), (6, 1.0, 0.05), (5, 2.0, 0.05)])
def test_power_is_that_of_simulated_t_tests(n: int, per_repeat: float, noise: float) -> None:
    effect = Effect(0.0, n, noise, per_repeat)
    rng = np.random.default_rng(3)
    draws = rng.normal(0, 1, 20_000)
    spread = np.sqrt(rng.chisquare(effect.degrees, 20_000) / effect.degrees)
    t = (draws + math.log(1.1) * math.sqrt(n) / noise) / spread
    limit = {2.0: 4.30265, 5.0: 2.57058, 8.0: 2.306}[effect.degrees]
    assert power(effect, math.log(1.1), n) == pytest.approx(float((abs(t) > limit).mean()), abs=0.012)


def test_the_least_that_is_shown_has_the_stated_power() -> None:
    effect = Effect(0.02, 4, 0.04, 1.0)
    assert power(effect, math.log(smallest_shown(effect)), 4) == pytest.approx(0.9, abs=1e-3)


def test_six_equal_servers_are_told_apart_in_five_per_cent_together() -> None:
    rng = np.random.default_rng(8)
    wrong = 0
    for _ in range(COMPARISONS):
        # Five servers beside the first: their differences share its noise, as they do in a comparison.
        logs = rng.normal(0, 0.03, (6, 5))
        effects = [effect_of(np.exp(logs[0]).tolist(), np.exp(one).tolist(), is_paired=True) for one in logs[1:]]
        wrong += min(holm([one.p for one in effects if isinstance(one, Effect)])) <= 0.05
    assert wilson(wrong, COMPARISONS)[0] <= 0.05


def test_holm_by_hand() -> None:
    """0.01 x 3, 0.03 x 2, and 0.04 is raised to the one before it."""
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([]) == []
