"""Streams in the servers' own shapes: lines of JSON, text so far, objects for arguments; and spelled reasoning."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.core.adapter import Question
from auditor.core.plan.prompts import Message
from auditor.core.wire.chunks import read_chunk
from auditor.core.wire.ndjson import LineReader
from auditor.core.wire.sse import MAX_EVENT
from auditor.servers import load_adapters

ADAPTERS = load_adapters()
QUESTION = Question("m", (Message(role="system", content="Be brief."), Message(role="user", content="Hi")), 9, 0.0)


def native(kind: str) -> Any:
    route = ADAPTERS[kind].route("native")
    assert route is not None
    return route


@given(st.lists(st.binary(min_size=1).filter(lambda b: b"\n" not in b and b.strip() == b)), st.data())
def test_any_split_of_lines_gives_the_same_events(lines: list[bytes], data: st.DataObject) -> None:
    body = b"".join(line + data.draw(st.sampled_from([b"\n", b"\r\n", b"\n\n"])) for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)))))
    reader, found = LineReader(), []
    for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True):
        found += [event.data for event in reader.feed(body[start:end])]
    assert found == lines
    assert not reader.unfinished


def test_a_line_that_does_not_end_is_unfinished_and_one_too_long_is_passed_over() -> None:
    reader = LineReader()
    assert [event.data for event in reader.feed(b'{"a":1}\n{"b"')] == [b'{"a":1}']
    assert reader.unfinished
    assert [event.data for event in reader.feed(b":2}" + b" " * MAX_EVENT + b'\n{"c":3}\n')] == [b'{"c":3}']
    assert reader.oversized == 1
    assert not reader.unfinished


def test_ollama_tells_thinking_tools_and_errors() -> None:
    shape = native("ollama").shape()
    call = {"function": {"name": "f", "arguments": {"x": 1}}}
    event = {"message": {"content": "a", "thinking": "b", "tool_calls": [call]}, "done": False}
    chunk = read_chunk(orjson.dumps(event), shape)
    assert (chunk.text, chunk.reasoning, chunk.tool, chunk.usage) == ("a", "b", 'f{"x":1}', None)
    end = {"message": {"content": ""}, "done": True, "done_reason": "stop", "eval_count": 5}
    last = read_chunk(orjson.dumps(end), shape)
    assert last.usage is not None
    assert (last.finish_reason, last.usage.completion, last.usage.prompt) == ("stop", 5, None)
    assert read_chunk(b'{"error":"model not found"}', shape).error == "model not found"


def test_what_is_asked_of_each_native_api() -> None:
    assert native("ollama").body(QUESTION) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "options": {"num_predict": 9, "temperature": 0.0},
    }
    assert native("sglang").body(QUESTION) == {
        "text": "Be brief.\n\nHi",
        "sampling_params": {"max_new_tokens": 9, "temperature": 0.0},
        "stream": True,
    }
    assert native("tgi").body(QUESTION) == {
        "inputs": "Be brief.\n\nHi",
        "parameters": {"max_new_tokens": 9, "details": True},
    }


@pytest.mark.parametrize("is_whole", [True, False])
def test_sglang_text_so_far_and_text_in_pieces_are_the_same_answer(is_whole: bool) -> None:
    shape = native("sglang").shape()
    texts, ids = ("one ", "two three ", "", "four"), ([1], [2, 3], [4], [5])
    found, so_far, ids_so_far = [], "", []
    for text, own in zip(texts, ids, strict=True):
        so_far, ids_so_far = so_far + text, ids_so_far + own
        meta = {"completion_tokens": len(ids_so_far), "prompt_tokens": 7, "finish_reason": None}
        event = {"text": so_far if is_whole else text, "output_ids": ids_so_far if is_whole else own, "meta_info": meta}
        found.append(read_chunk(orjson.dumps(event), shape))
    assert tuple(chunk.text for chunk in found) == texts
    assert [chunk.token_ids for chunk in found] == [(1,), (2, 3), (4,), (5,)]


def test_tgi_special_tokens_are_tokens_without_text() -> None:
    event = {"token": {"id": 2, "text": "</s>", "special": True}, "details": {"finish_reason": "eos_token"}}
    chunk = read_chunk(orjson.dumps(event), native("tgi").shape())
    assert (chunk.text, chunk.token_ids, chunk.finish_reason) == ("", (2,), "eos_token")
    assert chunk.bears_tokens


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "hm"},
        {"reasoning": "hm"},
        {"reasoning": "hm", "reasoning_content": "hm"},  # vLLM 0.11.2 and 0.13.0 send both
        {"reasoning_content": "", "reasoning": "hm"},
        {"reasoning_text": "hm"},
        {"thinking": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
        {"content": [{"type": "thinking", "thinking": "hm"}]},
    ],
)
def test_reasoning_of_every_spelling_is_counted_once(delta: dict[str, Any]) -> None:
    chunk = read_chunk(orjson.dumps({"choices": [{"index": 0, "delta": delta}]}))
    assert (chunk.reasoning, chunk.text) == ("hm", "")


def test_content_beside_reasoning_stays_apart() -> None:
    parts = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "yes"}]
    chunk = read_chunk(orjson.dumps({"choices": [{"index": 0, "delta": {"content": parts}}]}))
    assert (chunk.reasoning, chunk.text) == ("hm", "yes")
