"""Streams made by hand, each mean in one way: what is delivered, by which count, and when."""

import json
from typing import Any

import pytest
from runs import Cells, Recording, account, counted

from auditor.core.counting.account import Account, account_for
from auditor.core.counting.evidence import assemble
from auditor.core.counting.ledger import ExchangeLedger
from auditor.core.counting.tokenlog import FIELDS, to_jsonl, token_lines
from auditor.core.wire.log import Kind, WireRecord
from auditor.servers import load_adapters
from auditor.terms import Rung

MS = 10**6
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"


def stream(
    *events: Any, kind: str = "generic", apart_ms: int = 10, how: str | None = "eof", head: bytes = HEAD
) -> Recording:
    """One event a read, 10 ms apart from 100 ms on; a list is several events in one read; bytes are sent as they are."""
    reads: list[tuple[int, bytes]] = [(5 * MS, head)]
    at = 100
    for group in events:
        several = group if isinstance(group, list) else [group]
        texts = [event if isinstance(event, bytes) else json.dumps(event).encode() for event in several]
        reads.append((at * MS, b"".join(b"data: " + text + b"\n\n" for text in texts)))
        at += apart_ms
    request = b'POST /v1/chat/completions HTTP/1.1\r\n\r\n{"max_tokens": 8}'
    return Recording("made", kind, request, 0, 0, tuple(reads), at * MS, how)


