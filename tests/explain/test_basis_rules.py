"""Every counting rule against one example worked by hand."""

import pytest

from auditor.core.bases import BASES, BasisValue, Extras, Load, Recounted, bases_of, find
from auditor.core.counting.ledger import CellLedger, ExchangeLedger, RoundLedger, Times
from auditor.core.counting.tally import Identity, Tally, add
from auditor.terms import Outcome, Rung

SECOND = 10**9
HOLDS = Identity(outcome=Outcome.HOLDS, sentence="")

# Two streams at once. One sends at 0, has tokens from 1 s to 5 s and ends at 6 s: 9 delivered, of 1 first + 3 verify
# steps + 6 accepted of 12 drafted - 1 past the end. The other sends at 1, has tokens from 2 to 3 s and ends at 5 s: 5
# delivered, of 1 first + 1 plain step + 1 verify step + 2 accepted of 4 drafted.
LONG = Tally(delivered=9, first=1, plain_steps=0, verify_steps=3, target_steps=3, drafted=12, accepted=6, overshoot=1,
             draft_width=4, events=4, prompt_tokens=20, requested=16, reasoning=3)  # fmt: skip
SHORT = Tally(delivered=5, first=1, plain_steps=1, verify_steps=1, target_steps=2, drafted=4, accepted=2, overshoot=0,
              draft_width=4, events=3, prompt_tokens=10, requested=8, reasoning=1)  # fmt: skip
TIMES = ((0, 1, 5, 6), (1, 2, 3, 5))


def line(exchange: int, tally: Tally, recount: int) -> ExchangeLedger:
    send, first, last, end = (moment * SECOND for moment in TIMES[exchange % 2])
    return ExchangeLedger(
        exchange=exchange,
        cell="subject",
        repeat=exchange // 2,
        index=exchange % 2,
        prompt="p",
        kind="prose",
        status="complete",
        counts={Rung.RETOKENISED: recount},
        tally=tally,
        identity=HOLDS,
        times=Times(
            send_ns=send,
            first_ns=first,
            last_ns=last,
            end_ns=end,
            tokens_in_first_event=1,
            tokens_after_first=(tally.delivered or 0) - 1,
        ),
    )


def one_round(repeat: int, *, slower: int = 1) -> RoundLedger:
    tally = add((LONG, SHORT))
    return RoundLedger(
        cell="subject",
        repeat=repeat,
        exchanges=(2 * repeat, 2 * repeat + 1),
        complete=2,
        tally=tally,
        window_ns=5 * SECOND * slower,
        decode_tokens=12,
        decode_ns=5 * SECOND * slower,
        e2e_ns=10 * SECOND * slower,
        peak_second_tokens=6,
        peak_second_total=25,
        peak_second_events=3,
    )


def cell_of(*rounds: RoundLedger, streams: int = 2) -> CellLedger:
    tally = add(one.tally for one in rounds)
    return CellLedger(cell="subject", server="subject", role="subject", streams=streams, tally=tally, identity=HOLDS,
                      rounds=rounds)  # fmt: skip


LINES = [line(0, LONG, 10), line(1, SHORT, 5)]
EXTRAS = Extras(
    recounted={0: Recounted(by_event=12, other=8), 1: Recounted(by_event=6, other=4)},
    log_rates={0: (2.0, 4.0)},
)

# N 14, F 2, P 1, S 4, D 16, A 8, R 8, E 7, I 30, k 4, requested 24, reasoning 4; decode 5 s with 12 tokens in it,
# e2e 10 s, window 5 s, first token of all to last 4 s, 2 streams, 2 GPUs.
EXPECTED = {
    "delivered/decode": 12 / 5, "delivered/request": 14 / 10, "delivered/system": 14 / 5,
    "total/request": 44 / 10, "total/system": 44 / 5,
    "drafted/decode": 16 / 5, "drafted/request": 16 / 10, "drafted/system": 16 / 5,
    "accepted/decode": 8 / 5, "accepted/request": 8 / 10, "accepted/system": 8 / 5,
    # 2 + 1 + 4 + 16 = 23 positions, 2 of them first tokens
    "verified/decode": 21 / 5, "verified/request": 23 / 10, "verified/system": 23 / 5,
    # 14 + 8: one less than verified, the token past the end
    "delivered+rejected/decode": 20 / 5, "delivered+rejected/request": 22 / 10, "delivered+rejected/system": 22 / 5,
    "delivered+drafted/decode": 28 / 5, "delivered+drafted/request": 30 / 10, "delivered+drafted/system": 30 / 5,
    "drafted+rejected/decode": 24 / 5, "drafted+rejected/request": 24 / 10, "drafted+rejected/system": 24 / 5,
    "events/decode": 5 / 5, "events/request": 7 / 10, "events/system": 7 / 5,
    "steps/decode": 5 / 5, "steps/request": 7 / 10, "steps/system": 7 / 5,
    # 2 + 1 + 4 x 5 = 23
    "full/decode": 21 / 5, "full/request": 23 / 10, "full/system": 23 / 5,
    "requested/decode": 22 / 5, "requested/request": 24 / 10, "requested/system": 24 / 5,
    "retokenised/decode": 13 / 5, "retokenised/request": 15 / 10, "retokenised/system": 15 / 5,
    "retokenised-events/decode": 16 / 5, "retokenised-events/request": 18 / 10, "retokenised-events/system": 18 / 5,
    "other-tokenizer/decode": 10 / 5, "other-tokenizer/request": 12 / 10, "other-tokenizer/system": 12 / 5,
    "reasoning-dropped/decode": 8 / 5, "reasoning-dropped/request": 10 / 10, "reasoning-dropped/system": 10 / 5,
    "reasoning-twice/decode": 16 / 5, "reasoning-twice/request": 18 / 10, "reasoning-twice/system": 18 / 5,
    "peak/second": 6, "peak-total/second": 25, "peak-events/second": 3,
    "fencepost/decode": 14 / 5,
    # 8 tokens in 4 s, and 4 in 1 s
    "mean-of-rates/decode": (2 + 4) / 2, "mean-of-rates/request": (9 / 6 + 5 / 4) / 2,
    "best-request/decode": 4, "best-request/request": 9 / 6,
    "log/mean": 3, "log/best": 4,
    "span/system": 12 / 4,
    "streams/tpot": 2 / ((1 / 2 + 1 / 4) / 2),
    "decode-x-streams": 2 * 12 / 5, "request-x-streams": 2 * 14 / 10,
    "drafted-x-streams": 2 * 16 / 5, "verified-x-streams": 2 * 21 / 5,
    "delivered+drafted-x-streams": 2 * 28 / 5, "events-x-streams": 2 * 5 / 5,
    "delivered/gpu": 14 / 5 / 2, "total/gpu": 44 / 5 / 2, "decode/gpu": 12 / 5 / 2,
    "decode-x-gpus": 2 * 12 / 5, "delivered-x-gpus": 2 * 14 / 5,
}  # fmt: skip
BEST_RUNS = {"best-run/decode": 12 / 5, "best-run/request": 14 / 10, "best-run/system": 14 / 5}


