"""Fourteen made-up fork commits, labelled by someone else before the classifier was: their classes and their answers."""

import json
from pathlib import Path
from typing import Any

import pytest
from forktrees import Tree

from auditor.core.forks.classify import Classifier
from auditor.core.forks.patch import Hunk, read_patch
from auditor.reference.forkrules import bundled_fork_rules
from auditor.review.forks import review_fork

MADE = Path(__file__).parents[1] / "data" / "forks" / "made"
CASES: dict[str, Any] = json.loads((MADE / "labels.json").read_text())
QUESTIONS = {
    "gate_without_kernel": "gate-without-kernel",
    "counting": "counting",
    "acceptance": "acceptance",
    "sampling": "sampling",
    "numbers": "numbers",
}
KERNELS = {"none": "no", "changed": "yes", "moved": "no", "vendored": "unclear"}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    """The small engine that all of them change."""
    tree = Tree(tmp_path_factory.mktemp("forks") / "tinyserve")
    tree("apply", "--index", str(MADE / "base.patch"))
    tree.commit({}, "base")
    tree("tag", "base")
    return tree


@pytest.mark.parametrize("case", CASES)
def test_hunks_are_classed_as_labelled(case: str) -> None:
    classifier = Classifier(bundled_fork_rules().rules)
    lines = (MADE / f"{case}.patch").read_bytes().splitlines(keepends=True)
    hunks = [hunk for hunk in read_patch(iter(lines)) if isinstance(hunk, Hunk)]
    labels = [[*label, None, []][:5] if len(label) < 5 else label for label in CASES[case]["hunks"]]
    assert [(hunk.path, hunk.new_start) for hunk in hunks] == [(path, start) for path, start, *_ in labels]
    for hunk, (path, start, label, kind, also) in zip(hunks, labels, strict=True):
        found = classifier.classify(hunk)
        assert (path, start, found.label, found.kind) == (path, start, label, kind if label == "kernel" else found.kind)
        assert set(also or ()) <= set(found.also), (path, start)


@pytest.mark.parametrize("case", CASES)
def test_answers_are_those_that_a_review_owes(case: str, engine: Tree) -> None:
    engine("checkout", "--quiet", "--detach", "base")
    engine("apply", "--index", str(MADE / f"{case}.patch"))
    engine.commit({}, CASES[case]["subject"])
    review = review_fork(str(engine.path), bundled_fork_rules(), upstream="base")
    found = {answer.id: answer for answer in review.answers}
    owed = CASES[case]["answers"]
    assert found["kernels"].outcome == KERNELS[owed["kernels"]]
    assert {name: found[question].outcome == "yes" for name, question in QUESTIONS.items()} == {
        name: owed[name] for name in QUESTIONS
    }
    for answer in review.answers:
        if answer.outcome == "yes":
            assert answer.sure.lines, answer.id
    assert review.history.ahead == 1
