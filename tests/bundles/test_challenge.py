"""A challenge is issued, answered beside a real server, and the answer is told from anything else."""

import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from bundled import Audit

from auditor.audit import judge_folder
from auditor.bundles import make_bundle
from auditor.capture.local import LocalServer
from auditor.core.bundle.verification import Verification
from auditor.core.challenge.challenge import Challenge, read_challenge
from auditor.core.challenge.tasks import code_of, coded, drawn
from auditor.core.folder import CHALLENGE, MANIFEST, WIRE
from auditor.core.plan.prompts import Prompt
from auditor.core.wire.log import Kind, frame, read_wire
from auditor.errors import EvidenceError, Exit, UsageError
from auditor.publish.challenges import Asked, issue, load_challenge, open_challenge
from auditor.publish.keys import read_private
from auditor.verifying import verify_bundle

CLAIM = """\
schema: 1
id: far-away
title: 130 tok/s on a machine that nobody else reaches
source: {url: "https://forum.example/t/2", kind: forum post}
model: {id: SmolLM2-135M-Instruct}
reported: {value: 130, basis: decode, streams: 1}
"""
HOUR_NS = 3600 * 10**9


@pytest.fixture(scope="module")
def answer(
    local_ngram: LocalServer, make_key: Callable[..., str], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, str]:
    """The folder in which a challenge was issued and answered, and what `audit answer` said."""
    place = tmp_path_factory.mktemp("answered")
    (place / "claim.yaml").write_text(CLAIM)
    command = str(Path(sys.executable).with_name("audit"))
    shared = {"cwd": place, "check": True, "capture_output": True, "text": True, "env": dict(os.environ)}
    asked = ["challenge", "claim.yaml", "--tokens", "48", "--repeats", "1", "--out", "c.json"]
    subprocess.run([command, *asked, "--sign", make_key("reviewer")], **shared)
    given = ["--sign", make_key("claimant"), "--key", f"{make_key('reviewer')}.pub", "--out", "answer.tar"]
    said = subprocess.run([command, "answer", "c.json", "--server", local_ngram.url, *given], **shared)
    return place, said.stderr


def outcomes(found: Verification) -> dict[str, str]:
    """What each check found."""
    return {check.id: check.outcome.value for check in found.checks}


def look(place: Path, challenge: Challenge | None = None, *, after_ns: int = HOUR_NS) -> Verification:
    """Verify the answer beside this challenge, as if it were so long after the issue."""
    asked = load_challenge(str(place / "c.json"))
    beside = asked if challenge is None else Asked(challenge, issue(challenge), ())
    data = (place / "answer.tar").read_bytes()
    return verify_bundle(data, "answer", asked=beside, now_ns=asked.challenge.issued_ns + after_ns)


def test_an_answer_verifies_beside_its_challenge(
    answer: tuple[Path, str], audit: Audit, make_key: Callable[..., str], tmp_path: Path
) -> None:
    place, said = answer
    assert "issued by reviewer@example" in said
    keys = tmp_path / "allowed"
    lines = [
        f"{name}@x {' '.join(Path(f'{make_key(name)}.pub').read_text().split()[:2])}"
        for name in ("reviewer", "claimant")
    ]
    keys.write_text("\n".join(lines))
    found = audit("verify", str(place / "answer.tar"), "--challenge", str(place / "c.json"), "--key", str(keys))
    assert found.returncode == 0, found.stdout
    for words in (
        "signed with the given key of claimant@x",
        "issued by reviewer@x",
        "5 prompts (digest",
        "5 requests, each with its prompt and its own nonce",
        "by its own machine's clock, the run lies between issue and expiry",
        "the machine was not asked for its GPUs",
        "he can run it often and send the best",
    ):
        assert words in found.words


def test_the_small_model_copies_the_code_that_nobody_could_foresee(answer: tuple[Path, str]) -> None:
    """Of five answers at least the one that copies a list; which others do, is the model's affair."""
    assert outcomes(look(answer[0]))["nonces back"] == "holds"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tokens": 64}, "cells.subject.max_tokens is 48, not 64"),
        ({"repeats": 2}, "repeats is 1, not 2"),
        ({"streams": 2}, "streams is 1, not 2"),
        ({"temperature": 0.5}, "temperature is 0.0, not 0.5"),
        ({"ignore_eos": False}, "ignore_eos is True, not False"),
        ({"nonce": "0" * 32}, "seed is"),
        ({"claim": CLAIM.replace("130", "131")}, "claim_digest is"),
    ],
)
def test_a_run_under_other_settings_is_no_answer(
    answer: tuple[Path, str], change: dict[str, object], words: str
) -> None:
    asked = load_challenge(str(answer[0] / "c.json")).challenge
    found = look(answer[0], asked.model_copy(update=change))
    assert outcomes(found)["settings"] == "fails"
    assert words in " ".join(check.sentence for check in found.checks if check.id == "settings")
    assert found.exit_code == Exit.REFUTED


