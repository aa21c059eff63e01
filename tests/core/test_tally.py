"""The law N = F + P + S + A - O: sums, its check in every branch, and the counters of a server."""

import pytest

from auditor.core.counting.counters import Counters, read_counters
from auditor.core.counting.tally import Tally, add, check_identity
from auditor.terms import Outcome

GOOD = Tally(
    delivered=64, first=1, target_steps=27, verify_steps=12, plain_steps=15, drafted=48, accepted=40, draft_width=4
)
"""vLLM, n-gram: 1 + 27 + 40 - 4 = 64."""


def changed(**terms: int | None) -> Tally:
    return GOOD.model_copy(update=terms)


def test_the_terms_that_follow_from_others() -> None:
    assert (GOOD.rejected, GOOD.overshoot_left, GOOD.accepted_delivered) == (8, 4, 36)
    nothing = Tally()
    assert (nothing.rejected, nothing.overshoot_left, nothing.accepted_delivered) == (None, None, None)


def test_a_sum_lacks_what_one_part_lacks() -> None:
    total = add([GOOD, GOOD, changed(accepted=None, draft_width=6)])
    assert (total.delivered, total.first, total.target_steps, total.requests) == (192, 3, 81, 3)
    assert (total.accepted, total.rejected) == (None, None)
    assert total.draft_width == 6
    nothing = add([])
    assert (nothing.delivered, nothing.requests) == (None, 0)


@pytest.mark.parametrize(
    ("tally", "outcome", "is_exact", "words"),
    [
        (changed(overshoot=4), Outcome.HOLDS, True, "1 first + 27 steps + 40 accepted - 4 overshoot = 64 delivered"),
        (changed(overshoot=4, merged_steps=3), Outcome.HOLDS, False, "4 overshoot"),
        (changed(overshoot=4, merged_steps=0), Outcome.HOLDS, True, "4 overshoot"),
        (changed(overshoot=0), Outcome.FAILS, False, "the last steps show an overshoot of 0"),
        (GOOD, Outcome.HOLDS, False, "4 overshoot"),
        (changed(delivered=68), Outcome.HOLDS, True, "- 0 overshoot = 68 delivered"),
        (changed(delivered=69), Outcome.FAILS, False, "1 tokens were delivered that no step accounts for"),
        (changed(delivered=63), Outcome.FAILS, False, "5 tokens past the end are more than 4"),
        (changed(delivered=63, requests=2), Outcome.HOLDS, False, "5 overshoot"),
        (
            changed(delivered=69, overshoot=-1),
            Outcome.FAILS,
            False,
            "1 tokens were delivered that no step accounts for",
        ),
        (changed(drafted=0, accepted=0, delivered=20, draft_width=None), Outcome.FAILS, False, "more than 0"),
        (changed(draft_width=None), Outcome.NOT_AVAILABLE, False, "not known without the draft width"),
        (changed(draft_width=None, delivered=68), Outcome.HOLDS, True, "0 overshoot"),
        (changed(accepted=None), Outcome.NOT_AVAILABLE, False, "the server does not tell accepted"),
        (changed(first=None, target_steps=None), Outcome.NOT_AVAILABLE, False, "does not tell first and target steps"),
        (changed(accepted=49), Outcome.FAILS, False, "49 drafted tokens were accepted of 48"),
        (changed(verify_steps=28), Outcome.FAILS, False, "28 steps verified a draft of 27 steps in all"),
        (Tally(), Outcome.NOT_AVAILABLE, False, "delivered and first and target steps and accepted"),
    ],
)
def test_the_law(tally: Tally, outcome: Outcome, is_exact: bool, words: str) -> None:
    identity = check_identity(tally)
    assert (identity.outcome, identity.is_exact) == (outcome, is_exact)
    assert words in identity.sentence


def test_a_request_cut_by_the_client_may_leave_more_behind() -> None:
    assert check_identity(changed(delivered=50), is_partial=True).outcome is Outcome.HOLDS
    assert check_identity(changed(delivered=70), is_partial=True).outcome is Outcome.FAILS


NAMES = {"delivered": ("a:tokens_total",), "steps": ("a:first_count", "a:later_count"), "drafted": ("a:drafted_total",)}


def read(text: str) -> Counters:
    return read_counters(text, NAMES, positions="a:per_pos_total", started="a:tokens_created")


def test_counters_are_summed_over_labels_and_groups() -> None:
    found = read(
        'a:tokens_total{engine="0"} 10.0\na:tokens_total{engine="1"} 5.0\n# comment\n'
        'a:first_count{engine="0"} 2\na:later_count{engine="0"} 7\na:tokens_created{engine="0"} 100.5\n'
        'a:tokens_created{engine="1"} 99.5\na:per_pos_total{position="2"} 1\na:per_pos_total{position="0"} 4\nb:other NaN\n'
    )
    assert (found.delivered, found.steps, found.drafted) == (15, 9, None)
    assert found.accepted_by_position == (4, 0, 1)
    assert found.started == 99.5


@pytest.mark.parametrize(
    "text",
    [
        "a:tokens_total NaN\n",
        "a:tokens_total +Inf\n",
        "<html>\n",
        'a:per_pos_total{position="999999999"} 1\n',
        'a:per_pos_total{position="x"} 1\n',
    ],
)
def test_counters_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        read(text)


def test_a_group_of_series_counts_only_when_whole() -> None:
    assert read("a:first_count 2\n").steps is None


def test_differences_of_counters() -> None:
    before = Counters(delivered=100, drafted=8, steps=90, started=5.0)
    after = Counters(
        delivered=164, drafted=56, accepted=40, steps=118, running=3, started=5.0, accepted_by_position=(3, 1)
    )
    moved = after.since(before)
    # `accepted` and the positions are labelled counters that were absent until they were first used.
    assert (moved.delivered, moved.drafted, moved.accepted, moved.steps) == (64, 48, 40, 28)
    assert moved.accepted_by_position == (3, 1)
    assert (moved.running, moved.verify_steps) == (None, None)


def test_a_counter_that_is_gone_is_not_known() -> None:
    assert Counters(delivered=5).since(Counters(delivered=3, drafted=8)).drafted is None


def test_a_restart_is_told_by_the_stamp_or_by_a_counter_that_runs_backwards() -> None:
    with pytest.raises(ValueError, match="restarted"):
        Counters(delivered=500, started=2.0).since(Counters(delivered=3, started=1.0))
    with pytest.raises(ValueError, match="ran backwards, from 9 to 3"):
        Counters(delivered=3).since(Counters(delivered=9))
    # A server that shows its start only after its first request was not restarted for that.
    assert Counters(delivered=5, started=2.0).since(Counters(delivered=0)).delivered == 5
