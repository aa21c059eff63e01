"""`--check-text`: greedy text beside that of a server without speculation, on real servers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from auditor.audit import Result, plan_only
from auditor.audit import run as audit_run
from auditor.capture.local import LocalServer, local_settings, start_local
from auditor.core.claim.claim import parse_claim
from auditor.core.judging.textcheck import BATCHED, COMPARED, PLAIN, Divergence, TextCheck, Token, diverges_at, noise_of
from auditor.core.judging.verdict import Finding
from auditor.core.plan.making import Wishes
from auditor.core.plan.prompts import Message, Prompt
from auditor.errors import UsageError
from auditor.job import Job, ServerChoice
from auditor.terms import Outcome, VerdictKind

CLAIM = "schema: 1\nid: small\ntitle: A small claim\nreported: {value: 100, basis: decode, streams: 1}\n"
PROMPT = "Repeat this list twice: apple, banana, cherry, apple, banana, cherry, apple, banana."


def job(subject: LocalServer, plain: LocalServer | None, folder: Path, **wishes: object) -> Job:
    claim = parse_claim(CLAIM, "claim.yaml")
    prompt = Prompt(id="p", kind="reviewer", origin="reviewer", messages=(Message(role="user", content=PROMPT),))
    asked = Wishes(tokens=48, repeats=1, prompts=(prompt,), suite=False, check_text=True)
    pair = () if plain is None else (ServerChoice("plain", plain.url),)
    return Job(
        claim=claim,
        case=claim.case(None),
        claim_bytes=CLAIM.encode(),
        servers=(ServerChoice("subject", subject.url), *pair),
        wishes=replace(asked, **wishes),
        run="run-1",
        started_ns=1796113200000000000,
        seed=1,
        folder=folder / "run",
        command="audit run claim.yaml",
    )


def finding(result: Result, name: str = "greedy-text") -> Finding:
    return next(one for one in result.verdict.findings if one.id == name)


@pytest.fixture(scope="module")
def forced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """A server that accepts n-gram drafts by number; no endpoint tells."""
    settings = replace(local_settings(speculation="ngram", context=1024), synthetic_length=8.0)
    with start_local(settings, log=tmp_path_factory.mktemp("forced") / "server.log") as server:
        yield server


@pytest.mark.local
def test_forced_acceptance_leaves_the_text_of_the_model(
    forced: LocalServer, local_plain: LocalServer, tmp_path: Path
) -> None:
    result = audit_run(job(forced, local_plain, tmp_path))
    found = finding(result)
    assert found.outcome is Outcome.FAILS, found.sentence
    assert "greedy texts leave that of the server without speculation" in found.sentence
    assert finding(result, "honest-acceptance").outcome is not Outcome.FAILS
    # How far batch shapes move a text differs from run to run, and one answer beyond that is too few.
    is_enough = not found.sentence.startswith("1 of ")
    assert found.gravity == ("invalid" if is_enough else "note")
    assert (result.verdict.kind is VerdictKind.INVALID_OUTPUT) is is_enough


@pytest.mark.local
def test_honest_acceptance_keeps_the_text_of_the_model(
    local_ngram: LocalServer, local_plain: LocalServer, tmp_path: Path
) -> None:
    result = audit_run(job(local_ngram, local_plain, tmp_path))
    found = finding(result)
    assert found.outcome is Outcome.HOLDS, found.sentence
    assert found.sentence.startswith("the greedy text of 8 answers is that of the server without speculation")
    assert result.verdict.kind is not VerdictKind.INVALID_OUTPUT
    plan = json.loads((result.folder / "plan.json").read_bytes())
    assert [(cell["key"], cell["streams"], cell.get("text")) for cell in plan["cells"][-3:]] == [
        (PLAIN, 1, "plain"),
        (BATCHED, 8, "plain"),
        (COMPARED, 1, "compared"),
    ]
    assert "text" not in plan["cells"][0]


@pytest.mark.local
def test_it_says_what_it_needs(local_plain: LocalServer, local_ngram: LocalServer, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a server without speculation"):
        plan_only(job(local_ngram, None, tmp_path))
    with pytest.raises(UsageError, match="compares greedy texts"):
        plan_only(job(local_ngram, local_plain, tmp_path, temperature=0.7))


def tokens(*words: tuple[str, float]) -> tuple[Token, ...]:
    return tuple(Token(word.encode(), gap) for word, gap in words)


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("one two", None),
        ("one two three", None),
        ("one", None),
        ("one tw", None),
        ("one too", 1),
        ("two", 0),
        ("", None),
    ],
)
def test_where_a_text_leaves_the_plain_one(text: str, position: int | None) -> None:
    assert diverges_at(tokens(("one", 3.0), (" two", 2.0)), text.encode()) == position


def test_a_character_of_two_tokens_is_no_divergence() -> None:
    heart = "♥".encode()
    plain = (Token(heart[:1], 1.0), Token(heart[1:], 1.0))
    assert diverges_at(plain, heart) is None
    assert diverges_at(plain, heart[:2] + b"x") == 1


def test_noise_is_what_another_batch_shape_moves_or_overturns() -> None:
    one = tokens(("a", 1.0), ("b", 0.50), ("c", 0.02))
    assert noise_of(one, tokens(("a", 1.1), ("b", 0.45), ("c", 0.02))) == pytest.approx(0.1)
    assert noise_of(one, tokens(("a", 1.0), ("x", 0.30), ("c", 9.0))) == 0.5
    assert noise_of(one, one) == 0


def test_only_gaps_above_the_noise_count() -> None:
    near, far = Divergence(0, 3, 0.2), Divergence(1, 5, 2.0)
    assert TextCheck(8, (near, far), 0.3).counting == (far,)
    assert TextCheck(8, (near, far), 0.0).counting == (near, far)
    assert TextCheck(8, (Divergence(0, 1, 0.05),), 0.0).counting == ()
