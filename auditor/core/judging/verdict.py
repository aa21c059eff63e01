"""The verdict: what a run says of a claim, with everything that a reader needs to check it."""

from typing import Literal

from auditor.core.bases import BasisValue
from auditor.core.counting.gaps import GapSummary
from auditor.core.counting.tally import Identity, Tally
from auditor.core.explain.record import Explanation
from auditor.core.judging.ceiling import Ceiling
from auditor.core.judging.compare import Comparison
from auditor.core.record import Record
from auditor.core.stats import Estimate
from auditor.terms import Outcome, VerdictKind

Gravity = Literal["dirty", "invalid", "thin", "unconfirmed", "note"]
"""What a failed check does to the verdict: `dirty` evidence proves nothing, `invalid` output is no throughput, `thin`
evidence proves neither reproduction nor its absence, `unconfirmed` counts cannot carry a reproduction, a `note` changes
nothing."""


class Finding(Record):
    """One small check."""

    id: str
    outcome: Outcome
    gravity: Gravity
    sentence: str
    remedy: str | None = None


class Claimed(Record):
    """What was claimed, as it was read."""

    claim: str
    case: str
    title: str
    text: str
    """The number in the claim's own words."""
    low: float | None
    high: float | None
    """The interval that the claim's rounding allows, tokens per second."""
    basis: str | None
    """The basis as stated; None when it is not."""
    judged_on: str
    """Id of the counting basis on which it is judged."""
    judged_because: str
    disputed_by: str | None = None
    source: str | None = None


class CellSummary(Record):
    """One cell, in the figures that a report shows."""

    cell: str
    server: str
    role: str
    streams: int
    repeats: int
    speculation: str
    """How the server speculates: `ngram-simple, k = 8`, `off`, `not known`."""
    tally: Tally
    rejected: int | None
    identity: Identity
    decode_rate: Estimate | None
    """Delivered after the first event, tokens per second of one stream."""
    system_rate: Estimate | None
    """Delivered by all streams over one window, tokens per second."""
    acceptance_rate: float | None
    acceptance_length: float | None
    accepted_by_position: tuple[int, ...] | None
    ttft_ms: Estimate | None
    effective_streams: float | None


class PairSummary(Record):
    """The same load on two servers: does speculation help here?"""

    cell: str
    reference: str
    ratio: float
    """Decode rate with speculation by decode rate without."""
    low: float | None
    high: float | None
    sentence: str


class NotLookedAt(Record):
    """A part of an audit that this run went without."""

    part: str
    why: str
    """From the run's own folder."""


class RunSummary(Record):
    """The run behind the verdict."""

    run: str
    tool_version: str
    started: str
    """UTC, ISO 8601."""
    plan_digest: str
    wire_digest: str
    quick: bool
    rehearsal: bool
    partial: bool
    server: str
    """Base address without credentials."""
    server_kind: str
    command: str
    """The command that repeats the run."""


class Verdict(Record):
    """`verdict.json`."""

    verdict_version: Literal[1] = 1
    kind: VerdictKind
    exit_code: int
    sentence: str
    """The verdict in one sentence."""
    reasons: tuple[str, ...]
    """What it rests on, the weightiest first."""
    run: RunSummary
    claimed: Claimed
    delivered: BasisValue | None
    """What was measured on the basis on which the claim is judged."""
    factor: float | None
    """Claimed by delivered, from the middle of the claim."""
    bases: tuple[BasisValue, ...]
    matching: tuple[str, ...]
    """Ids of the bases whose interval meets the claim's."""
    matching_caution: str
    explanation: Explanation | None
    """The claim laid beside every rule, forwards and backwards; None where the claim states no number or nothing was
    measured."""
    comparisons: tuple[Comparison, ...]
    findings: tuple[Finding, ...]
    cells: tuple[CellSummary, ...]
    pairs: tuple[PairSummary, ...]
    gaps: GapSummary
    """Gaps between events, steps and tokens of the judged cell."""
    by_kind: dict[str, Estimate]
    """Decode rate of the judged cell by kind of prompt, tokens per second; over single answers."""
    unknown: tuple[str, ...]
    """What could not be known."""
    not_looked_at: tuple[NotLookedAt, ...] = ()
    """What this run did not look at, and why."""
    questions: tuple[str, ...]
    """What to ask the claimant."""
    ceiling: Ceiling | None = None
    """The claim beside what its hardware can do: it judges the claim, and the kind judges the measurement."""
