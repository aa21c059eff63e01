"""False alarms and misses on answers of two models that were held out from the tuning, half of them broken."""

import json
import lzma
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from auditor.core.validity.answer import validity_of

DATA = Path(__file__).parents[1] / "data" / "validity"
MOST_FALSE_ALARMS, MOST_MISSES = 0.02, 0.05


@cache
def answers(name: str) -> tuple[dict[str, Any], ...]:
    lines = lzma.decompress((DATA / f"{name}.jsonl.xz").read_bytes()).splitlines()
    return tuple(json.loads(line) for line in lines)


def fault_of(answer: dict[str, Any]) -> str | None:
    found = validity_of("".join(answer["pieces"]), prompt=answer["prompt"], finish=answer["finish"])
    return found.faults[0].kind if found.faults else None


def test_the_held_out_set_is_what_it_says() -> None:
    held_out = [one for one in answers("heldout") if one["label"] != "own-loop"]
    models = Counter((one["model"], one["label"] == "honest") for one in held_out)
    assert len(held_out) == 200
    assert set(models.values()) == {50}
    assert len({model for model, _ in models}) == 2
    assert not {one["prompt"] for one in held_out} & {one["prompt"] for one in answers("tune")}
    assert min(Counter(one["label"] for one in held_out).values()) >= 14


def test_false_alarms_are_rare_on_held_out_answers() -> None:
    honest = [one for one in answers("heldout") if one["label"] == "honest"]
    alarms = [(one["id"], fault) for one in honest if (fault := fault_of(one)) is not None]
    assert len(alarms) <= MOST_FALSE_ALARMS * len(honest), alarms


def test_few_broken_answers_are_missed_on_held_out_answers() -> None:
    broken = [one for one in answers("heldout") if one["label"] not in ("honest", "own-loop")]
    missed = [(one["id"], one["label"]) for one in broken if fault_of(one) is None]
    assert len(missed) <= MOST_MISSES * len(broken), missed


@pytest.mark.parametrize(
    ("label", "kinds"),
    [
        ("nan", {"token-run"}),
        ("loop", {"loop"}),
        ("mojibake", {"characters", "decoding"}),
        ("language", {"language", "broken-off"}),
        ("garbage", {"garbage"}),
        ("shuffle", {"order", "broken-off", None}),
        ("stop", {"broken-off", "order", "garbage", None}),
    ],
)
def test_what_is_wrong_is_named(label: str, kinds: set[str | None]) -> None:
    found = Counter(fault_of(one) for one in answers("heldout") if one["label"] == label)
    assert set(found) <= kinds
    assert found.most_common(1)[0][0] in kinds - {None}


def test_loops_into_which_the_models_ran_themselves_are_said_to_be_loops_or_nothing() -> None:
    found = Counter(fault_of(one) for one in answers("heldout") if one["label"] == "own-loop")
    assert set(found) <= {"loop", "token-run", None}
    assert found["loop"] > found[None]


def test_a_loop_begins_where_it_was_made_to() -> None:
    for one in answers("tune"):
        if one["label"] == "loop":
            text = "".join(one["pieces"])
            fault = validity_of(text, prompt=one["prompt"], finish=one["finish"]).faults[0]
            # A model may have said the piece before the loop began, and a loop within a loop begins later.
            assert fault.begins <= len("".join(one["pieces"][: one["begins"] + 60])) + 120, one["id"]