def text(content: str | None = "a", *, index: int = 0, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """An event with text; `more` goes into the event, `delta_` into its delta, `choice_` into its choice."""
    delta = {"content": content} | {k.removeprefix("delta_"): v for k, v in more.items() if k.startswith("delta_")}
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    choice |= {k.removeprefix("choice_"): v for k, v in more.items() if k.startswith("choice_")}
    return {"choices": [choice], **{k: v for k, v in more.items() if "_" not in k}}


def usage(completion: int, prompt: int = 5, **details: Any) -> dict[str, Any]:
    return {"completion_tokens": completion, "prompt_tokens": prompt, **details}


def last(completion: int, **details: Any) -> dict[str, Any]:
    return {"choices": [], "usage": usage(completion, **details)}


ROLE = text(None, delta_role="assistant")
END = text("", finish="stop")
DONE = b"[DONE]"


def line_of(*events: Any, **how: Any) -> ExchangeLedger:
    return counted(stream(*events, **how)).line


def test_usage_at_the_end_counts_and_the_first_event_is_taken_for_one_token() -> None:
    line = line_of(ROLE, text(), text(), END, last(7), DONE)
    assert (line.rung, line.tally.delivered, line.tally.events) == (Rung.FINAL_USAGE, 7, 2)
    assert line.times.tokens_in_first_event is None
    assert line.times.tokens_after_first == 6
    assert "the first event is taken to hold one token" in (line.rung_reason or "")
    assert line.times.ttft_ns == 110 * MS


def test_without_any_usage_events_are_counted_and_that_is_said() -> None:
    line = line_of(text(), text(), END, DONE)
    assert (line.rung, line.tally.delivered) == (Rung.EVENTS, 2)
    assert "no ids and no usage" in (line.rung_reason or "")


def test_a_predicted_output_s_rejected_tokens_are_not_delivered() -> None:
    line = line_of(text(), END, last(9, completion_tokens_details={"rejected_prediction_tokens": 4}))
    assert line.tally.delivered == 5


def test_running_usage_gives_each_event_its_tokens() -> None:
    events = [
        text(usage=usage(3)),
        text(usage=usage(4)),
        text(usage=usage(8)),
        text("", finish="length", usage=usage(8)),
    ]
    line = line_of(*events, last(8))
    assert line.counts == {Rung.EVENT_USAGE: 8, Rung.FINAL_USAGE: 8, Rung.EVENTS: 3}
    assert (line.times.tokens_in_first_event, line.times.tokens_after_first, line.largest_event) == (3, 5, 4)


def test_a_running_usage_that_was_cut_off_is_no_final_one() -> None:
    events = [text(usage=usage(1)), text(usage=usage(2)), text(finish="stop", usage=usage(3))]
    assert Rung.FINAL_USAGE not in line_of(*events).counts
    # But a usage that comes with the end, and nowhere before, is that of the whole.
    assert line_of(text(), text("", finish="stop", usage=usage(3))).counts[Rung.FINAL_USAGE] == 3


def test_a_running_usage_that_runs_backwards_is_believed_nowhere() -> None:
    one = counted(stream(text(usage=usage(5)), text(usage=usage(3)), END, last(5)))
    assert [delivery.tokens for delivery in one.stream.deliveries] == [5, None]
    assert len({one.line.counts[rung] for rung in (Rung.EVENT_USAGE, Rung.FINAL_USAGE)}) == 2


def test_an_event_that_claims_more_tokens_than_any_brings_is_one_line_of_the_token_log() -> None:
    item = counted(stream(text("a", usage=usage(1)), text("b", usage=usage(10**15)), END, DONE))
    assert [delivery.tokens for delivery in item.stream.deliveries] == [1, None]
    assert len(list(token_lines([item]))) == 2


def test_choices_have_running_counts_of_their_own() -> None:
    events = [text(index=i, usage=usage(n)) for n in (1, 2) for i in range(3)]
    line = line_of(*events, last(6), DONE)
    assert line.tally.delivered == 6
    assert line.counts == {Rung.EVENT_USAGE: 6, Rung.FINAL_USAGE: 6, Rung.EVENTS: 6}
    assert line.largest_event == 1
    assert line.notes == ("3 choices came in one answer",)


def test_ids_count_before_usage_and_a_usage_that_says_more_is_kept_beside() -> None:
    events = [text(choice_token_ids=[1, 2]), text(choice_token_ids=[3]), text("", finish="stop", choice_token_ids=[])]
    line = line_of(*events, last(9))
    assert (line.rung, line.tally.delivered) == (Rung.TOKEN_IDS, 3)
    assert line.counts[Rung.FINAL_USAGE] == 9


def test_ids_that_are_missing_in_one_event_with_tokens_do_not_count() -> None:
    line = line_of(text(choice_token_ids=[1]), text(), END, last(2))
    assert (line.rung, line.tally.delivered) == (Rung.FINAL_USAGE, 2)
    # An event that only brings held text needs none.
    held = [text(usage=usage(2), choice_token_ids=[1, 2]), text("held", usage=usage(2))]
    assert line_of(*held, last(2)).counts[Rung.TOKEN_IDS] == 2


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "thinking"])
def test_reasoning_is_delivered_and_begins_the_clock(name: str) -> None:
    one = counted(stream(ROLE, text(None, **{f"delta_{name}": "hm"}), text("x"), END, last(2)))
    assert one.line.times.ttft_ns == 110 * MS
    assert one.stream.text == "hmx"
    assert one.line.tally.events == 2


def test_reasoning_under_two_names_is_read_once() -> None:
    one = counted(stream(text(None, delta_reasoning="hm", delta_reasoning_content="hm"), END, last(1)))
    assert one.stream.text == "hm"


def test_reasoning_tokens_are_told_apart() -> None:
    line = line_of(text(), END, last(9, completion_tokens_details={"reasoning_tokens": 4}))
    assert (line.tally.delivered, line.tally.reasoning) == (9, 4)


def test_tool_calls_are_delivered() -> None:
    call = {"index": 0, "id": "c", "function": {"name": "f", "arguments": "{"}}
    events = [text(None, delta_tool_calls=[call]), text(None, delta_function_call={"arguments": "}"})]
    one = counted(stream(*events, text(None, finish="tool_calls"), last(3)))
    assert (one.line.status, one.line.tally.events, one.stream.text) == ("complete", 2, "f{}")


