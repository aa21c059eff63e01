"""Clocks and windows: rates of recorded streams beside the server's own figures, and rounds worked by hand."""

import json
from dataclasses import replace

import pytest
from runs import Cells, Recording, account, counted, facts_of, names, plan_of, recording

from auditor.core.bases import Load, bases_of, find
from auditor.core.checks.timing import effective_streams
from auditor.core.counting.ledger import RoundLedger
from auditor.core.judging.summary import by_kind, cell_summaries, line_decode_rate, pair_summaries

MS = 10**6
SECOND = 10**9
TPT = [name for name in names("llamacpp", suffix=".recv.jsonl") if name.endswith("_stream_tpt")]


@pytest.mark.parametrize("name", TPT)
def test_the_decode_rate_is_the_server_s_own_within_a_hundredth(name: str) -> None:
    """llama.cpp states (n - 1) / time from first to last token; the client's clock says the same."""
    one = recording("llamacpp", name)
    line = counted(one).line
    rate = line_decode_rate(line)
    assert rate == pytest.approx(line.reported["predicted_per_second"], rel=0.01)
    assert line.times.ttft_ns is not None
    # Prefill, and the milliseconds around it.
    assert 0 < line.times.ttft_ns / MS - line.reported["prompt_ms"] < 20


def test_what_the_h200_delivered() -> None:
    """399 tokens behind the first in 620 ms; with n-gram drafts the same in events of several."""
    plain = counted(recording("vllm-0.24-h200", "plain.chat")).line
    assert plain.times.tokens_after_first == 399
    rate = line_decode_rate(plain)
    assert rate == pytest.approx(399 / ((plain.times.last_ns or 0) - (plain.times.first_ns or 0)) * SECOND)
    assert rate == pytest.approx(644, rel=0.01)