def test_other_prompts_are_no_answer(answer: tuple[Path, str]) -> None:
    asked = load_challenge(str(answer[0] / "c.json")).challenge
    other = asked.model_copy(update={"prompts": coded(drawn("9" * 32), asked.nonce)})
    assert outcomes(look(answer[0], other))["settings"] == "fails"


@pytest.mark.parametrize(
    ("shift_ns", "words"),
    [(HOUR_NS, "before the challenge was issued"), (-80 * HOUR_NS, "after the challenge expired")],
)
def test_a_run_outside_its_time_is_no_answer(answer: tuple[Path, str], shift_ns: int, words: str) -> None:
    asked = load_challenge(str(answer[0] / "c.json")).challenge
    times = {name: getattr(asked, name) + shift_ns for name in ("issued_ns", "expires_ns")}
    found = look(answer[0], asked.model_copy(update=times), after_ns=200 * HOUR_NS)
    assert outcomes(found)["time"] == "fails"
    assert words in " ".join(check.sentence for check in found.checks if check.id == "time")


def test_when_it_is_looked_at_is_said(answer: tuple[Path, str]) -> None:
    late = look(answer[0], after_ns=100 * HOUR_NS)
    assert outcomes(late)["time"] == "holds"
    assert "looked at after the expiry" in " ".join(check.sentence for check in late.checks)
    assert outcomes(look(answer[0], after_ns=0))["time"] == "fails"


def test_the_copy_in_the_bundle_is_used_where_none_is_given(answer: tuple[Path, str], audit: Audit) -> None:
    found = audit("verify", str(answer[0] / "answer.tar"))
    assert found.returncode == 0
    assert "the bundle's own copy" in found.words


def test_answers_without_the_code_are_not_bound(answer: tuple[Path, str], tmp_path: Path) -> None:
    """The same run beside a challenge whose codes are others: the plan gives it away first, the answers too."""
    asked = load_challenge(str(answer[0] / "c.json")).challenge
    found = look(answer[0], asked.model_copy(update={"nonce": "5" * 32}))
    assert outcomes(found)["nonces back"] == "not_available"


