"""One audit, as asked for: what the conductor of the stages is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from auditor.capture.access import Access, access_to
from auditor.capture.local import LocalServer
from auditor.capture.telemetry import Sampler
from auditor.core.claim.claim import Case, Claim
from auditor.core.facts import Api
from auditor.core.hardware import HostHardware
from auditor.core.judging.notlooked import Part
from auditor.core.plan.making import Wishes


@dataclass(frozen=True, slots=True)
class ServerChoice:
    """A server to measure."""

    key: str
    url: str = field(repr=False)
    """Its address, with user and password where it wants them."""
    launched: LocalServer | None = None
    """The embedded server behind it, where this tool started it."""


@dataclass(frozen=True, slots=True)
class Job:
    """One audit, as asked for."""

    claim: Claim
    case: Case
    claim_bytes: bytes
    servers: tuple[ServerChoice, ...]
    """The subject first; then, with it, servers without speculation or other extras."""
    wishes: Wishes
    run: str
    """Id of the run."""
    started_ns: int
    """Since the epoch."""
    seed: int
    folder: Path
    command: str
    api_key: str | None = field(default=None, repr=False)
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """What else must never be written down."""
    api: Api = "chat"
    model: str | None = None
    kind: str | None = None
    tokenizer: str | None = None
    other_tokenizer: str | None = None
    """One that is not the model's, to see whether a number was counted with it."""
    server_log: str | None = None
    """The subject's own log: a file, or `-`; by default that of an embedded server."""
    hardware: HostHardware | None = None
    """The GPUs of the subject's machine."""
    sampler: Sampler | None = field(default=None, repr=False)
    """What samples them while the run is measured."""
    canaries: bool = False
    """Whether questions with known answers are asked before and after."""
    without: frozenset[Part] = frozenset()
    """Parts that are switched off."""
    left_out: Mapping[Part, str] = field(default_factory=dict)
    """Parts that are switched off or were not asked for, and by what."""

    def access(self) -> dict[str, Access]:
        """How each server is reached; raises UsageError."""
        return {choice.key: access_to(choice.url, api_key=self.api_key) for choice in self.servers}