def timed(send_ms: int, events: list[tuple[int, int]], end_ms: int, name: str = "a") -> Recording:
    """An answer with (ms, tokens) events, as vLLM sends them, of 20 prompt tokens."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    reads, count = [(send_ms * MS + 1, head)], 0
    for at_ms, tokens in events:
        count += tokens
        choice = {"index": 0, "delta": {"content": "x"}, "token_ids": list(range(tokens)), "finish_reason": None}
        data = {"choices": [choice], "usage": {"prompt_tokens": 20, "completion_tokens": count}}
        reads.append((at_ms * MS, b"data: " + json.dumps(data).encode() + b"\n\n"))
    end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "length"}]}
    last = {"choices": [], "usage": {"prompt_tokens": 20, "completion_tokens": count}}
    tail = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in (end, last)) + b"data: [DONE]\n\n"
    reads.append((end_ms * MS, tail))
    request = b'POST / HTTP/1.1\r\n\r\n{"max_tokens": 8}'
    return Recording(name, "vllm", request, send_ms * MS, send_ms * MS, tuple(reads), (end_ms + 7) * MS, "eof")


# Sent at 0: 2 tokens at 100 ms, 3 at 1100, 3 at 2100, end at 2200. Sent at 50: 1 at 600, 4 at 1600, end at 1700.
LONG = timed(0, [(100, 2), (1100, 3), (2100, 3)], 2200)
SHORT = timed(50, [(600, 1), (1600, 4)], 1700, "b")


def round_of(*streams: Recording) -> RoundLedger:
    return account(Cells(subject=(streams,), has_scrapes=False)).ledger.cells[0].rounds[0]


def test_two_streams_by_hand() -> None:
    one = round_of(LONG, SHORT)
    assert one.tally.delivered == 13
    assert one.window_ns == 2100 * MS  # first send to last token
    assert one.decode_tokens == 6 + 4  # without the 2 and the 1 of the first events
    assert one.decode_ns == (2000 + 1000) * MS
    assert one.e2e_ns == (2200 + 1650) * MS  # to the last byte, and not to when the client closed
    assert one.ttft_ns == (100 * MS, 550 * MS)
    # Seconds from the first send: 0 to 1 has 2 + 1, 1 to 2 has 3 + 4; the third is not whole.
    assert one.peak_second_tokens == 7
    assert one.peak_second_events == 2


def test_the_rates_of_two_streams_by_hand() -> None:
    cell = account(Cells(subject=((LONG, SHORT),), has_scrapes=False)).ledger.cells[0]
    values = bases_of(cell, Load(2))
    expected = {
        "delivered/decode": 10 / 3,
        "delivered/request": 13 / 3.85,
        "delivered/system": 13 / 2.1,
        "total/system": 53 / 2.1,
        "peak/second": 7,
        "fencepost/decode": 13 / 3,
        "decode-x-streams": 20 / 3,
        "events/decode": 3 / 3,
    }
    for identifier, rate in expected.items():
        found = find(values, identifier)
        assert found is not None
        assert found.estimate is not None, identifier
        assert found.estimate.value == pytest.approx(rate, rel=1e-5), identifier
    assert effective_streams(cell) == pytest.approx(3.85 / 2.1)


def test_a_short_round_has_no_peak() -> None:
    assert round_of(SHORT).peak_second_tokens is None


def test_an_event_of_unknown_size_leaves_the_peak_unknown() -> None:
    bare = replace(
        LONG, reads=tuple((t, d.replace(b'"token_ids"', b'"ids"').replace(b'"usage"', b'"use"')) for t, d in LONG.reads)
    )
    one = round_of(bare)
    assert one.peak_second_tokens is None
    assert one.peak_second_events == 1


def test_only_complete_answers_are_in_a_rate() -> None:
    cut = replace(SHORT, reads=SHORT.reads[:-1], how="reset")
    one = round_of(LONG, cut)
    assert (one.complete, one.exchanges) == (1, (1, 2))
    assert one.tally.delivered == 8
    assert (one.window_ns, one.decode_ns, one.decode_tokens) == (2100 * MS, 2000 * MS, 6)
    alone = round_of(cut)
    assert (alone.complete, alone.tally.delivered, alone.window_ns, alone.decode_ns) == (0, None, None, None)


def test_a_round_without_a_complete_answer_is_in_no_interval() -> None:
    cut = replace(LONG, reads=LONG.reads[:-1], how="reset")
    cell = account(Cells(subject=((LONG,), (cut,), (LONG,)), has_scrapes=False)).ledger.cells[0]
    found = find(bases_of(cell, Load(1)), "delivered/decode")
    assert found is not None
    assert found.estimate is not None
    assert found.estimate.n == 2
    assert cell.tally.delivered is None  # a round is lacking, so the sum is not known


def test_pairs_compare_repeat_by_repeat() -> None:
    slow = timed(0, [(100, 1), (2100, 4), (4100, 4)], 4200)
    plan_cells = Cells(subject=((LONG,), (LONG,)), plain=((slow,), (slow,)), has_scrapes=False)
    ledger = account(plan_cells).ledger
    (pair,) = pair_summaries(plan_of(plan_cells), facts_of(plan_cells), ledger)
    # 6 tokens in 2 s by 8 tokens in 4 s.
    assert (pair.ratio, pair.low, pair.high) == (1.5, 1.5, 1.5)
    assert pair.sentence == "1.50 times the rate without speculation (1.50 to 1.50): speculation helps here"
    facts = facts_of(plan_cells)
    plain = facts.servers["plain"].model_copy(update={"facts": {}})
    facts = facts.model_copy(update={"servers": {**facts.servers, "plain": plain}})
    (pair,) = pair_summaries(plan_of(plan_cells), facts, ledger)
    assert pair.sentence == "1.50 times the rate of plain (1.50 to 1.50): faster here"


def test_the_figures_of_a_cell() -> None:
    cells = Cells(subject=((recording("llamacpp", "draft/chat_stream_tpt"),),) * 2)
    ledger = account(cells).ledger
    (summary,) = cell_summaries(plan_of(cells), facts_of(cells), ledger)
    assert (summary.rejected, summary.acceptance_rate, summary.acceptance_length) == (168, 0.412587, 2.63889)
    assert summary.accepted_by_position == (62, 28, 16, 12)  # twice 31, 14, 8 and 6
    assert summary.effective_streams == pytest.approx(1, abs=0.01)
    assert list(by_kind(plan_of(cells), ledger)) == ["reviewer"]
