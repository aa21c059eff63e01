"""Questions with known answers: made, judged, asked of a real server, and laid beside a reference run."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from runs import CLAIM_TEXT, Cells, account, facts_of, plan_of, recording

from auditor import audit
from auditor.audit import judge_folder
from auditor.capture.local import LocalServer
from auditor.cli.root import main
from auditor.core.checks.base import Answer, Context
from auditor.core.checks.canary import canaries_answered, fingerprint
from auditor.core.claim.claim import parse_claim
from auditor.core.folder import RunFolder, write
from auditor.core.judging.verdict import Verdict
from auditor.core.plan.making import Wishes
from auditor.core.plan.prompts import Message, Prompt
from auditor.core.validity.canaries import (
    Canaries,
    Canary,
    CanaryAnswer,
    Position,
    Reference,
    digest_of,
    is_right,
    make_canaries,
)
from auditor.core.validity.fingerprint import compare, mean_logprob
from auditor.errors import EvidenceError, Exit
from auditor.job import Job, ServerChoice
from auditor.terms import Outcome

_PARSED = parse_claim(CLAIM_TEXT, "claim.yaml")
CLAIM = (_PARSED, _PARSED.cases()[0], CLAIM_TEXT.encode())
CELLS = Cells(subject=((recording("llamacpp", "draft/chat_stream_tpt"),),), has_scrapes=False)
CONTEXT = Context(plan_of(CELLS), facts_of(CELLS), account(CELLS), None)


def answered(text: dict[str, str], when: str = "before", shift: float = 0.0) -> tuple[CanaryAnswer, ...]:
    """An answer to each canary of seed 1: the right one, or what `text` has for its kind."""
    tops = [{"a": -0.5 - i / 10 + shift, "b": -1.5} for i in range(8)]
    positions = tuple(Position(token="a", logprob=top["a"], top=top) for top in tops)
    return tuple(
        CanaryAnswer.model_validate(
            {"canary": one.id, "when": when, "text": text.get(one.kind, one.expected), "positions": positions}
        )
        for one in make_canaries(1)
    )


def canaries(*answers: CanaryAnswer) -> Canaries:
    return Canaries(model="m", asked=make_canaries(1), answers=answers)


def ask(found: Canaries | None, reference: Canaries | None = None) -> tuple[Answer, Answer]:
    beside = None if reference is None else Reference(run="other-1", canaries=reference)
    context: Context = replace(CONTEXT, canaries=found, reference=beside)
    return canaries_answered(context), fingerprint(context)


WRONG = dict.fromkeys(("copy", "arithmetic", "json", "needle"), "The company has a new policy.")


def test_every_run_asks_other_questions_and_the_same_fingerprint() -> None:
    one, other = make_canaries(1), make_canaries(2)
    assert make_canaries(1) == one
    same = [a.id for a, b in zip(one, other, strict=True) if a.prompt == b.prompt]
    assert same == [c.id for c in one if c.kind == "fingerprint"]
    assert all(is_right(c, c.expected) for c in one if c.kind != "fingerprint")
    assert not any(is_right(c, "") for c in one if c.kind != "fingerprint")
    needles = [c for c in one if c.kind == "needle"]
    assert all(c.expected in c.prompt and len(c.prompt.split()) > 200 for c in needles)


@pytest.mark.parametrize(
    ("kind", "text", "is_it"),
    [
        ("copy", "The list is:\n- garden\n- Wheel\n- glass", True),
        ("copy", "a garden with a wheel", False),
        ("arithmetic", "23 + 34 = 57.", True),
        ("arithmetic", "1,057", False),
        ("needle", "The secret code is 57!", True),
        ("json", '```json\n{"count": 4, "item": "glass"}\n```', True),
        ("json", '{"item": "glass", "count": "4"}', False),
        ("json", "{" * 10_000, False),
    ],
)
def test_an_answer_is_right_by_what_it_holds(kind: str, text: str, is_it: bool) -> None:
    expected = {"copy": "garden wheel glass horse paper", "json": '{"item":"glass","count":4}'}.get(kind, "57")
    canary = Canary.model_validate({"id": "x", "kind": kind, "prompt": "", "expected": expected})
    assert is_right(canary, text) is is_it


def test_right_answers_hold_and_some_wrong_ones_are_a_caveat() -> None:
    found, _ = ask(canaries(*answered({}), *answered({}, "after")))
    assert found.outcome is Outcome.HOLDS
    assert (
        "16 of 16 are answered rightly: 6 of 6 copy, 4 of 4 arithmetic, 2 of 2 json and 4 of 4 needle" in found.sentence
    )
    found, _ = ask(canaries(*answered({**WRONG, "copy": "garden"}), *answered({"json": "no"}, "after")))
    assert (found.outcome, found.gravity) == (Outcome.FAILS, "note")
    small = {kind: text for kind, text in WRONG.items() if kind != "copy"}
    found, _ = ask(canaries(*answered(small), *answered(small, "after")))
    assert (found.outcome, found.gravity) == (Outcome.FAILS, "note")


def test_a_server_that_copies_nothing_and_answers_nothing_is_invalid() -> None:
    found, _ = ask(canaries(*answered(WRONG), *answered(WRONG, "after")))
    assert (found.outcome, found.gravity) == (Outcome.FAILS, None)
    assert "not even a list is copied" in found.sentence


def test_a_server_that_answers_before_the_load_and_not_after_is_invalid() -> None:
    found, _ = ask(canaries(*answered({}), *answered(WRONG, "after")))
    assert (found.outcome, found.gravity) == (Outcome.FAILS, None)
    assert "8 of 8 questions with known answers were answered before the load and none after it" in found.sentence


def test_without_answers_nothing_is_said() -> None:
    refused = CanaryAnswer(canary="copy-0", when="before", problem="HTTP 500")
    assert ask(None)[0].outcome is Outcome.NOT_AVAILABLE
    found, _ = ask(canaries(refused))
    assert (found.outcome, found.gravity) == (Outcome.NOT_AVAILABLE, "note")
    assert "HTTP 500" in found.sentence


def test_log_probabilities_that_are_no_numbers_or_very_low_are_told() -> None:
    low = [one.model_copy(update={"positions": (Position(token="a", logprob=-9.0),)}) for one in answered({})]
    assert "have a mean log-probability of -9" in ask(canaries(*low))[0].sentence
    none = [one.model_copy(update={"positions": (*one.positions, Position(token="a", logprob=None))}) for one in low]
    found, _ = ask(canaries(*none))
    assert (found.outcome, found.gravity) == (Outcome.FAILS, "note")
    assert "16 of 32 have none" in found.sentence
    assert mean_logprob(canaries(*none)) == (-9.0, 16, 16)


def test_a_fingerprint_differs_only_by_more_than_noise() -> None:
    mine = canaries(*answered({}), *answered({}, "after", shift=0.05))
    quiet = canaries(*answered({}, shift=0.08), *answered({}, "after", shift=0.08))
    other = canaries(*answered({}, shift=0.4), *answered({}, "after", shift=0.4))
    assert compare(mine, quiet).outcome == "same"
    found = compare(mine, other)
    assert (found.outcome, found.positions, found.beyond) == ("differs", 64, 64)
    assert found.worst == pytest.approx(0.4)
    assert found.noise == pytest.approx(0.05)
    assert ask(mine, quiet)[1].outcome is Outcome.HOLDS
    assert (ask(mine, other)[1].outcome, ask(mine, other)[1].gravity) == (Outcome.FAILS, None)
    assert compare(canaries(*answered({})), other).outcome == "unknown"
    bare = canaries(*(one.model_copy(update={"positions": ()}) for one in answered({})))
    assert compare(mine, bare).why == "no log-probabilities of both"
    assert ask(mine)[1].outcome is Outcome.NOT_APPLICABLE


def test_texts_that_part_are_compared_up_to_there() -> None:
    other = [
        one.model_copy(
            update={
                "positions": (
                    *one.positions[:3],
                    Position(token="b", logprob=-1.5, top={"a": -1.6, "b": -1.5}),
                    *one.positions[4:],
                )
            }
        )
        for one in answered({})
    ]
    found = compare(canaries(*answered({}), *answered({}, "after")), canaries(*other, *answered({}, "after")))
    assert found.positions == 32


def run_on(server: LocalServer, folder: Path) -> audit.Result:
    """A small run with canaries; its id is the name of the folder."""
    claim, case, data = CLAIM
    prompt = Prompt(id="p", kind="reviewer", origin="reviewer", messages=(Message(role="user", content="Count."),))
    job = Job(
        claim=claim,
        case=case,
        claim_bytes=data,
        servers=(ServerChoice("subject", server.url),),
        wishes=Wishes(tokens=16, repeats=1, prompts=(prompt,), suite=False),
        run=folder.name,
        started_ns=1_796_113_200_000_000_000,
        seed=5,
        folder=folder,
        command="audit run",
        server_log=str(server.log),
        canaries=True,
    )
    return audit.run(job)


def test_a_run_asks_a_real_server_before_and_after_and_counts_none_of_it(
    local_plain: LocalServer, tmp_path: Path
) -> None:
    """SmolLM2-135M copies lists and fails sums, which is a caveat."""
    result = run_on(local_plain, tmp_path / "plain")
    found = RunFolder(result.folder).canaries()
    assert found is not None
    assert not any(answer.problem for answer in found.answers)
    assert found.passed("before", ("copy",)) == found.passed("after", ("copy",)) == (3, 3)
    assert all(answer.positions for answer in found.answers)
    assert compare(found, found).outcome == "same"
    exchanges = RunFolder(result.folder).evidence().exchanges
    canary = [one for one in exchanges if one.purpose == "canary"]
    assert {(one.meta["canary"], one.meta["when"]) for one in canary} == {(a.canary, a.when) for a in found.answers}
    assert RunFolder(result.folder).plan().canaries == digest_of(found.asked)
    assert len(found.answers) == 2 * len(found.asked)
    assert b"ignore_eos" not in b"".join(one.request for one in canary)
    assert [line.tally.delivered for line in result.account.ledger.exchanges] == [16]
    findings = {one.id: one for one in result.verdict.findings}
    assert "6 of 6 copy" in findings["canaries"].sentence
    assert findings["fingerprint"].outcome is Outcome.NOT_APPLICABLE
    assert "requests of a round" not in findings["server-log"].sentence
    easier = [one.model_copy(update={"expected": "1"}) for one in found.asked]
    write(result.folder, "canaries.json", found.model_copy(update={"asked": tuple(easier)}).to_json())
    with pytest.raises(EvidenceError, match="other questions than were planned"):
        RunFolder(result.folder).canaries()


def copied(run: Path, place: Path) -> Path:
    """The same run under another id, as if it had been made elsewhere."""
    shutil.copytree(run, place)
    write(place, "run.json", RunFolder(run).run().model_copy(update={"run": place.name}).to_json())
    return place


def test_a_reference_run_is_laid_beside_a_run_by_judge(
    local_draft: LocalServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A server that drafts gives the log-probabilities of first tokens alone, and they are enough."""
    fixed = tuple(one for one in make_canaries(5) if one.kind == "fingerprint")
    monkeypatch.setattr(audit, "make_canaries", lambda seed: fixed)
    run = run_on(local_draft, tmp_path / "draft").folder
    other, third = (copied(run, tmp_path / name) for name in ("other", "third"))
    reports = ("--reports", str(tmp_path), "--database", f"sqlite:///{tmp_path}/none.db")

    def judged(reference: Path) -> tuple[int, str]:
        with pytest.raises(SystemExit) as ended:
            main(["judge", str(run), "--reference", str(reference), *reports])
        return int(ended.value.code or 0), "".join(capsys.readouterr())

    for _ in range(2):  # The same reference again changes nothing.
        assert judged(other)[0] == Exit.UNDECIDED
        found = {one.id: one for one in Verdict.from_json((run / "verdict.json").read_bytes()).findings}["fingerprint"]
        assert found.outcome is Outcome.HOLDS
        assert f"log-probabilities are those of run {other.name}" in found.sentence
        assert "at 8 tokens" in found.sentence
    code, said = judged(run)
    assert (code, "the reference is the run itself" in said) == (Exit.USAGE, True)
    code, said = judged(third)
    assert (code, f"the run has the reference {other.name} already" in said) == (Exit.USAGE, True)
    assert judge_folder(run).verdict.findings
