"""`review.json`: a claim, what each piece shows, and one verdict under what the evidence can carry."""

from typing import Literal

from auditor.core.enginelogs.ofclaim import OfClaim
from auditor.core.enginelogs.result import LogReading
from auditor.core.explain.record import Explanation
from auditor.core.forks.answers import Answer
from auditor.core.forks.review import ClassCount
from auditor.core.imports.claimed import Beside
from auditor.core.imports.record import Figure, Grade, ImportFinding, Original
from auditor.core.inspection.record import Inspection
from auditor.core.judging.ceiling import Ceiling
from auditor.core.record import Record
from auditor.terms import VerdictKind

REVIEW, REPORT_TEXT = "review.json", "report.md"
"""In the folder of a review: the record, and the report to paste."""
FORMAT = "review"
"""In the database's table of imports, the format of a row that is a review."""


class Said(Record):
    """What one piece says of the claim by itself, under the cap of its grade."""

    verdict: VerdictKind
    sentence: str
    reasons: tuple[str, ...] = ()
    meets_own_basis: bool = False
    """Whether it holds the claimed number on the basis on which the claim is judged."""


class ResultPiece(Record):
    """One result of a file."""

    name: str
    grade: Grade
    grade_because: str
    counted_by: str
    model: str | None
    requests: int
    wrong: tuple[ImportFinding, ...]
    """Figures that are something else than a reader takes them for, with the right ones beside."""
    figures: tuple[Figure, ...]
    """Printed rates."""
    missing: tuple[str, ...]


class ImportPiece(Record):
    """A result file."""

    tool: str
    tool_version: str | None
    format: str
    grade: Grade
    originals: tuple[Original, ...]
    results: tuple[ResultPiece, ...]
    """The first, at most `MOST_RESULTS`."""
    more_results: int
    beside: tuple[Beside, ...]
    """The results that say most of the claim, the best first."""
    inspection: Inspection
    said: Said


class LogPiece(Record):
    """An engine's log. Its bytes are not kept: it may hold prompts and addresses."""

    reading: LogReading
    of_claim: OfClaim
    explanation: Explanation | None
    """From the delivered rate of its intervals; None where it does not tell one stream."""
    no_explanation: str | None
    said: Said


class ForkPiece(Record):
    """A fork, as its commits and the answers."""

    name: str
    upstream: str | None
    head: str
    base: str | None
    is_sure: bool
    """Whether a common history shows what is the fork's own."""
    is_claimed: bool | None
    """Whether the claim names this commit; None where it names none."""
    ahead: int
    files: int
    lines: int
    classes: tuple[ClassCount, ...]
    answers: tuple[Answer, ...]
    notes: tuple[str, ...]
    rules: str
    """SHA-256 of the rules and questions."""


class Review(Record):
    """The whole."""

    review_version: Literal[1] = 1
    review: str
    """`review-` and twelve digits over the claim, the row and the pieces."""
    tool_version: str
    claim: str
    case: str
    title: str
    claimed: str
    """The number in the claim's own words."""
    low: float | None
    high: float | None
    basis: str | None
    source: str | None
    disputed_by: str | None
    claim_digest: str
    grade: Grade
    """Of the best piece that is of the claim."""
    verdict: VerdictKind
    exit_code: int
    sentence: str
    reasons: tuple[str, ...]
    contradictions: tuple[str, ...]
    """Where pieces, or a piece and the claim, do not fit each other."""
    switches: tuple[str, ...]
    """Switches that force or relax the acceptance of drafts, in the stated launch or in a log."""
    ceiling: Ceiling
    imports: tuple[ImportPiece, ...]
    logs: tuple[LogPiece, ...]
    forks: tuple[ForkPiece, ...]
    unknown: tuple[str, ...]
    questions: tuple[str, ...]
