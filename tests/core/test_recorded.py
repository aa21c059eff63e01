"""Every recorded stream is counted as its server counted it, and its tokens add up."""

import pytest
from evidence_of_checks import context_of
from runs import Cells, Recording, account, archive, counted, halved, names, recording

from auditor.core.checks.counting import counters_agree, reconciled, visible_text
from auditor.core.counting.counters import Counters
from auditor.core.counting.tally import Tally, check_identity
from auditor.servers import load_adapters
from auditor.terms import Outcome, Rung

LLAMACPP, VLLM, H200 = "llamacpp", "vllm-0.32-cpu", "vllm-0.24-h200"


def streams(where: str, suffix: str) -> list[tuple[str, str]]:
    """Recordings of answers that stream and say at least once how many tokens they have."""
    found = []
    for name in names(where, suffix=suffix):
        one = recording(where, name)
        asked = one.body
        if asked.get("stream") and one.usage is not None and "completion_tokens" in one.usage:
            found.append((where, name))
    return found


COUNTED = [*streams(LLAMACPP, ".recv.jsonl"), *streams(VLLM, ".jsonl"), *streams(H200, ".jsonl")]
NO_TEXT = ("edge_plain/utf8_cut_chat", "edge_plain/return_progress_ping")
"""Answers of one or two tokens and no text at all."""


def test_the_recordings_are_there() -> None:
    assert len(COUNTED) >= 80
    kinds = {(where, name.split("/")[0].split("_")[0].split("-")[0]) for where, name in COUNTED}
    assert {(LLAMACPP, "plain"), (LLAMACPP, "draft"), (LLAMACPP, "ngram"), (LLAMACPP, "edge")} <= kinds
    assert {(VLLM, "plain"), (VLLM, "ngram"), (VLLM, "plain2"), (H200, "draft"), (H200, "plain")} <= kinds


@pytest.mark.parametrize(("where", "name"), COUNTED, ids=lambda value: value)
def test_delivered_is_what_the_server_says(where: str, name: str) -> None:
    one = recording(where, name)
    line = counted(one).line
    assert one.usage is not None
    assert line.tally.delivered == one.usage["completion_tokens"]
    server_side = [count for rung, count in line.counts.items() if rung not in (Rung.EVENTS, Rung.RETOKENISED)]
    assert len(set(server_side)) == 1
    if name in NO_TEXT:
        assert (line.status, line.problem) == ("failed", "the answer is empty")
    elif one.how != "complete" or b'"error"' in one.reads[-1][1]:
        assert line.status == "partial"
        assert line.problem
    else:
        assert (line.status, line.problem) == ("complete", None)


@pytest.mark.parametrize(
    ("where", "name", "tokens", "invisible"),
    [
        (LLAMACPP, "edge_plain/eos_chat", 25, 1),
        (LLAMACPP, "edge_plain/stop_string_partial", 30, 2),
        (LLAMACPP, "edge_plain/utf8_grammar_chat", 18, 1),
        (LLAMACPP, "edge_plain/utf8_cut_by_max_tokens", 2, 2),
        (LLAMACPP, "edge_plain/reasoning_tpt", 31, 2),
        (VLLM, "ngram_x_stoptok", 2, 1),
        (VLLM, "ngram_x_stopstr", 25, 3),
        (VLLM, "ngram_x_utf8", 48, 10),
        (VLLM, "plain_err_stop_string", 11, 2),
        (H200, "plain.chat", 400, 7),
        (H200, "ngram.chat", 400, 3),
    ],
)
def test_tokens_that_nobody_sees_are_told(where: str, name: str, tokens: int, invisible: int) -> None:
    answer = visible_text(context_of(Cells(subject=((recording(where, name),),), has_scrapes=False)))
    assert f"{invisible} of {tokens} tokens were counted and are not visible as text" in answer.sentence
    assert answer.outcome is (Outcome.HOLDS if invisible <= 0.05 * tokens else Outcome.FAILS)


def test_an_answer_without_usage_is_counted_by_events_and_says_so() -> None:
    for where, name, events in ((LLAMACPP, "edge_plain/no_stream_options", 3), (VLLM, "ngram_x_nousage", 11)):
        line = counted(recording(where, name)).line
        assert (line.rung, line.tally.delivered) == (Rung.EVENTS, events)
        assert "an event may hold several tokens" in (line.rung_reason or "")


