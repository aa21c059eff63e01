"""What the store takes and gives: frozen records of plain values.

They repeat the columns of `auditor.db.tables` and know neither SQLAlchemy nor the records of the road, so that the
conductor can fill them without either. None means not known.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ClaimRevision:
    """What became of a claim that was added."""

    claim_id: str
    revision: int
    digest: str
    is_new: bool
    """False when this text was stored before."""


@dataclass(frozen=True, slots=True)
class ClaimSummary:
    """A claim in a list."""

    claim_id: str
    title: str
    revision: int
    """The current one."""
    added_ns: int
    """When the current revision was first stored."""
    runs: int
    """Of all revisions."""
    last_verdict: str | None
    """Of the newest run that has one."""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One run."""

    run_id: str
    claim_id: str
    claim_revision: int
    plan_digest: str
    folder: str
    started_ns: int
    finished_ns: int | None = None
    quick: bool = False
    rehearsal: bool = False
    partial: bool = False
    status: str = "finished"


@dataclass(frozen=True, slots=True)
class ServerRow:
    """A server of a run."""

    key: str
    """Name within the run: `subject`, `plain`, ..."""
    url: str
    """Credentials, query and fragment are dropped before it is stored."""
    kind: str
    version: str | None
    seen_ns: int


@dataclass(frozen=True, slots=True)
class ExchangeRow:
    """One exchange of a run, in sum."""

    exchange: int
    cell: str
    status: str
    request: int | None = None
    delivered: int | None = None
    rung: str | None = None
    drafted: int | None = None
    accepted: int | None = None
    rejected: int | None = None
    verify_steps: int | None = None
    events: int | None = None
    ttft_ns: int | None = None
    e2e_ns: int | None = None
    decode_rate: float | None = None
    """Tokens per second."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """The ledger of one cell of a run."""

    cell: str
    document: dict[str, Any]
    delivered: int | None = None
    first: int | None = None
    plain_steps: int | None = None
    verify_steps: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    rejected: int | None = None
    overshoot: int | None = None


@dataclass(frozen=True, slots=True)
class FindingRow:
    """What one check found; the order of the sequence is kept."""

    check_id: str
    outcome: str
    sentence: str
    remedy: str | None = None


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """One judgement."""

    kind: str
    exit_code: int
    sentence: str
    judged_ns: int
    document: dict[str, Any]
    digest: str
    """Of `verdict.json`; the same digest as the last one is not stored again."""
    claimed_low: float | None = None
    claimed_high: float | None = None
    delivered: float | None = None
    delivered_low: float | None = None
    delivered_high: float | None = None
    unit: str | None = None
    """Of the claimed and delivered figures."""


@dataclass(frozen=True, slots=True)
class JudgementRow:
    """A verdict that a run has or had, in a list."""

    run_id: str
    seq: int
    """Counts from 1 within the run; the highest stands."""
    kind: str
    sentence: str
    judged_ns: int


@dataclass(frozen=True, slots=True)
class ArtefactRow:
    """A file of the run folder."""

    name: str
    """Path within the folder."""
    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class AmendmentRow:
    """A reply, correction or withdrawal."""

    seq: int
    kind: str
    text: str
    by: str | None
    url: str | None
    at_ns: int
    digest: str
    """Of its line in `amendments.jsonl`."""


@dataclass(frozen=True, slots=True)
class ImportRow:
    """A result file that was imported."""

    folder: str
    """Where its record and its bytes are."""
    import_id: str
    claim_id: str | None
    """The claim that it was laid beside; None without one."""
    format: str
    tool: str
    grade: str
    sha256: str
    """Of its first file."""
    bytes: int
    """Of all its files."""
    imported_ns: int
    verdict: str | None
    sentence: str | None


@dataclass(frozen=True, slots=True)
class RunSummary:
    """A run in a list; what belongs to the verdict is None where there is none yet."""

    run_id: str
    claim_id: str
    claim_revision: int
    started_ns: int
    verdict: str | None
    exit_code: int | None
    sentence: str | None
    delivered: float | None
    unit: str | None
    folder: str
    quick: bool
    rehearsal: bool
    partial: bool
    amendments: tuple[str, ...] = ()
    """Kinds of what was said of the verdict since, the oldest first."""