def test_an_answer_cut_short_is_not_settled(answer: tuple[Path, str], tmp_path: Path) -> None:
    (run,) = (answer[0] / "reports" / "far-away").iterdir()
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    (folder / MANIFEST).unlink()
    data = (folder / WIRE).read_bytes()
    (folder / WIRE).write_bytes(data[: len(data) // 2])
    assert read_wire(folder / WIRE).damage
    judge_folder(folder)
    asked = load_challenge(str(answer[0] / "c.json"))
    found = verify_bundle(make_bundle(folder), "answer", asked=asked, now_ns=asked.challenge.issued_ns + HOUR_NS)
    assert outcomes(found)["nonces sent"] == "error"
    assert found.exit_code == Exit.UNDECIDED


def test_a_request_that_is_not_the_planned_one_is_found(answer: tuple[Path, str], tmp_path: Path) -> None:
    """The plan is right, and another prompt went out."""
    (run,) = (answer[0] / "reports" / "far-away").iterdir()
    folder = Path(shutil.copytree(run, tmp_path / "run"))
    (folder / MANIFEST).unlink()
    records = list(read_wire(folder / WIRE).records)
    asking = [index for index, one in enumerate(records) if one.kind is Kind.SEND and b"this list" in one.payload]
    for at in asking:
        records[at] = dataclasses.replace(records[at], payload=records[at].payload.replace(b"this list", b"that list"))
    assert asking
    (folder / WIRE).write_bytes(frame(records, first=True))
    judge_folder(folder)
    asked = load_challenge(str(answer[0] / "c.json"))
    found = verify_bundle(make_bundle(folder), "answer", asked=asked, now_ns=asked.challenge.issued_ns + HOUR_NS)
    assert outcomes(found)["nonces sent"] == "fails"


def test_another_challenge_than_the_bundles_own_is_told(answer: tuple[Path, str]) -> None:
    asked = load_challenge(str(answer[0] / "c.json")).challenge
    found = look(answer[0], asked.model_copy(update={"expires_ns": asked.expires_ns + 1}))
    assert outcomes(found)["challenge"] == "fails"
    assert (answer[0] / "c.json").read_bytes() == next((answer[0] / "reports" / "far-away").iterdir()).joinpath(
        CHALLENGE
    ).read_bytes()


def challenge(**fields: object) -> Challenge:
    """A challenge that was never sent."""
    nonce = "ab" * 16
    shared = {
        "nonce": nonce,
        "issued": "2026-12-01T00:00:00+00:00",
        "issued_ns": 1,
        "expires": "2026-12-02T00:00:00+00:00",
    }
    shared |= {
        "expires_ns": 2,
        "claim": CLAIM,
        "case": "far-away",
        "prompts": coded(drawn(nonce), nonce),
        "tokens": 9,
        "repeats": 1,
    }
    return Challenge.model_validate({**shared, **fields})


def test_prompts_and_codes_follow_from_the_nonce_and_no_other_challenge_has_them() -> None:
    one, other = drawn("ab" * 16), drawn("cd" * 16)
    assert one == drawn("ab" * 16)
    assert not {prompt.messages[0].content for prompt in one} & {prompt.messages[0].content for prompt in other}
    assert len({code_of(nonce, index) for nonce in ("ab" * 16, "cd" * 16) for index in range(5)}) == 10
    first: Prompt = coded(one, "ab" * 16)[0]
    assert code_of("ab" * 16, 0) in first.messages[-1].content


def test_no_byte_of_a_challenge_changes_unseen(make_key: Callable[..., str]) -> None:
    data = issue(challenge(), [read_private(make_key("reviewer"), str)])
    for at in range(0, len(data), 7):
        changed = bytearray(data)
        changed[at] ^= 1
        with pytest.raises(EvidenceError):
            open_challenge(bytes(changed), "c.json")


@pytest.mark.parametrize(
    "change",
    [
        {"tokens": 0},
        {"repeats": 10**9},
        {"nonce": "../.."},
        {"prompts": []},
        {"streams": 0},
        {"more": 1},
        {"challenge_version": 2},
    ],
)
def test_challenges_that_are_none_are_refused(change: dict[str, object]) -> None:
    payload = orjson.loads(challenge().statement())
    payload["predicate"] |= change
    with pytest.raises(EvidenceError):
        read_challenge(orjson.dumps(payload), "c.json")


def test_what_cannot_be_answered_is_refused_before_anything_is_sent(
    audit: Audit, make_key: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    far = 2**62
    cases = (
        (challenge(), "expired 2026-12-02"),
        (challenge(issued_ns=far, expires_ns=far), "this machine's clock has not reached"),
    )
    for one, words in cases:
        path.write_bytes(issue(one))
        refused = audit("answer", str(path), "--server", "http://127.0.0.1:1")
        assert refused.returncode == 2
        assert words in refused.stderr
    path.write_bytes(issue(challenge(expires_ns=far)))
    shown = audit("answer", str(path), "--server", "http://127.0.0.1:1", "--dry-run")
    assert shown.returncode == 0
    assert "far-away: the claim's streams, 1 repeat, 9 tokens an answer" in shown.stdout
    assert f'Begin your answer with the line "Code {code_of("ab" * 16, 4)}".' in shown.stdout
    unsigned = audit("answer", str(path), "--server", "http://127.0.0.1:1", "--key", f"{make_key('reviewer')}.pub")
    assert unsigned.returncode == 2
    assert "is not signed with the given key" in unsigned.stderr
    gone = audit("answer", str(path), "--server", "http://127.0.0.1:1", "--reports", str(tmp_path / "reports"))
    assert gone.returncode == 5
    assert not (tmp_path / "reports").exists()
    path.write_text("{}")
    assert audit("answer", str(path), "--server", "http://127.0.0.1:1").returncode == 2


def test_own_prompts_are_asked_with_their_codes(audit: Audit, tmp_path: Path) -> None:
    (tmp_path / "claim.yaml").write_text(CLAIM)
    (tmp_path / "own.jsonl").write_text('{"prompt": "Say something that nobody asked."}\n')
    out = tmp_path / "c.json"
    made = audit("challenge", str(tmp_path / "claim.yaml"), "--prompts", str(tmp_path / "own.jsonl"), "--out", str(out))
    assert made.returncode == 0, made.stderr
    asked = load_challenge(str(out)).challenge
    (only,) = asked.prompts
    assert only.messages[0].content.startswith("Say something that nobody asked.")
    assert code_of(asked.nonce, 0) in only.messages[0].content
    assert asked.expires_ns - asked.issued_ns == 72 * HOUR_NS
    with pytest.raises(UsageError):
        load_challenge(str(tmp_path / "none.json"))
