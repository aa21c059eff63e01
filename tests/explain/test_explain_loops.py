"""Over thousands of simulated servers: the identity holds, the true rule is among the matches, chance is as printed."""

import math

import numpy as np
from closed_loops import World, ledger_of, random_world, samples_of, simulate

from auditor.core.bases import BASES, Basis, BasisValue, Load, Sample, bases_of
from auditor.core.counting.tally import check_identity
from auditor.core.explain.matching import Number, explain, reading_of
from auditor.core.explain.record import Explanation
from auditor.core.stats import Estimate, estimate
from auditor.terms import Outcome

REPEATS, MANY, LIMIT = 5, 60, 0.03
NOT_SIMULATED = ("retokenised", "other-tokenizer", "peak", "log/")
RULES = [basis for basis in BASES if not basis.is_best and not basis.id.startswith(NOT_SIMULATED)]


def number(value: float, digits: int = 3) -> Number:
    """The value as someone would publish it."""
    text = f"{value:.{digits}g}"
    half = 10 ** (math.floor(math.log10(float(text))) - digits + 1) / 2
    return Number(text, float(text) - half, float(text) + half)


def measured(world: World, rng: np.random.Generator) -> tuple[tuple[BasisValue, ...], Load]:
    cell, lines = ledger_of(simulate(world, REPEATS, rng))
    assert cell.identity.outcome is Outcome.HOLDS
    load = Load(world.streams, 2)
    return bases_of(cell, load, lines), load


def explained(claim: Number, values: tuple[BasisValue, ...]) -> Explanation:
    delivered = next(value for value in values if value.id == "delivered/decode").estimate
    return explain(
        claim,
        [reading_of(value, claim, LIMIT) for value in values],
        given="a simulation",
        delivered=delivered,
        delivered_id="delivered/decode",
        limit=LIMIT,
        setting_of=lambda reading: None,
    )


def rate(rule: Basis, sample: Sample, load: Load) -> float:
    found = rule.rate(sample, load)
    assert found is not None
    return found


def state_of(claim: Number, rule: Basis, value: Estimate) -> str:
    basis = BasisValue(id=rule.id, name=rule.name, formula=rule.formula, is_honest=rule.is_honest, estimate=value)
    return reading_of(basis, claim, LIMIT).state


def test_the_identity_holds_in_every_loop() -> None:
    rng = np.random.default_rng(1)
    for _ in range(2000):
        world = random_world(rng)
        rounds = simulate(world, 2, rng)
        assert (rounds.overshoot >= 0).all()
        assert (rounds.overshoot <= world.width).all()
    cell, lines = ledger_of(simulate(random_world(rng), 3, rng))
    assert cell.identity.is_exact
    assert all(check_identity(line.tally).is_exact for line in lines)


def test_the_ledger_and_the_samples_give_the_same() -> None:
    rng = np.random.default_rng(4)
    seen = set()
    for _ in range(100):
        rounds = simulate(random_world(rng), REPEATS, rng)
        load = Load(rounds.world.streams, 2)
        cell, lines = ledger_of(rounds)
        values = {value.id: value.estimate for value in bases_of(cell, load, lines)}
        for rule in RULES:
            if rule.id in values:
                assert values[rule.id] == estimate([rate(rule, sample, load) for sample in samples_of(rounds)])
                seen.add(rule.id)
    assert seen == {rule.id for rule in RULES}


def test_the_true_rule_is_among_the_matches_as_often_as_the_interval_says() -> None:
    """What is published is the rule's value over many rounds; the replay has five. 95 % intervals, so 95 % at least."""
    rng = np.random.default_rng(2)
    met = conclusive = 0
    for _ in range(2000):
        world = random_world(rng)
        rule = RULES[int(rng.integers(len(RULES)))]
        load = Load(world.streams, 2)
        replayed = [rate(rule, sample, load) for sample in samples_of(simulate(world, REPEATS, rng))]
        published = [rate(rule, sample, load) for sample in samples_of(simulate(world, MANY, rng))]
        claim, true = number(math.fsum(published) / MANY), estimate(replayed)
        if (true.half_width or 0.0) > LIMIT:
            assert state_of(claim, rule, true) != "meets"
            continue
        conclusive += 1
        met += state_of(claim, rule, true) == "meets"
    assert conclusive > 1000
    error = math.sqrt(0.95 * 0.05 / conclusive)
    assert met / conclusive > 0.95 - 3 * error


def test_a_random_number_matches_as_often_as_is_printed() -> None:
    rng = np.random.default_rng(3)
    said, seen, spread = 0.0, 0, 0.0
    for _ in range(500):
        values, _ = measured(random_world(rng), rng)
        delivered = next(value for value in values if value.id == "delivered/decode").estimate.value
        for draw in (delivered * 0.2 * 25 ** rng.uniform(0, 1, 10)).tolist():
            claim = Number("random", draw * 0.997, draw * 1.003)
            found = explained(claim, values)
            said += found.chance or 0.0
            spread += (found.chance or 0.0) * (1 - (found.chance or 0.0))
            seen += bool(found.matches or found.matches_once)
            assert not found.explained_by
    assert said > 500
    assert abs(seen - said) < 3.5 * math.sqrt(spread)
