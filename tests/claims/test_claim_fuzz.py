"""Whatever the text, reading a claim ends in a claim or in a ClaimError."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from auditor.core.claim.claim import Claim, Hardware, Reported, parse_claim, problems_of
from auditor.core.claim.questions import questions_for
from auditor.errors import ClaimError

CLAIMS = sorted((Path(__file__).parents[2] / "claims").glob("*.yaml"))
TEXTS = [path.read_text() for path in CLAIMS]

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["none", "decode", "nan", "2026-03", "0.61", "1e3", "x" * 400, "http://a/b"])
)
names = st.sampled_from(
    [*Claim.model_fields, "schema", *Hardware.model_fields, *Reported.model_fields, "fork", "url", "env", "argv"]
) | st.text(max_size=8)
trees: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=5),
    max_leaves=25,
)


def read(text: str) -> None:
    problems = problems_of(text, "claim.yaml")
    for problem in problems:
        assert isinstance(problem, ClaimError)
        assert "\n" not in str(problem)
        assert problem.where is not None
        name, line = problem.where.split(":")
        assert name == "claim.yaml"
        # YAML counts more kinds of line end than Python does.
        assert 1 <= int(line) <= len(text) + 1
    if problems:
        with pytest.raises(ClaimError, match=re.escape(str(problems[0]))):
            parse_claim(text, "claim.yaml")
        return
    claim = parse_claim(text, "claim.yaml")
    assert Claim.from_json(claim.to_json()).cases() == claim.cases()
    for case in claim.cases():
        assert case.reported.as_text()
        assert all(questions_for(case))
        interval = case.reported.interval()
        assert interval is None or 0 <= interval[0] <= interval[1]


@settings(max_examples=300)
@given(st.text() | st.text(alphabet="{}[]:,-&*!|>'\"%@`#? \n\tab1.", max_size=60))
def test_any_text(text: str) -> None:
    read(text)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(names, trees, max_size=6), st.booleans())
def test_any_tree_under_a_valid_head(tree: dict[str, Any], head: bool) -> None:
    if head:
        tree = {**tree, "schema": 1, "id": "a", "title": "b"}
    read(yaml.dump(tree, allow_unicode=True, sort_keys=False))


@settings(max_examples=300)
@given(st.sampled_from(TEXTS), st.data())
def test_a_damaged_claim_file(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    read(text[:start] + data.draw(st.text(alphabet="{}[]:,-&*!|>'\"# \n\tx19.~", max_size=6)) + text[end:])
