"""The matrix file: every mistake with its line, and what the rows share laid under what each states."""

import re
from pathlib import Path

import pytest

from auditor.core.claim.claim import Claim, parse_claim
from auditor.core.sweeping.matrix import Recipe, chosen, own_claim, parse_matrix, recipes_of
from auditor.core.sweeping.words import recipe_words
from auditor.errors import ClaimError, UsageError

ROOT = Path(__file__).parents[2]
HEAD = "schema: 1\nid: m\ntitle: M\n"
CLAIM = parse_claim("schema: 1\nid: c\ntitle: C\nmeasurements:\n  - {id: a}\n  - {id: b}\n", "c.yaml")


def read(text: str, claim: Claim = CLAIM) -> tuple[Recipe, ...]:
    matrix, document = parse_matrix(text, "m.yaml")
    return recipes_of(matrix, document, claim)


@pytest.mark.parametrize(
    ("rows", "where", "words"),
    [
        ("rows: []", 4, "rows"),
        ("rows:\n  - {id: a, launch: {command: x}}", 5, "unknown field rows[0].launch.command"),
        ("rows:\n  - {id: a, launch: {argv: vllm serve}}", 5, "must be a list"),
        ("rows:\n  - id: a\n    launch: {argv: [x], ready: {timeout_s: 0}}", 6, "timeout_s must be at least 1"),
        ("rows:\n  - id: a\n    launch: {argv: [x], ready: {timeout_s: .inf}}", 6, ".inf is not a number"),
        (
            "rows:\n  - {id: a, launch: {argv: [x]}}\n  - {id: a, launch: {argv: [x]}}",
            6,
            "given twice, first on line 5",
        ),
        ("rows:\n  - id: a", 5, "has no command"),
        ("rows:\n  - {id: a, launch: {argv: [x], embedded: {parallel: 2}}}", 5, "argv and embedded"),
        ("rows:\n  - {id: z, launch: {argv: [x]}}", 5, "no measurement 'z'"),
        ("rows:\n  - id: a\n    launch: {argv: [x, --api-key, abc]}", 6, "argv holds a key"),
        ("rows:\n  - id: a\n    launch: {argv: [x], env: {HF_TOKEN: abc}}", 6, "looks like a secret"),
        ("rows:\n  - id: a\n    launch: {argv: [x], env: {a b: c}}", 6, "field name"),
        ("rows:\n  - id: a\n    launch: {argv: [x], stop: {signal: SIGSTOP}}", 6, "allowed: SIGTERM"),
        ("rows:\n  - id: a\n    launch: {argv: [x]}\n    load: {ladder: [1, 0]}", 7, "ladder[1] must be at least 1"),
    ],
)
def test_a_mistake_is_told_with_its_line(rows: str, where: int, words: str) -> None:
    with pytest.raises(ClaimError) as error:
        read(HEAD + rows)
    assert error.value.where == f"m.yaml:{where}"
    assert words in str(error.value)


def test_what_is_shared_lies_under_what_a_row_states() -> None:
    shared = (
        "launch:\n  argv: [vllm, serve, --port, 8000]\n  env: {A: 1, B: x}\n  stop: {grace_s: 90}\n"
        "load: {tokens: 256, ladder: [1, 2]}\n"
    )
    rows = "rows:\n  - id: a\n    launch: {env: {B: y}}\n    load: {tokens: 64}\n  - {id: b, launch: {embedded: {}}}\n"
    first, second = read(HEAD + shared + rows)
    assert first.launch.argv == ("vllm", "serve", "--port", "8000")
    assert first.launch.env == {"A": "1", "B": "y"}
    assert (first.load.tokens, first.load.ladder, first.launch.stop.grace_s) == (64, (1, 2), 90)
    assert (second.launch.argv, second.launch.embedded is not None) == ((), True)
    assert "  start   vllm serve --port 8000" in recipe_words(first)


def test_a_matrix_without_a_claim_is_its_own() -> None:
    matrix, document = parse_matrix(f"{HEAD}rows:\n  - {{id: a, title: A, launch: {{argv: [x]}}}}\n", "m.yaml")
    claim = Claim.model_validate(own_claim(matrix))
    (recipe,) = recipes_of(matrix, document, claim)
    assert (recipe.case, recipe.title, claim.case("a").reported.has_number) == ("a", "A", False)


def test_rows_are_chosen_by_name() -> None:
    recipes = read(f"{HEAD}launch: {{argv: [x]}}\nrows: [{{id: a}}, {{id: b}}]\n")
    assert [one.row for one in chosen(recipes, ("b",))] == ["b"]
    with pytest.raises(UsageError, match="no row 'z'"):
        chosen(recipes, ("z",))


def test_the_sample_is_valid() -> None:
    path = ROOT / "claims" / "sweeps" / "embedded.yaml"
    matrix, document = parse_matrix(path.read_text(), path.name)
    assert matrix.claim is not None
    claim = parse_claim((path.parent / matrix.claim).read_text(), matrix.claim)
    assert [one.row for one in recipes_of(matrix, document, claim)] == ["plain", "ngram", "draft-2", "draft-6"]


def test_the_documented_matrix_and_recipes_are_read() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "sweep.md").read_text(), re.DOTALL)
    whole, *recipes = blocks
    claim = parse_claim((ROOT / "claims" / "sm120-16-configs.yaml").read_text(), "claim")
    assert [one.case for one in read(whole, claim)] == ["marlin-tp4", "marlin-mtp2"]
    assert len(recipes) == 3
    for recipe in recipes:
        (one,) = chosen(read(f"{HEAD}{recipe}rows: [{{id: a}}]\n"), ())
        assert any("{port}" in word for word in one.launch.argv)