def test_every_rule_has_an_example() -> None:
    assert {basis.id for basis in BASES} == EXPECTED.keys() | BEST_RUNS.keys()
    assert len({basis.id for basis in BASES}) == len(BASES)


@pytest.mark.parametrize("identifier", EXPECTED)
def test_a_rule_gives_what_was_worked_by_hand(identifier: str) -> None:
    found = find(bases_of(cell_of(one_round(0)), Load(2, 2), LINES, EXTRAS), identifier)
    assert found is not None
    assert found.estimate is not None, found.reason
    assert found.estimate.value == pytest.approx(EXPECTED[identifier], rel=1e-5)


@pytest.mark.parametrize(
    ("identifier", "streams"), [("best-run/decode", 1), ("best-run/request", 1), ("best-run/system", 2)]
)
def test_the_best_run_is_the_better_of_two_and_has_no_interval(identifier: str, streams: int) -> None:
    cell = cell_of(one_round(0), one_round(1, slower=2), streams=streams)
    found = find(bases_of(cell, Load(streams)), identifier)
    assert found is not None
    assert found.estimate is not None
    assert found.estimate.value == pytest.approx(BEST_RUNS[identifier])
    assert found.estimate.low is None
    assert found.estimate.reason == "the best of 2 repeats has no interval"


def test_repeats_give_an_interval() -> None:
    cell = cell_of(one_round(0), one_round(1, slower=2))
    found = find(bases_of(cell, Load(2)), "delivered/decode")
    assert found is not None
    assert found.estimate is not None
    # 2.4 and 1.2: mean 1.8, spread 0.8485, t of one degree 12.7062, over the root of 2; a rate is not below 0
    assert (found.estimate.value, found.estimate.low, found.estimate.high) == (
        1.8,
        0.0,
        pytest.approx(1.8 + 7.6237, abs=1e-3),
    )


def test_what_was_not_counted_has_a_reason_and_never_a_zero() -> None:
    bare = Tally(delivered=14, requests=2)
    cell = cell_of(one_round(0).model_copy(update={"tally": bare, "peak_second_tokens": None}))
    values = bases_of(cell, Load(2))
    missing = {value.id for value in values if value.estimate is None}
    assert {"drafted/decode", "verified/system", "total/request", "events/decode", "log/mean", "peak/second"} <= missing
    assert all(value.reason and value.reason.startswith("needs ") for value in values if value.estimate is None)
    assert find(values, "delivered/decode") is not None
    assert all(value.estimate.value > 0 for value in values if value.estimate)


def ids(values: tuple[BasisValue, ...]) -> set[str]:
    return {value.id for value in values}


def test_rules_that_cannot_differ_are_left_out() -> None:
    cell = cell_of(one_round(0))
    assert not any(name.endswith("/system") or "-x-streams" in name for name in ids(bases_of(cell, Load(1), LINES)))
    assert not any("gpu" in name for name in ids(bases_of(cell, Load(2, 1), LINES)))
    alone = one_round(0).model_copy(update={"tally": LONG, "complete": 1, "exchanges": (0,)})
    assert not any("best-" in name or "mean-of" in name for name in ids(bases_of(cell_of(alone), Load(1), LINES)))
    plain = LONG.model_copy(update={"drafted": 0, "accepted": 0, "reasoning": 0})
    quiet = ids(bases_of(cell_of(alone.model_copy(update={"tally": plain})), Load(1), LINES))
    assert not any(word in name for name in quiet for word in ("draft", "verified", "full", "rejected", "reasoning"))
    assert {"delivered/decode", "events/decode", "steps/decode"} <= quiet


def test_the_formula_of_verified_less_the_overshoot_is_delivered_and_rejected() -> None:
    tally = add((LONG, SHORT))
    verified = (tally.first or 0) + (tally.target_steps or 0) + (tally.drafted or 0)
    assert verified - (tally.overshoot or 0) == (tally.delivered or 0) + (tally.rejected or 0)
