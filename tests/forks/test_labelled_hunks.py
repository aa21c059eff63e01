"""Hunks of three public histories, labelled by someone else: the share of changed lines classed as labelled.

The rules were tuned on `tuning.jsonl.zst`. `heldout.jsonl.zst` was opened by nothing but this test, three times while
they were made: 92.4 %, 93.0 % and 95.1 % of its lines. Between the runs its confusion by class was known and none of its
hunks; what was mended then is what the tuning part and the rubric showed to be wrong (folders called `vendors`, words
of a generated file's head anywhere in it, CUTLASS in the path of host code). So 95.1 % is a little kind to the rules.
"""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import zstandard

from auditor.core.forks.classify import Classed, Classifier
from auditor.core.forks.patch import Hunk
from auditor.reference.forkrules import bundled_fork_rules

FORKS = Path(__file__).parents[1] / "data" / "forks"
STATUS = {"new": "A", "deleted": "D", "changed": "M"}


def labelled(name: str) -> list[dict[str, Any]]:
    with (FORKS / f"{name}.jsonl.zst").open("rb") as file, zstandard.ZstdDecompressor().stream_reader(file) as stream:
        return [json.loads(line) for line in stream.read().splitlines()]


def hunk_of(row: dict[str, Any]) -> Hunk:
    """The hunk of a row; what the set leaves out of a long one is counted."""
    found = re.match(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@ ?(.*)", row["header"])
    assert found is not None
    lines = row["text"].removesuffix("\n").split("\n")
    hunk = Hunk(row["path"], STATUS[row["file"]], int(found[1]), int(found[2]), found[3].strip(), lines)
    hunk.more_added, hunk.more_removed = row["added"] - hunk.added, row["removed"] - hunk.removed
    return hunk


@pytest.mark.parametrize(("name", "lines", "hunks"), [("tuning", 0.98, 0.93), ("heldout", 0.95, 0.87)])
def test_changed_lines_are_classed_as_labelled(name: str, lines: float, hunks: float) -> None:
    classifier = Classifier(bundled_fork_rules().rules)
    right, total, alike, confusion = 0, 0, 0, Counter[tuple[str, str]]()
    rows = labelled(name)
    for row in rows:
        found: Classed = classifier.classify(hunk_of(row))
        size = row["added"] + row["removed"]
        total += size
        right += size * (found.label == row["label"])
        alike += found.label == row["label"]
        if found.label != row["label"]:
            confusion[row["label"], found.label] += size
    words = ", ".join(f"{label} as {got} {size}" for (label, got), size in confusion.most_common(12))
    print(f"\n{name}: {right / total:.2%} of {total:,} lines, {alike / len(rows):.2%} of {len(rows)} hunks; {words}")
    assert len(rows) >= 500
    assert right / total >= lines
    assert alike / len(rows) >= hunks