def test_several_choices_are_summed() -> None:
    for name, choices, tokens in (
        ("ngram_x_n3", 3, 96),
        ("plain_err_n3_stream", 3, 24),
        ("plain_err_batch2_stream", 2, 16),
    ):
        line = counted(recording(VLLM, name)).line
        assert {rung: count for rung, count in line.counts.items() if rung is not Rung.EVENTS} == {
            Rung.TOKEN_IDS: tokens,
            Rung.EVENT_USAGE: tokens,
            Rung.FINAL_USAGE: tokens,
        }
        assert f"{choices} choices came in one answer" in line.notes


@pytest.mark.parametrize(
    ("where", "name", "words"),
    [
        (LLAMACPP, "edge_plain/auth_missing", "HTTP 401"),
        (LLAMACPP, "edge_plain/prompt_too_long_stream", "HTTP 400"),
        (LLAMACPP, "edge_plain/loading_503", "HTTP 503"),
        (LLAMACPP, "edge_plain/client_disconnect", "the record ends before the answer did"),
        (LLAMACPP, "plain/chat_nostream", "no event stream"),
        (VLLM, "ngram_disconnect_rst", "given up by the client"),
        (VLLM, "ngram_api_kill_SIGKILL_stream", "the connection closed before the answer was complete"),
        (VLLM, "ngram_api_kill_SIGKILL_nonstream", "no answer came"),
        (VLLM, "plain_engine_kill_SIGKILL_stream", "EngineCore encountered an issue"),
        (VLLM, "plain_err_max_tokens_0", "HTTP 400"),
    ],
)
def test_an_answer_that_is_none_says_why(where: str, name: str, words: str) -> None:
    line = counted(recording(where, name)).line
    assert line.status != "complete"
    assert words in (line.problem or "")


def difference(one: Recording) -> Counters:
    """What the server's counters moved by."""
    assert one.before is not None
    assert one.after is not None
    counters = load_adapters()[one.kind].counters
    return counters(one.after).since(counters(one.before))


@pytest.mark.parametrize("shape", ["chat", "completions"])
@pytest.mark.parametrize("mode", ["plain", "draft", "ngram"])
def test_llamacpp_adds_up_exactly_and_its_counters_agree(mode: str, shape: str) -> None:
    """N = F + P + S + A - O with every term from the stream; S, D, A and the calls of the target from the counters."""
    one = recording(LLAMACPP, f"{mode}/{shape}_stream_tpt")
    context = context_of(Cells(subject=((one,),)))
    tally, moved = context.lines[0].tally, difference(one)
    assert context.lines[0].identity.is_exact
    assert (tally.delivered, tally.overshoot, tally.merged_steps) == (96, 0, 0)
    assert (tally.drafted, tally.accepted, tally.verify_steps) == (moved.drafted, moved.accepted, moved.verify_steps)
    assert moved.delivered == tally.delivered
    prefill_calls = 1  # 39 or fewer prompt tokens in batches of 2,048
    assert tally.target_steps is not None
    assert moved.decode_calls == prefill_calls + tally.target_steps
    assert "every term counted on its own" in reconciled(context).sentence
    assert counters_agree(context).outcome is Outcome.HOLDS


def test_the_streams_of_llamacpp_show_these_steps() -> None:
    """From the notes of the recording: 37 steps of the draft chat, 46 of the n-gram completion."""
    for name, steps, terms in (
        ("draft/chat_stream_tpt", 37, (1, 0, 36, 143, 59)),
        ("ngram/completions_stream_tpt", 46, (1, 32, 13, 99, 50)),
        ("ngram/chat_stream_tpt", 94, (1, 92, 1, 2, 2)),
        ("plain/chat_stream_tpt", 96, (1, 95, 0, 0, 0)),
    ):
        one = counted(recording(LLAMACPP, name))
        t = one.line.tally
        assert len(one.stream.steps or ()) == steps
        assert (t.first, t.plain_steps, t.verify_steps, t.drafted, t.accepted) == terms
        assert all(step.tokens == 1 + (step.accepted or 0) for step in one.stream.steps or ())


