"""Loops and broken characters, in made-up text and in what real servers sent."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from runs import counted, recording

from auditor.core.validity.answer import validity_of
from auditor.core.validity.loops import find_loop

TABLE = "\n".join(f"{a} times {b} is {a * b}" for a in range(1, 21) for b in range(1, 21))
LIST = "\n".join(f"{n}. Item number {n} of the list" for n in range(1, 120))
PROSE = "The keeper climbed the stairs and lit the lamp. " + " ".join(f"word{n}" for n in range(200))


def slowly(text: str) -> tuple[int | None, int | None]:
    """The same by trying every period."""
    best: tuple[int, int] | None = None
    for period in range(1, len(text) // 3 + 1):
        start = len(text) - period
        while start > 0 and text[start - 1] == text[start - 1 + period]:
            start -= 1
        length = len(text) - start
        if length >= max(3 * period, 200, 0.25 * len(text)) and (best is None or start < best[0]):
            best = (start, period)
    return best or (None, None)


@given(st.text("abc", max_size=300), st.text("ab", min_size=1, max_size=90), st.integers(1, 8))
def test_a_loop_is_where_trying_every_period_finds_it(head: str, piece: str, times: int) -> None:
    text = head + piece * times
    assert find_loop(text) == slowly(text)


@pytest.mark.parametrize("text", [TABLE, LIST, PROSE, "", "a" * 199, PROSE + "ha " * 20])
def test_what_only_resembles_itself_is_no_loop(text: str) -> None:
    assert find_loop(text) == (None, None)


def test_a_loop_of_any_length_is_found() -> None:
    piece = " ".join(random.Random(3).choice(("sea", "lamp", "fog", "tide")) for _ in range(300)) + ". "
    begins, period = find_loop("Once upon a time. " + piece * 5)
    assert period == len(piece)
    # The loop begins where the text first equals itself one piece on; the full stop before it may belong to it.
    assert begins is not None
    assert 0 <= len("Once upon a time. ") - begins <= 2


def test_a_loop_that_stopped_is_none() -> None:
    assert find_loop("again and again " * 40 + PROSE) == (None, None)


def test_a_long_answer_is_looked_at_quickly() -> None:
    assert find_loop("a" * 300_000) == (0, 1)


def test_the_real_loop_of_a_small_model() -> None:
    """SmolLM2-135M until its context was full: one line, again and again."""
    text = counted(recording("llamacpp", "edge_plain/ctx_overflow_gen")).stream.text
    assert find_loop(text) == (0, len("\n\ndef find_maxim(n)"))
    found = validity_of(text, finish="length")
    assert [fault.kind for fault in found.faults] == ["loop"]
    assert found.words == "repeats 19 characters from 0% of the text to its end"
    # The same after an answer of its own: a caveat, which begins where the answer ends.
    assert find_loop(PROSE + text * 8)[0] == pytest.approx(len(PROSE), abs=2)
