"""No counting rule invents tokens: what each counts is bounded by what was sent, delivered, drafted and asked for."""

from dataclasses import replace

import numpy as np
import pytest
from closed_loops import World, samples_of, simulate
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.core.bases import BASES, Basis, Load, Recounted, Sample
from auditor.core.bases.numerators import NUMERATORS
from auditor.core.counting.tally import Tally

worlds = st.builds(
    World,
    width=st.integers(1, 9),
    chance=st.floats(0, 0.99),
    streams=st.integers(1, 4),
    tokens=st.integers(8, 120),
    early=st.sampled_from([0.0, 0.5]),
    prompt=st.integers(1, 500),
    step_ns=st.floats(1e6, 1e8),
    wait_ns=st.floats(1e6, 1e9),
    jitter=st.just(0.0),
)
HONEST = [basis for basis in BASES if basis.is_honest]


def sample(world: World, seed: int) -> Sample:
    made = samples_of(simulate(world, 1, np.random.default_rng(seed)))[0]
    delivered = made.counts.delivered
    return replace(made, recounted=Recounted(delivered, delivered, delivered))


@settings(max_examples=150, deadline=None)
@given(worlds, st.integers(0, 2**32))
def test_every_numerator_counts_no_more_than_there_was(world: World, seed: int) -> None:
    one = sample(world, seed)
    t = one.counts
    most = (t.prompt_tokens or 0) + 2 * (t.delivered or 0) + 2 * (t.drafted or 0) + (t.requested or 0)
    for numerator in NUMERATORS:
        count = numerator.count(one)
        assert count is not None, numerator.id
        assert 0 <= count <= most, numerator.id
    counted = {numerator.id: numerator.count(one) or 0 for numerator in NUMERATORS}
    assert counted["accepted"] <= counted["drafted"]
    assert counted["steps"] <= counted["delivered"] + world.streams * world.width
    assert counted["delivered+rejected"] <= counted["verified"] <= counted["full"]
    assert counted["verified"] - counted["delivered+rejected"] <= world.streams * world.width


@settings(max_examples=150, deadline=None)
@given(worlds, st.integers(0, 2**32))
def test_an_honest_rule_counts_delivered_tokens_and_prompts_only(world: World, seed: int) -> None:
    one = sample(world, seed)
    delivered, total = one.counts.delivered or 0, (one.counts.delivered or 0) + (one.counts.prompt_tokens or 0)
    fastest = (
        max(each.decode_tokens / each.decode_ns for each in one.each if each.decode_tokens and each.decode_ns) * 1e9
    )
    clocks = {"decode": one.decode_ns, "request": one.e2e_ns, "system": one.window_ns, "gpu": one.window_ns}
    for basis in HONEST:
        rate = basis.rate(one, Load(world.streams, 2))
        if rate is None:
            continue
        if basis.id.startswith("mean-of-rates"):
            assert rate <= max(fastest, delivered * 1e9 / min(each.e2e_ns or 1 for each in one.each)) * 1.000001
            continue
        tokens = rate * (clocks[basis.id.split("/")[1]] or 0) / 1e9
        assert tokens <= (total if basis.id.startswith("total") else delivered) * 1.000001, basis.id


@settings(max_examples=80, deadline=None)
@given(worlds, st.integers(0, 2**32))
def test_without_drafts_no_rule_of_drafts_gives_more_than_was_delivered(world: World, seed: int) -> None:
    rounds = simulate(replace(world, chance=0.0), 1, np.random.default_rng(seed))
    made = samples_of(rounds)[0]
    plain = replace(made, counts=replace(made.counts, drafted=0, accepted=0, draft_width=0))
    for numerator in NUMERATORS:
        if numerator.is_of_drafts:
            assert (numerator.count(plain) or 0) <= (plain.counts.delivered or 0), numerator.id


def test_a_rule_that_counts_double_is_not_called_honest() -> None:
    honest = {basis.id.split("/")[0] for basis in HONEST}
    assert honest == {"delivered", "total", "peak", "peak-total", "mean-of-rates"}


@pytest.mark.parametrize("basis", BASES, ids=lambda basis: basis.id)
def test_an_empty_round_gives_nothing(basis: Basis) -> None:
    assert basis.rate(Sample(counts=Tally()), Load(2, 2)) is None