VLLM_TABLE = {
    # outputs, drafts, drafted, accepted, plain steps, overshoot
    "ngram_comp256": (256, 188, 123, 492, 68, 65, 0),
    "ngram_chat_stop": (64, 28, 12, 48, 40, 16, 4),
    "ngram_conc8_0": (1024, 766, 188, 751, 266, 578, 8),
    "plain_conc8_0": (1024, 1024, 0, 0, 0, 1024, 0),
    "plain_comp256": (256, 256, 0, 0, 0, 256, 0),
}
"""From the notes of the recording: tokens, outputs, drafts, draft tokens, accepted, steps without a draft, overshoot."""


@pytest.mark.parametrize("name", VLLM_TABLE)
def test_the_counters_of_vllm_give_the_table_of_the_notes(name: str) -> None:
    moved = difference(recording(VLLM, name))
    assert None not in (moved.steps, moved.verify_steps, moved.accepted, moved.delivered)
    outputs = moved.steps or 0
    plain = outputs - (moved.verify_steps or 0)
    overshoot = outputs + (moved.accepted or 0) - (moved.delivered or 0)
    row = (moved.delivered, outputs, moved.verify_steps, moved.drafted, moved.accepted, plain, overshoot)
    assert row == VLLM_TABLE[name]
    if moved.accepted_by_position is not None:
        assert sum(moved.accepted_by_position) == moved.accepted


ALONE = [name for name in names(VLLM, suffix=".jsonl") if recording(VLLM, name).before and "conc8" not in name]


@pytest.mark.parametrize("name", ALONE)
def test_vllm_adds_up_exactly_between_its_counters(name: str) -> None:
    one = recording(VLLM, name)
    cell = account(Cells(subject=((one,),))).ledger.cells[0]
    tally, moved = cell.tally, difference(one)
    assert cell.rounds[0].other_traffic == 0
    assert cell.identity.outcome is Outcome.HOLDS
    assert tally.first == 1
    assert tally.target_steps == (moved.steps or 0) - 1
    assert (tally.drafted, tally.accepted, tally.verify_steps) == (moved.drafted, moved.accepted, moved.verify_steps)
    assert tally.overshoot_left == (moved.steps or 0) + (moved.accepted or 0) - (moved.delivered or 0)


def test_all_single_runs_of_vllm_are_among_them() -> None:
    assert len(ALONE) == 13


@pytest.mark.parametrize(("length", "overshoot"), [(10, 3), (11, 2), (12, 1), (13, 0)])
def test_the_overshoot_of_vllm_is_seen_at_the_last_step(length: int, overshoot: int) -> None:
    """The same answer cut at four lengths: 7 outputs, 4 drafts, 9 drafted, 6 accepted, whatever was delivered."""
    line = counted(recording(VLLM, f"ngram_x_loop_len{length}")).line
    t = line.tally
    assert (t.delivered, t.first, t.target_steps, t.verify_steps) == (length, 1, 6, 4)
    assert (t.drafted, t.accepted, t.rejected) == (9, 6, 3)
    assert (t.overshoot, line.identity.is_exact) == (overshoot, True)


PER_STEP = {
    "ngram_chat256_nolp": (256, 196, 48, 60, 1),
    "ngram_comp256": (256, 187, 123, 68, 0),
    "ngram_comp64": (64, 47, 31, 16, 0),
    "ngram_chat_stop": (64, 27, 12, 40, 4),
    "ngram_conc8_0": (128, 103, 13, 28, 4),
    "ngram_conc8_1": (128, 113, 27, 14, 0),
    "ngram_x_eos_chat": (11, 4, 2, 6, 0),
    "ngram_x_stoptok": (2, 1, 1, 1, 1),
    "ngram_x_utf8": (48, 18, 17, 33, 4),
    "ngram_x_lp5": (32, 10, 8, 22, 1),
    "ngram_x_temp1": (64, 63, 1, 0, 0),
}


@pytest.mark.parametrize("name", PER_STEP)
def test_the_list_of_steps_of_vllm_lies_along_its_events(name: str) -> None:
    one = counted(recording(VLLM, name))
    t = one.line.tally
    assert (t.delivered, t.target_steps, t.verify_steps, t.accepted, t.overshoot) == PER_STEP[name]
    assert one.line.identity.is_exact
    verified = [step for step in one.stream.steps or () if step.phase == "verify"]
    assert sum(step.accepted or 0 for step in verified) == t.accepted


