"""Measurements laid over the common fields."""

import pytest

from auditor.core.claim.claim import Case, Claim, parse_claim
from auditor.errors import UsageError

MATRIX = """\
schema: 1
id: matrix
title: A matrix
hardware: {gpu: rtx-5090, count: 2}
engine:
  name: vLLM
  env: {A: "1", B: "2"}
  argv: [serve, x]
  parallelism: {tp: 2, pp: 1}
speculation: {method: mtp, draft_tokens: 2, acceptance: 0.7}
reported: {value: 100, basis: decode, about: true, streams: 1}
notes: common
measurements:
  - id: same
  - id: row
    title: A row
    hardware: {count: null}
    engine:
      env: {B: "3"}
      argv: [other]
      parallelism: {pp: 4}
    speculation: {draft_tokens: 3}
    reported: {range: [5, 6]}
    notes: own
  - id: plain
    speculation: {method: none}
    reported: {outcome: nan}
"""


def test_a_claim_with_one_number_is_one_case() -> None:
    claim = parse_claim("schema: 1\nid: one\ntitle: One\nhardware: {gpu: x}\nnotes: n", "f")
    case = claim.case(None)
    assert (case.id, case.claim_id, case.title, case.hardware.gpu, case.notes) == ("one", "one", "One", "x", "n")
    assert claim.cases() == (case,)
    assert claim.case("one") == case


def test_every_part_is_there_when_nothing_is_stated() -> None:
    case = parse_claim("schema: 1\nid: one\ntitle: One", "f").case(None)
    assert case.hardware.gpu is None
    assert case.engine.fork.commit is None
    assert case.engine.parallelism.tp is None
    assert case.engine.backends.moe is None
    assert case.workload.sampling.temperature is None
    assert case.server.url is None
    assert case.engine.is_fork is False
    assert case.speculation.acceptance_range() is None


def test_a_row_is_laid_over_the_common_fields() -> None:
    same, row, plain = parse_claim(MATRIX, "f").cases()
    assert (same.id, same.claim_id, same.title) == ("same", "matrix", "A matrix")
    assert same.reported.value == 100
    assert (row.title, row.notes) == ("A row", "own")
    assert (row.hardware.gpu, row.hardware.count) == ("rtx-5090", None)
    assert row.engine.env == {"A": "1", "B": "3"}
    assert row.engine.argv == ("other",)
    assert (row.engine.parallelism.tp, row.engine.parallelism.pp) == (2, 4)
    assert (row.speculation.draft_tokens, row.speculation.acceptance) == (3, 0.7)
    assert (row.reported.value, row.reported.range, row.reported.about) == (None, (5, 6), None)
    assert (row.reported.basis, row.reported.streams) == ("decode", 1)
    assert plain.speculation.is_off
    assert (plain.speculation.draft_tokens, plain.speculation.acceptance) == (None, None)
    assert (plain.reported.value, plain.reported.interval()) == (None, None)


def test_choosing_a_row_names_them_all() -> None:
    claim = parse_claim(MATRIX, "f")
    assert claim.case("row").hardware.count is None
    with pytest.raises(UsageError, match=r"has 3 measurements; choose one with --row: same, row, plain"):
        claim.case(None)
    with pytest.raises(UsageError, match=r"no measurement 'matrix'; choose one with --row: same, row, plain"):
        claim.case("matrix")


def test_claim_and_case_survive_their_json() -> None:
    claim = parse_claim(MATRIX, "f")
    again = Claim.from_json(claim.to_json())
    assert again == claim
    assert again.cases() == claim.cases()
    assert again.digest() == claim.digest()
    for case in claim.cases():
        assert Case.from_json(case.to_json()) == case


def test_the_engines_that_a_name_speaks_of() -> None:
    def kinds(name: str) -> tuple[str, ...]:
        return parse_claim(f"schema: 1\nid: a\ntitle: b\nengine: {{name: {name}}}", "f").engine.kinds()

    assert kinds("SGLang or vLLM") == ("vllm", "sglang")
    assert kinds("llama.cpp server") == ("llamacpp",)
    assert kinds("my own") == ()
