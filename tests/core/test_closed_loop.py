"""The account of a simulated server, whose every step is known, tells what happened there."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import Cells, account
from simulated import Happened, Setting, Truth, simulate, told_by_vllm

from auditor.core.bases import Load, bases_of
from auditor.core.checks.counting import counters_agree, counts_agree, reconciled
from auditor.core.counting.ledger import CellLedger
from auditor.terms import Outcome, Rung

SETTINGS = st.builds(
    Setting,
    seed=st.integers(0, 10**9),
    width=st.integers(0, 8),
    acceptance=st.sampled_from([0.0, 0.3, 0.7, 0.95, 1.0]),
    plain=st.sampled_from([0.0, 0.2, 0.8, 1.0]),
    tokens=st.integers(1, 90),
    streams=st.integers(1, 4),
    merged=st.sampled_from([0.0, 0.0, 0.1, 0.5]),
    held=st.sampled_from([0.0, 0.0, 0.1, 0.4]),
    per_step=st.booleans(),
)


def measured(setting: Setting, kind: str) -> tuple[CellLedger, Truth]:
    streams, truth = simulate(setting, kind)
    found = account(Cells(subject=(streams,)))
    assert [line.status for line in found.ledger.exchanges] == ["complete"] * setting.streams
    return found.ledger.cells[0], truth


@settings(max_examples=120)
@given(SETTINGS, st.sampled_from(["llamacpp", "vllm"]))
def test_the_identity_holds_and_its_terms_are_those_that_happened(setting: Setting, kind: str) -> None:
    cell, truth = measured(setting, kind)
    tally = cell.tally
    if tally.target_steps is None:  # an answer ends in held text and accepted drafts: what lay past its end is not told
        assert kind == "llamacpp"
        assert setting.held
        assert cell.identity.outcome is Outcome.NOT_AVAILABLE
        return
    assert cell.identity.outcome is Outcome.HOLDS, cell.identity.sentence
    assert tally.delivered == truth.delivered
    assert tally.first == truth.requests
    assert tally.target_steps == truth.plain_steps + truth.verify_steps
    assert (tally.plain_steps, tally.verify_steps) == (truth.plain_steps, truth.verify_steps)
    assert (tally.drafted, tally.accepted) == (truth.drafted, truth.accepted)
    assert tally.rejected is not None
    assert tally.rejected + truth.accepted == truth.drafted
    assert tally.overshoot_left == truth.overshoot
    assert tally.overshoot in (None, truth.overshoot)
    assert cell.rounds[0].other_traffic == 0


@settings(max_examples=80)
@given(SETTINGS)
def test_events_that_the_server_joined_are_never_read_as_steps(setting: Setting) -> None:
    streams, truth = simulate(setting, "vllm")
    found = account(Cells(subject=(streams,)))
    for one in found.counted:
        told = [step for step in one.stream.steps or () if step.phase is not None]
        if one.line.tally.target_steps is not None:
            assert setting.per_step or setting.width == 0
            assert one.line.identity.is_exact
        if truth.merges and setting.streams == 1:
            assert one.line.tally.target_steps is None
            assert [step.phase for step in told] in ([], ["first"])


def test_a_joined_event_that_looks_like_a_step_is_found_out_by_the_counters() -> None:
    """Two plain steps joined look like a verify step, and the verify step that was cut at the end like a plain one."""
    setting = Setting(seed=0, width=1, tokens=4, per_step=True)
    steps = [Happened(0, 0, 1), Happened(0, 0, 1), Happened(0, 0, 1), Happened(1, 1, 1)]
    truth = Truth(4, 2, 1, 1, 1, 1, 1, by_position=[1])
    groups = [[steps[0]], [steps[1], steps[2]], [steps[3]]]
    one = told_by_vllm(setting, steps, groups, truth)
    alone, counters = (account(Cells(subject=((one,),), has_scrapes=scrapes)).ledger for scrapes in (False, True))
    # Nothing in the stream itself tells them apart ...
    assert alone.exchanges[0].tally.target_steps == 2
    # ... and so the server's own count of its steps decides where there is one.
    assert counters.exchanges[0].tally.target_steps is None
    assert counters.cells[0].tally.target_steps == 3
    assert counters.cells[0].tally.overshoot_left == 1


@settings(max_examples=60)
@given(SETTINGS)
def test_steps_that_are_shown_are_all_read_where_no_events_were_joined(setting: Setting) -> None:
    setting = Setting(**{**vars(setting), "merged": 0.0, "per_step": True, "width": max(1, setting.width)})
    streams, truth = simulate(setting, "vllm")
    found = account(Cells(subject=(streams,), has_scrapes=False))
    cell = found.ledger.cells[0]
    assert cell.tally.target_steps == truth.plain_steps + truth.verify_steps
    assert cell.tally.overshoot == truth.overshoot
    assert cell.identity.is_exact
    told = [step for one in found.counted for step in one.stream.steps or () if step.phase == "verify"]
    assert sum(step.accepted or 0 for step in told) == truth.accepted
    assert sum(step.tokens or 0 for one in found.counted for step in one.stream.steps or ()) == truth.delivered


@settings(max_examples=60)
@given(SETTINGS, st.sampled_from(["llamacpp", "vllm"]))
def test_honest_rules_invent_no_tokens(setting: Setting, kind: str) -> None:
    cell, truth = measured(setting, kind)
    one = cell.rounds[0]
    clocks = {"decode": one.decode_ns, "request": one.e2e_ns, "system": one.window_ns, "second": 10**9}
    prompts = 30 * truth.requests
    for value in bases_of(cell, Load(setting.streams, 1)):
        numerator, _, clock = value.id.partition("/")
        if not value.is_honest or value.estimate is None or numerator not in ("delivered", "total", "peak"):
            continue
        tokens = value.estimate.value * (clocks[clock] or 0) / 1e9
        most = truth.delivered + (prompts if numerator == "total" else 0)
        assert tokens <= most * (1 + 1e-5), value.id


@pytest.mark.parametrize("kind", ["llamacpp", "vllm"])
@pytest.mark.parametrize(("width", "acceptance", "streams"), [(3, 0.7, 1), (3, 0.7, 8), (5, 0.8, 32)])
def test_the_settings_of_the_survey(kind: str, width: int, acceptance: float, streams: int) -> None:
    """T = R + S + A - X and C = R + S, as in the survey's own simulation (plain steps off)."""
    cell, truth = measured(Setting(1, width, acceptance, 0.0, 150, streams), kind)
    assert truth.delivered == truth.requests + truth.verify_steps + truth.accepted - truth.overshoot
    assert cell.identity.outcome is Outcome.HOLDS
    if kind == "vllm":
        assert cell.tally.events == truth.requests + truth.verify_steps
    length = 1 + truth.accepted / truth.verify_steps
    gaps_per_event = (truth.delivered - truth.requests) / truth.verify_steps
    assert gaps_per_event == pytest.approx(length - truth.overshoot / truth.verify_steps)


@settings(max_examples=25)
@given(SETTINGS, st.sampled_from(["llamacpp", "vllm"]))
def test_the_checks_of_the_counts_hold(setting: Setting, kind: str) -> None:
    from evidence_of_checks import context_of

    streams, _ = simulate(setting, kind)
    context = context_of(Cells(subject=(streams,)))
    assert reconciled(context).outcome is Outcome.HOLDS or setting.held
    assert reconciled(context).outcome is not Outcome.FAILS
    assert counts_agree(context).outcome is Outcome.HOLDS
    assert counters_agree(context).outcome in (Outcome.HOLDS, Outcome.NOT_AVAILABLE)
    assert all(line.rung in (Rung.TOKEN_IDS, Rung.EVENT_USAGE) for line in context.lines)