def test_an_event_that_joins_two_steps_keeps_the_steps_unknown() -> None:
    """`ngram_chat64`: 13 tokens in 4 events, though the counters show 5 steps."""
    one = recording(VLLM, "ngram_chat64")
    line = counted(one).line
    assert (line.tally.delivered, line.tally.events, line.tally.target_steps) == (13, 4, None)
    assert line.identity.outcome is Outcome.NOT_AVAILABLE
    cell = account(Cells(subject=((one,),))).ledger.cells[0]
    assert (cell.tally.target_steps, cell.tally.overshoot_left) == (4, 0)


def test_the_h200_without_speculation_joined_two_tokens() -> None:
    """399 events for 400 tokens; nothing is said of steps that were not seen."""
    one = counted(recording(H200, "plain.chat"))
    assert (one.line.tally.delivered, one.line.tally.events) == (400, 399)
    assert one.line.tally.target_steps is None
    assert one.line.largest_event == 2
    assert {step.phase for step in one.stream.steps or ()} == {"first", None}


SERIES = (
    "vllm:generation_tokens_total",
    "vllm:spec_decode_num",
    "vllm:time_to_first_token_seconds_count",
    "vllm:inter_token_latency_seconds_count",
    "vllm:prompt_tokens_total",
    "vllm:request_success_total",
)


@pytest.mark.parametrize(
    ("mode", "terms"),
    [
        # first, plain, verify, drafted, accepted, overshoot
        ("draft", (1, 0, 100, 300, 300, 1)),
        ("ngram", (1, 282, 49, 196, 68, 0)),
    ],
)
def test_the_h200_with_speculation_adds_up(mode: str, terms: tuple[int, ...]) -> None:
    """The counters hold two equal requests since the server started."""
    metrics = archive(H200)[f"{mode}.metrics"].decode()
    text = "\n".join(line for line in metrics.splitlines() if "_created" not in line)
    one = halved(recording(H200, f"{mode}.chat"), text, SERIES)
    cell = account(Cells(subject=((one,),))).ledger.cells[0]
    t = cell.tally
    assert t.delivered == 400
    assert (t.first, t.plain_steps, t.verify_steps, t.drafted, t.accepted, t.overshoot_left) == terms
    assert cell.identity.outcome is Outcome.HOLDS
    assert cell.identity.sentence == (
        f"1 first + {terms[1] + terms[2]} steps + {terms[4]} accepted - {terms[5]} overshoot = 400 delivered"
    )


@pytest.mark.parametrize(
    ("mode", "steps", "drafted", "accepted", "overshoot"),
    [("draft", 6723, 20121, 12498, 21), ("plain", 19200, 0, 0, 0)],
)
def test_sixteen_streams_of_the_h200_add_up(mode: str, steps: int, drafted: int, accepted: int, overshoot: int) -> None:
    """Sixteen streams of 1,200 tokens between two scrapes; one of the streams was recorded."""
    text = archive(H200)[f"{mode}-c16-metrics.txt"].decode()
    scrapes = _halves(text)
    counters = load_adapters()["vllm"].counters
    moved = counters(scrapes[1]).since(counters(scrapes[0]))
    assert moved.delivered == 16 * 1200
    assert (moved.steps, moved.drafted, moved.accepted) == (steps, drafted, accepted)
    assert (moved.steps or 0) + (moved.accepted or 0) - (moved.delivered or 0) == overshoot
    tally = Tally(
        delivered=moved.delivered,
        first=16,
        target_steps=(moved.steps or 0) - 16,
        verify_steps=moved.verify_steps,
        drafted=moved.drafted,
        accepted=moved.accepted,
        draft_width=3,
        requests=16,
    )
    assert check_identity(tally).outcome is Outcome.HOLDS
    line = counted(recording(H200, f"{mode}-c16-stream1")).line
    assert (line.status, line.tally.delivered) == ("complete", 1200)


def _halves(text: str) -> list[str]:
    """Two scrapes one after the other: where a series comes again, the second begins."""
    seen: set[str] = set()
    for number, line in enumerate(lines := text.splitlines(keepends=True)):
        series = line.rsplit(" ", 1)[0]
        if series in seen and not line.startswith("#"):
            return ["".join(lines[:number]), "".join(lines[number:])]
        seen.add(series)
    raise AssertionError("one scrape only")
