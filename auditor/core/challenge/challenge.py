"""The challenge itself: a claim, prompts that nobody has seen, settings, and the time in which it is to be answered."""

from typing import Literal

import orjson
from pydantic import Field, ValidationError

from auditor.core.bundle.statement import statement
from auditor.core.claim.claim import Case, parse_claim
from auditor.core.plan.making import Wishes
from auditor.core.plan.promptfile import MAX_PROMPTS
from auditor.core.plan.prompts import Prompt
from auditor.core.record import Record, sha256
from auditor.errors import EvidenceError

CHALLENGE_TYPE = "urn:auditor:challenge:v1"
"""Type of the predicate."""
MOST_BYTES = 16 << 20


class Challenge(Record):
    """What a reviewer asks; everything that is sent follows from it and from what the server says of itself."""

    challenge_version: Literal[1] = 1
    nonce: str = Field(pattern="^[0-9a-f]{32}$")
    """Drawn for this challenge alone."""
    issued: str
    """UTC, ISO 8601, by the reviewer's clock."""
    issued_ns: int
    expires: str
    expires_ns: int
    claim: str
    """The text of the claim file."""
    case: str
    """Id of the measurement of the claim."""
    prompts: tuple[Prompt, ...] = Field(min_length=1, max_length=MAX_PROMPTS)
    """As they are asked for, codes included."""
    streams: int | None = Field(default=None, ge=1, le=100_000)
    """Requests in flight; None leaves it to the claim."""
    tokens: int = Field(ge=1, le=1_000_000)
    """Length of each answer."""
    repeats: int = Field(ge=1, le=1000)
    temperature: float | None = None
    """None leaves it to the claim."""
    ignore_eos: bool = True

    @property
    def seed(self) -> int:
        """The seed of the plan, from which the nonce of each request follows."""
        return int(sha256(self.nonce.encode())[:12], 16)

    @property
    def wishes(self) -> Wishes:
        """The settings as they go into a plan."""
        return Wishes(
            streams=self.streams,
            tokens=self.tokens,
            repeats=self.repeats,
            prompts=self.prompts,
            suite=False,
            temperature=self.temperature,
            ignore_eos=self.ignore_eos,
        )

    def the_case(self) -> Case:
        """The measurement of the claim that is asked for; raises ClaimError or UsageError."""
        return parse_claim(self.claim, "the challenge's claim").case(self.case)

    def statement(self) -> bytes:
        """The in-toto statement that is signed: about the claim, with the challenge as its predicate."""
        return statement({"claim.yaml": sha256(self.claim.encode())}, CHALLENGE_TYPE, self.model_dump(mode="json"))


def read_challenge(payload: bytes, where: str) -> Challenge:
    """The challenge in a statement; raises EvidenceError where it is none, or its claim is none."""
    try:
        found = Challenge.model_validate(orjson.loads(payload)["predicate"])
    except (ValidationError, ValueError, KeyError, TypeError):
        found = None
    if found is None or found.statement() != payload:
        raise EvidenceError("is no challenge that this tool reads", where=where, remedy="see that it is the whole file")
    return found