def test_completions_have_text_in_the_choice() -> None:
    event = {"choices": [{"index": 0, "text": "a", "finish_reason": None}]}
    end = {"choices": [{"index": 0, "text": "", "finish_reason": "length"}], "usage": usage(2)}
    one = counted(stream(event, event, end, DONE))
    assert (one.line.status, one.stream.text, one.line.tally.delivered) == ("complete", "aa", 2)


def test_content_in_parts_is_read() -> None:
    assert counted(stream(text([{"type": "text", "text": "a"}, {"type": "image"}]), END)).stream.text == "a"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("events", "how", "status", "words"),
    [
        (
            [text(), {"error": {"message": "out of memory"}}],
            "eof",
            "partial",
            "an error within the stream: out of memory",
        ),
        ([{"error": "no"}, DONE], "eof", "failed", "an error within the stream: no"),
        ([text(), text("", finish="abort"), last(1), DONE], "eof", "partial", "ended the answer with 'abort'"),
        ([text(), text("", finish="repetition"), last(1)], "eof", "partial", "ended the answer with 'repetition'"),
        ([text(), last(1), DONE], "eof", "partial", "without a finish reason"),
        ([ROLE, END, last(0), DONE], "eof", "failed", "the answer is empty"),
        ([text(), END, last(1)], "timeout", "partial", "the connection closed before"),
        ([text(), END, last(1)], "cancelled", "partial", "given up by the client"),
        ([text()], None, "partial", "the record ends before the answer did"),
        ([], "eof", "failed", "without a finish reason"),
    ],
)
def test_what_did_not_come_to_its_end(events: list[Any], how: str | None, status: str, words: str) -> None:
    line = line_of(*events, how=how)
    assert line.status == status
    assert words in (line.problem or "")


@pytest.mark.parametrize(
    ("event", "note"),
    [
        (b'{"choices": [{"delta": {"content": "a"}, "logprob": NaN}]}', "1 event held NaN or Infinity"),
        (b"[1, 2]", "1 event passed over: no JSON object"),
        (b'{"choices": [', "1 event passed over: no JSON object"),
        (b"[" * 100_000, "1 event passed over: no JSON object"),
        (b"\xff\xfe", "1 event passed over: no JSON object"),
    ],
)
def test_events_that_are_none_are_passed_over_and_noted(event: bytes, note: str) -> None:
    line = line_of(text(), event, END, last(1), DONE)
    assert line.status == "complete"
    assert any(note in one for one in line.notes), line.notes


@pytest.mark.parametrize(
    "event",
    [
        b'{"choices": [{"delta": {"content": "a\\ud83d"}}], "usage": {"completion_tokens": 1e999}}',
        b'{"choices": [{"delta": {"content": "a"}}], "usage": {"completion_tokens": 99999999999999999999, "x": NaN}}',
        b'{"choices": [{"delta": {"content": "a"}, "token_ids": ["x", null, -1, 1e9]}], "usage": 3}',
        b'{"choices": [{"delta": "text"}, 3, null], "usage": {"completion_tokens": true}}',
        b'{"choices": {"0": {}}, "timings": {"predicted_n": NaN, "predicted_ms": 1e999, "draft_n": -1}}',
        b'{"choices": [{"delta": {"content": "a"}}], "timings": {"predicted_n": 1e300, "predicted_ms": 1}}',
        b'{"choices": [{"delta": {"content": "a"}}], "metrics": {"x": 1e999, "speculative_decoding": {"num_spec_steps": -1, "per_step_accepted": [1e999]}}}',
    ],
)
@pytest.mark.parametrize("kind", ["generic", "llamacpp", "vllm", "sglang"])
def test_absurd_numbers_and_broken_characters_can_be_accounted_for_and_written(event: bytes, kind: str) -> None:
    found = account(Cells(subject=((stream(text(), event, END, last(2), DONE, kind=kind),),), has_scrapes=False))
    assert json.loads(found.ledger.to_json())
    assert to_jsonl(token_lines(found.counted))
    assert type(found.ledger).from_json(found.ledger.to_json()) == found.ledger


