"""Streams of `transformers serve`, as recorded."""

import pytest
from runs import Recording, counted, names, recording

WHERE = "transformers-5.19-cpu"


def streams() -> list[Recording]:
    return [recording(WHERE, name) for name in names(WHERE, suffix=".jsonl")]


@pytest.mark.parametrize("one", streams(), ids=lambda one: one.name)
def test_usage_comes_with_the_end_and_no_mark_after_it(one: Recording) -> None:
    line = counted(one).line
    assert (line.status, line.problem, line.notes) == ("complete", None, ())
    assert one.usage is not None
    assert line.rung == "final_usage"
    assert line.tally.delivered == one.usage["completion_tokens"]
    assert "stream_options" not in one.body
    assert line.tally.drafted is None
    assert line.identity.outcome == "not_available"


def test_the_token_that_ends_an_answer_has_no_event() -> None:
    line = counted(recording(WHERE, "chat_stop")).line
    assert (line.finish_reason, line.counts["events"], line.tally.delivered) == ("stop", 2, 3)
