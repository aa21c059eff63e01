"""Challenges as files: issued and opened in their envelope, and laid beside the run that answers one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.core.bundle.verification import Check
from auditor.core.challenge.answered import Answer, answered
from auditor.core.challenge.challenge import MOST_BYTES, Challenge, read_challenge
from auditor.core.counting.account import Account
from auditor.core.folder import CHALLENGE, MANIFEST, TELEMETRY, WIRE, RunFolder, write
from auditor.core.record import canonical_json
from auditor.core.wire.log import read_wire
from auditor.errors import EvidenceError, UsageError
from auditor.publish.envelope import opened, sealed
from auditor.publish.keys import PublicKey, fingerprint
from auditor.terms import Outcome

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


@dataclass(frozen=True, slots=True)
class Asked:
    """A challenge that was opened."""

    challenge: Challenge
    data: bytes
    """The file."""
    keys: tuple[str, ...]
    """The keys that signed it."""

    def issuer(self, trusted: Sequence[PublicKey]) -> str:
        """Who issued it, in words."""
        names = {one.key: one.name or "the given key" for one in trusted}
        known = next((key for key in self.keys if key in names), None)
        if known is not None:
            return f"issued by {names[known]}, {fingerprint(known)}"
        if self.keys:
            return f"issued by the key {' and '.join(map(fingerprint, self.keys))}, whose owner was not asked"
        return "not signed"


def issue(challenge: Challenge, signers: "Sequence[Ed25519PrivateKey]" = ()) -> bytes:
    """The challenge's file; raises UsageError where it would be larger than is read."""
    data = sealed(challenge.statement(), signers)
    if len(data) > MOST_BYTES:
        raise UsageError(f"the prompts are more than {MOST_BYTES >> 20} MiB", remedy="give fewer or shorter --prompts")
    return data


def open_challenge(data: bytes, where: str) -> Asked:
    """Open a challenge's file; raises EvidenceError where a byte of it was changed."""
    if len(data) > MOST_BYTES:
        raise EvidenceError(f"is larger than {MOST_BYTES >> 20} MiB", where=where, remedy="a challenge is smaller")
    seal = opened(data, where)
    return Asked(read_challenge(seal.payload, where), data, seal.keys)


def load_challenge(path: str) -> Asked:
    """Open the challenge at a path; raises UsageError where it cannot be read or is none."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})", where=path, remedy="name a challenge") from None
    try:
        return open_challenge(data, path)
    except EvidenceError as error:
        raise UsageError(error.what, where=path, remedy="ask for the file again") from None


def beside_challenge(
    given: Asked | None,
    files: Mapping[str, bytes],
    folder: Path,
    account: Account,
    trusted: Sequence[PublicKey],
    now_ns: int,
) -> list[Check]:
    """The run in a folder beside the challenge that was given, else beside the copy that the run brought along.

    Empty where there is neither. Raises AuditError for evidence that cannot be read.
    """
    own = files.get(CHALLENGE)
    if given is None and own is None:
        return []
    try:
        asked = open_challenge(own or b"", CHALLENGE) if given is None else given
    except EvidenceError as error:
        return [Check(id="challenge", outcome=Outcome.FAILS, sentence=str(error))]
    run = RunFolder(folder)
    plan, record, facts = run.plan(), run.run(), run.facts()
    answer = Answer(
        plan=plan,
        facts=facts,
        record=record,
        account=account,
        wire=read_wire(folder / WIRE).records,
        hardware=run.hardware(),
        has_telemetry=bool(files.get(TELEMETRY)),
    )
    return [_which(asked, own, trusted, is_given=given is not None), *answered(asked.challenge, answer, now_ns)]


def _which(asked: Asked, own: bytes | None, trusted: Sequence[PublicKey], *, is_given: bool) -> Check:
    """Which challenge the run is laid beside."""
    words = f"challenge {asked.challenge.nonce[:8]} of {asked.challenge.issued}, {asked.issuer(trusted)}"
    if not is_given:
        remedy = "give --challenge FILE with the one that you issued"
        return Check(id="challenge", outcome=Outcome.HOLDS, sentence=f"{words}; the bundle's own copy", remedy=remedy)
    if own is not None and own != asked.data:
        words += "; the copy in the bundle is another"
        return Check(id="challenge", outcome=Outcome.FAILS, sentence=words)
    return Check(id="challenge", outcome=Outcome.HOLDS, sentence=words)


def keep_challenge(folder: Path, asked: Asked) -> None:
    """Put the challenge into the folder of the run that answers it."""
    write(folder, CHALLENGE, asked.data)
    write(folder, MANIFEST, canonical_json(RunFolder(folder).manifest()))