def test_a_compressed_answer_and_one_that_is_no_stream_say_so() -> None:
    zipped = HEAD.replace(b"\r\n\r\n", b"\r\ncontent-encoding: gzip\r\n\r\n")
    assert "compressed (gzip)" in (line_of(b"x", head=zipped).problem or "")
    plain = HEAD.replace(b"text/event-stream", b"application/json")
    assert "no event stream but application/json" in (line_of(b"x", head=plain).problem or "")


def test_the_end_of_sequence_has_no_event_and_is_not_on_the_clock() -> None:
    """llama.cpp counts the end of sequence at the end: three tokens in events, four delivered."""

    def event(n: int, ms: float, **more: Any) -> dict[str, Any]:
        return {**text(**more), "timings": {"predicted_n": n, "predicted_ms": ms}}

    end = {"choices": [], "usage": usage(4), "timings": {"predicted_n": 4, "predicted_ms": 30}}
    line = line_of(event(1, 0.001), event(2, 10), event(3, 20), END, end, DONE, kind="llamacpp")
    assert line.tally.delivered == 4
    assert line.invisible_tokens == 1
    assert (line.times.decode_ns, line.times.tokens_after_first) == (20 * MS, 2)
    assert line.tally.target_steps == 3


def test_a_server_that_does_not_count_drafts_has_none_and_no_steps() -> None:
    """Several events under one mark and no draft counted: an older llama.cpp that speculates."""
    events = [
        {**text(), "timings": {"predicted_n": n, "predicted_ms": ms}}
        for n, ms in ((1, 0.001), (2, 10), (3, 10), (4, 10))
    ]
    one = counted(stream(*events, END, {**last(4), "timings": {"predicted_n": 4, "predicted_ms": 10}}, kind="llamacpp"))
    tally = one.line.tally
    assert (tally.delivered, tally.drafted, tally.accepted, tally.target_steps) == (4, None, None, None)
    assert [step.phase for step in one.stream.steps or ()] == ["first", None]


def test_a_server_that_speculates_and_never_drafted_has_drafted_nothing() -> None:
    events = [{**text(), "timings": {"predicted_n": n, "predicted_ms": n - 0.9}} for n in (1, 2, 3)]
    tally = line_of(
        *events, END, {**last(3), "timings": {"predicted_n": 3, "predicted_ms": 2.1}}, kind="llamacpp"
    ).tally
    assert (tally.drafted, tally.accepted, tally.verify_steps, tally.plain_steps) == (0, 0, 0, 2)


def test_two_tokens_in_the_first_event_are_not_the_prefill_s() -> None:
    events = [text("ab", choice_token_ids=[1, 2]), text(choice_token_ids=[3])]
    one = counted(stream(*events, END, last(3), kind="vllm"))
    assert [step.phase for step in one.stream.steps or ()] == [None, None]
    assert (one.line.times.tokens_in_first_event, one.line.times.tokens_after_first) == (2, 1)


def test_sglang_verifies_in_every_step() -> None:
    spec = {"spec_verify_ct": 2, "spec_num_proposed_drafts": 6, "spec_num_correct_drafts": 3}
    events = [text(usage=usage(n)) for n in (1, 3, 6)]
    end = {**last(6), "sglext": {"spec_tokens_details": spec}}
    line = line_of(*events, END, end, DONE, kind="sglang")
    assert (line.tally.verify_steps, line.tally.plain_steps, line.tally.target_steps) == (2, 0, 2)
    assert line.identity.sentence == "1 first + 2 steps + 3 accepted - 0 overshoot = 6 delivered"
    # A token joined to another event leaves fewer events than steps, and the steps unknown.
    joined = [text(usage=usage(n)) for n in (1, 6)]
    assert line_of(*joined, END, end, DONE, kind="sglang").tally.target_steps is None


def test_events_share_a_read_only_with_other_text() -> None:
    """The role with the first token, and the end with the usage, take nothing from the times."""
    line = line_of([ROLE, text()], text(), [text(), END, last(3), DONE])
    assert line.events_sharing_a_read == 0
    assert line_of([text(), text()], [text(), text(), text()], END).events_sharing_a_read == 5


