"""What a bundle says of its files: an in-toto statement that follows from them, so that it can be made again."""

from collections.abc import Mapping
from typing import Literal

from pydantic import ValidationError

from auditor.core.bundle.pack import STATEMENT
from auditor.core.folder import CHALLENGE, PLAN, VERDICT, WIRE
from auditor.core.judging.verdict import Verdict
from auditor.core.record import Record, canonical_json, sha256
from auditor.errors import EvidenceError

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
RUN_TYPE = "urn:auditor:run:v1"
"""Type of the predicate: what was measured, and what came out."""


class BundleNote(Record):
    """`bundle.json`: what made the bundle."""

    bundle_version: Literal[1] = 1
    tool_version: str
    tool_digest: str
    """SHA-256 over the tool's own code: it tells two tools of one version apart."""


def statement(subjects: Mapping[str, str], kind: str, predicate: Mapping[str, object]) -> bytes:
    """An in-toto statement, version 1, in canonical JSON; `subjects` gives SHA-256 by name."""
    return canonical_json(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": name, "digest": {"sha256": subjects[name]}} for name in sorted(subjects)],
            "predicateType": kind,
            "predicate": predicate,
        }
    )


def run_statement(files: Mapping[str, bytes]) -> bytes:
    """The statement about the files of a bundle; raises EvidenceError where the verdict cannot be read."""
    try:
        verdict = Verdict.from_json(files[VERDICT])
    except (KeyError, ValidationError):
        raise EvidenceError("is missing, damaged or from a newer version", where=VERDICT) from None
    digests = digests_of(files)
    predicate = {
        "claim": verdict.claimed.claim,
        "case": verdict.claimed.case,
        "run": verdict.run.run,
        "started": verdict.run.started,
        "verdict": verdict.kind.value,
        "sentence": verdict.sentence,
        "plan": digests.get(PLAN),
        "wire": digests.get(WIRE),
        "challenge": digests.get(CHALLENGE),
    }
    return statement(digests, RUN_TYPE, predicate)


def digests_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """SHA-256 of every file of a bundle but the statement."""
    return {name: sha256(data) for name, data in files.items() if name != STATEMENT}


def changed_files(stated: Mapping[str, str], found: Mapping[str, str], where: str) -> list[str]:
    """What is not as stated, a sentence for each file; both give SHA-256 by name, `where` says what states it."""
    changed = sorted(name for name in stated if name in found and found[name] != stated[name])
    return [
        *(f"{name} is not what {where} states: a byte of it, or of its digest there, was changed" for name in changed),
        *(f"{name} is stated in {where} and is not there" for name in sorted(stated.keys() - found.keys())),
        *(f"{name} is there and is not stated in {where}" for name in sorted(found.keys() - stated.keys())),
    ]
