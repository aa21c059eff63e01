"""Gaps and accepted drafts per step, on recorded streams."""

import pytest
from runs import Cells, account, recording

from auditor.core.counting.gaps import gap_summary, quantile


def summary(name: str):
    return gap_summary(account(Cells(subject=((recording("llamacpp", name),),))).counted, "subject")


def test_a_draft_stream_by_hand():
    found = summary("draft/chat_stream_tpt")
    # 96 tokens came in 37 steps, the prefill's included; 36 verify steps accepted 59 drafts.
    assert found.icl_ns.n == 95
    assert found.step_ns.n == 36
    assert found.itl_ns == found.icl_ns, "each event carried one token"
    assert sum(found.accepted_per_step.values()) == 36
    assert sum(accepted * steps for accepted, steps in found.accepted_per_step.items()) == 59
    assert found.step_ns.median_ns > found.icl_ns.median_ns
    assert found.icl_ns.least_ns <= found.icl_ns.median_ns <= found.icl_ns.p99_ns <= found.icl_ns.most_ns


def test_without_steps_and_with_held_text():
    plain = summary("plain/chat_stream")
    assert plain.step_ns is None
    held = summary("edge_plain/utf8_grammar_chat")
    assert held.itl_ns is None
    assert held.itl_reason == "not every event carried exactly one token"


def test_nothing_measured_has_no_gaps():
    assert gap_summary([], "subject").icl_ns is None


@pytest.mark.parametrize(("share", "value"), [(0.5, 2), (0.9, 4), (0.99, 4), (0.25, 1), (0.0, 1)])
def test_a_quantile_is_a_value_that_was_seen(share, value):
    assert quantile([1, 2, 3, 4], share) == value