def test_the_token_log_has_every_token_and_every_text() -> None:
    events = [
        text("ab", choice_token_ids=[1, 2], usage=usage(2)),
        text("", choice_token_ids=[3], usage=usage(3)),
        text("held", usage=usage(3)),
        text("c", choice_token_ids=[4], usage=usage(4), finish="stop"),
    ]
    one = counted(stream(*events, last(4), DONE, kind="vllm"))
    lines = list(token_lines([one]))
    assert [line["token_id"] for line in lines] == [1, 2, 3, None, 4]
    assert [line["text"] for line in lines] == ["ab", "", "", "held", "c"]
    assert [line["index"] for line in lines] == [0, 1, 2, None, 3]
    assert [line["t_ns"] // MS for line in lines] == [100, 100, 110, 120, 130]
    assert all(list(line) == list(FIELDS) for line in lines)


def attempts(*answers: tuple[dict[str, Any], Recording]) -> Account:
    """Exchanges one after the other, each with what its meta says beside cell, repeat and index."""
    from runs import facts_of, plan_of

    records = []
    for number, (meta, one) in enumerate(answers, 1):
        shift = number * 10**10
        told = {"purpose": "measure", "cell": "subject", "repeat": 0, "index": 0, "prompt": one.name, **meta}
        records += [
            WireRecord(Kind.OPEN, number, shift, 0, json.dumps(told).encode()),
            WireRecord(Kind.SEND, number, shift, 0, one.request),
            *(WireRecord(Kind.READ, number, shift + t_ns, 0, data) for t_ns, data in one.reads),
            WireRecord(Kind.CLOSE, number, shift + one.end_ns, 0, json.dumps({"how": one.how}).encode()),
        ]
    cells = Cells(subject=((answers[0][1],),), has_scrapes=False)
    kind = facts_of(cells).servers["subject"].kind
    return account_for(assemble(records), plan_of(cells), {"subject": load_adapters()[kind]})


BUSY = stream(head=b"HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n")
WHOLE = stream(text(), text(), END, last(2), DONE)
BROKEN = stream(text(), how="reset")


def test_a_request_that_was_put_off_is_its_last_attempt() -> None:
    ledger = attempts(({"attempt": 0}, BUSY), ({"attempt": 1}, BUSY), ({"attempt": 2}, WHOLE)).ledger
    (line,) = ledger.exchanges
    assert (line.exchange, line.attempt, line.status, line.tally.delivered) == (3, 2, "complete", 2)
    assert ledger.cells[0].rounds[0].exchanges == (3,)


def test_an_attempt_that_brought_tokens_is_shown_though_it_was_sent_again() -> None:
    ledger = attempts(({}, BROKEN), ({}, WHOLE)).ledger
    first, second = ledger.exchanges
    assert (first.status, first.problem) == ("partial", "it was sent again after it had brought tokens")
    assert second.status == "complete"
    assert ledger.cells[0].tally.delivered == 2
    assert len({(line.cell, line.repeat, line.index) for line in ledger.exchanges}) == 1


def test_other_purposes_and_unknown_cells_are_not_measured() -> None:
    ledger = attempts(
        ({"purpose": "probe"}, WHOLE), ({"purpose": "warmup"}, WHOLE), ({"cell": "gone"}, WHOLE), ({}, WHOLE)
    ).ledger
    assert [line.exchange for line in ledger.exchanges] == [4]
    assert ledger.warmups == 1


def test_two_of_one_request_do_not_make_up_for_one_that_is_missing() -> None:
    cells = Cells(subject=((WHOLE, WHOLE),), has_scrapes=False)
    whole = account(cells).ledger
    assert not whole.is_partial
    twice = whole.model_copy(update={"exchanges": (whole.exchanges[0], whole.exchanges[0])})
    assert twice.is_partial
