"""Answers and events of no shape that anybody documented: every adapter reads what it can, and raises nothing else."""

import json
from random import Random
from typing import Any

import dialects
import pytest
from engines import Dialect, Engine, generate
from hypothesis import given, settings
from hypothesis import strategies as st
from rawserver import Asked

from auditor.core.probing import Answer, Answers
from auditor.core.wire.chunks import read_chunk
from auditor.servers import load_adapters

ADAPTERS = load_adapters()
DIALECTS = {name: value for name, value in vars(dialects).items() if isinstance(value, Dialect)}
JUNK = (None, 1, -1, "x", [], {}, [None], {"a": 1}, True, 1e300, 10**30, "\x00\ud800")


def spoiled(value: Any, random: Random) -> Any:
    """The same document with a part of it replaced."""
    if random.random() < 0.15:
        return random.choice(JUNK)
    if isinstance(value, dict):
        return {key: spoiled(item, random) for key, item in value.items()}
    return [spoiled(item, random) for item in value] if isinstance(value, list) else value


def spoiled_bytes(body: bytes, random: Random) -> bytes:
    try:
        return json.dumps(spoiled(json.loads(body), random)).encode()
    except ValueError:
        changed = bytearray(body)
        for _ in range(3):
            changed[random.randrange(len(changed))] = random.randrange(256)
        return bytes(changed)


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=25)
@given(random=st.randoms(use_true_random=False))
def test_spoiled_answers(name: str, random: Random) -> None:
    engine = Engine()
    engine.answer(9)
    answers = Answers()
    for path, make in DIALECTS[name].gets.items():
        made = make(engine)
        body = made[1] if isinstance(made, tuple) else made
        answers = answers.with_(Answer(path=path, status=200, body=spoiled_bytes(body, random)))
    for adapter in ADAPTERS.values():
        adapter.recognise(answers)
        for fact in adapter.facts(answers, {}).values():
            assert fact.source if fact.value is not None else fact.reason
        for path in adapter.metrics_paths:
            try:
                found = adapter.counters(answers.text(path) or "")
            except ValueError:
                continue
            assert all(value is None or value >= 0 for value in (found.delivered, found.drafted, found.accepted))


@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=15)
@given(random=st.randoms(use_true_random=False))
def test_spoiled_events(name: str, random: Random) -> None:
    asked = {
        "stream_options": {"continuous_usage_stats": True},
        "return_token_ids": True,
        "return_spec_tokens_details": True,
    }
    shapes = [(adapter, route.shape()) for adapter in ADAPTERS.values() for route in adapter.routes.values()]
    for one in DIALECTS[name].events(Asked("POST", "/", {}, json.dumps(asked).encode()), generate(9)):
        event = spoiled(one, random)
        if not isinstance(event, dict):
            continue
        for adapter in ADAPTERS.values():
            details = adapter.details(event)
            adapter.seen([event])
            assert details is None or all(
                n is None or n >= 0 for n in (details.drafted, details.accepted, details.ignored)
            )
        for _, shape in shapes:
            read_chunk(json.dumps(event).encode(), shape)
