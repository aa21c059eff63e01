"""What becomes of the verdict: garbage makes a run invalid and its speed no throughput, a caveat does neither."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from runs import Cells, Recording, make_run, recording

from auditor.audit import judge_folder
from auditor.core.facts import known
from auditor.core.judging.verdict import Finding, Verdict
from auditor.core.wire.http1 import ResponseReader
from auditor.terms import Outcome, VerdictKind

ANSWER = recording("vllm-0.24-h200", "plain-c16-stream1")
SAME = {"speculation": known(False, "the recording")}


def rewritten(one: Recording, words: list[str], finish: str | None = None) -> Recording:
    """The recording with other text in its events, a word each, in turn; the last event may end otherwise."""
    reader, reads, at = ResponseReader(), [], 0
    for t_ns, data in one.reads:
        knows_head = reader.head is not None
        body = reader.feed(data)
        lines = body.split(b"\n")
        for number, line in enumerate(lines):
            if not line.startswith(b"data: {"):
                continue
            event = json.loads(line[6:])
            for choice in event.get("choices", ()):
                if choice.get("delta", {}).get("content"):
                    choice["delta"]["content"] = words[at % len(words)]
                    at += 1
                if finish and choice.get("finish_reason"):
                    choice["finish_reason"] = finish
            lines[number] = b"data: " + json.dumps(event).encode()
        body = b"\n".join(lines)
        head = b"" if knows_head else data[: data.index(b"\r\n\r\n") + 4]
        chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
        reads.append((t_ns, head + chunk + (b"0\r\n\r\n" if reader.complete else b"")))
    assert at
    return replace(one, reads=tuple(reads))


def judged(folder: Path, *rounds: Recording, **plan: object) -> Verdict:
    cells = Cells(subject=tuple((one,) for one in rounds), has_scrapes=False)
    return judge_folder(make_run(folder, cells, facts=SAME, **plan)).verdict


def found(verdict: Verdict, name: str) -> Finding:
    return next(one for one in verdict.findings if one.id == name)


SENTENCE = (
    "the keeper climbed the stairs and lit the lamp as he had done on every evening for thirty years and below him the "
    "sea went on with its work while the boats that were late came in one after the other"
)


def shuffled() -> list[str]:
    words = [f" {word}" for word in SENTENCE.split()] * 8
    random.Random(3).shuffle(words)
    return words


@pytest.mark.parametrize("words", [["!"], ["<unk>"], ["\ufffd"], ["Ġthe", "Ġkeeper", "Ġlit", "Ġit"]])
def test_garbage_is_invalid_output_and_its_speed_no_throughput(tmp_path: Path, words: list[str]) -> None:
    broken = rewritten(ANSWER, words)
    verdict = judged(tmp_path / "run", ANSWER, broken, ANSWER)
    assert verdict.kind is VerdictKind.INVALID_OUTPUT
    assert found(verdict, "valid-output").outcome is Outcome.FAILS
    assert "tok/s" in verdict.sentence
    assert verdict.sentence.endswith("is the speed of that, and no throughput")
    assert verdict.exit_code == 3


def test_one_answer_in_doubt_is_a_caveat_and_several_are_invalid_output(tmp_path: Path) -> None:
    salad = rewritten(ANSWER, shuffled())
    one = judged(tmp_path / "one", ANSWER, ANSWER, salad)
    assert (found(one, "valid-output").outcome, found(one, "valid-output").gravity) == (Outcome.FAILS, "note")
    assert one.kind is not VerdictKind.INVALID_OUTPUT
    two = judged(tmp_path / "two", ANSWER, salad, salad)
    assert two.kind is VerdictKind.INVALID_OUTPUT


def test_a_tail_under_ignore_eos_is_a_caveat_and_not_a_fault(tmp_path: Path) -> None:
    head = [f" {word}" for word in ("a keeper wrote the number of boats into the book " * 3).split()]
    prose = [*[f" word{n}" for n in range(200)], *head]
    looping = rewritten(ANSWER, [*prose, *([" and", " again"] * 800)])
    verdict = judged(tmp_path / "run", looping, looping, looping, ignore_eos=True)
    assert verdict.kind is not VerdictKind.INVALID_OUTPUT
    loops = found(verdict, "no-loops")
    assert (loops.outcome, loops.gravity) == (Outcome.FAILS, "note")
    assert "this is a caveat and not a fault" in loops.sentence
    own = judged(tmp_path / "own", looping, looping, looping, ignore_eos=False)
    assert found(own, "no-loops").gravity == "thin"
    assert own.kind is not VerdictKind.INVALID_OUTPUT


def test_where_it_begins_is_told_by_token_and_time(tmp_path: Path) -> None:
    head = [f" word{n}" for n in range(40)]
    broken = rewritten(ANSWER, [*head, *["!"] * 2000])
    sentence = found(judged(tmp_path / "run", broken), "valid-output").sentence
    assert "'!' again and again from" in sentence
    assert "at token 40, " in sentence
    assert " s after it was asked" in sentence
