"""What became of each row, and the state of a sweep from which it goes on."""

from collections.abc import Sequence
from typing import Literal

from auditor.core.claim.claim import Case, OutcomeStated
from auditor.core.judging.verdict import Verdict
from auditor.core.record import Record
from auditor.core.stats import Estimate
from auditor.core.sweeping.ladder import Knee, Rung
from auditor.core.sweeping.matrix import Recipe, Stop
from auditor.terms import Outcome as FindingOutcome
from auditor.terms import VerdictKind

RowOutcome = Literal["judged", "failed-to-start", "never-ready", "port-taken", "crashed", "not-measured"]
"""`judged` rows have a verdict; one that crashed has one where something was measured before."""
OUTCOMES: dict[RowOutcome, str] = {
    "judged": "it was measured and judged",
    "failed-to-start": "its process ended before it was ready, or could not be started",
    "never-ready": "it ran, and did not answer its ready check in time",
    "port-taken": "something else answered at its address before it was started",
    "crashed": "its process ended while it was measured",
    "not-measured": "it ran, and could not be measured",
}
_NO_SERVICE = (OutcomeStated.FAILED, OutcomeStated.UNSUPPORTED)


class RowResult(Record):
    """What became of one row."""

    row: str
    title: str
    case: str
    claimed: str
    """The number in the claim's own words, or what it says came out."""
    outcome: RowOutcome
    verdict: VerdictKind | None = None
    sentence: str
    """The verdict, or what happened, in one sentence."""
    judged_on: str | None = None
    """Id of the counting rule on which the claim is judged."""
    delivered: Estimate | None = None
    """On that rule, tokens per second."""
    factor: float | None = None
    """Claimed by delivered."""
    speculation: str | None = None
    acceptance_length: float | None = None
    """1 + A/S; None where the server does not tell, or does not speculate."""
    rungs: tuple[Rung, ...] = ()
    knee: Knee | None = None
    notes: tuple[str, ...] = ()
    log_lines: tuple[str, ...] = ()
    """Lines of its log that tell why, where it failed."""
    log: str
    """Its whole log, in the folder of the sweep."""
    run: str | None = None
    """Its run folder, `claim/run`, in the folder of reports."""
    ready_ns: int | None = None
    """From the start of its process to its ready check; None when it was never ready."""

    @property
    def said(self) -> str:
        """The verdict, or the outcome where there is none or it crashed."""
        return self.verdict.value if self.verdict is not None and self.outcome == "judged" else self.outcome


class Started(Record):
    """A server that was started: enough to find it again, whatever became of the tool."""

    row: str
    mark: str
    """In the environment of its processes."""
    pid: int | None = None
    """Its first process, and the number of its group; None until it runs."""
    started_ns: int | None = None
    """When that process began, since the epoch: another process of the same number began at another time."""
    stop: Stop


class State(Record):
    """`state.json`: how far a sweep got."""

    state_version: Literal[1] = 1
    sweep: str
    """Id of the sweep."""
    matrix: str
    matrix_title: str
    matrix_digest: str
    """SHA-256 of the matrix file and of the claim."""
    order: tuple[str, ...]
    """Rows of the matrix."""
    seed: int
    """Of the nonces of every row, so that all do equal work."""
    owner_pid: int
    """The tool that works on it."""
    owner_started_ns: int
    running: Started | None = None
    """The server that runs now."""
    attempts: dict[str, int] = {}
    """How often each row was begun."""
    rows: tuple[RowResult, ...] = ()
    """In the order in which they were measured."""

    @property
    def left(self) -> tuple[str, ...]:
        """Rows without a result."""
        done = {one.row for one in self.rows}
        return tuple(row for row in self.order if row not in done)


class Sweep(Record):
    """`sweep.json`: the result, from the state alone."""

    sweep_version: Literal[1] = 1
    sweep: str
    matrix: str
    title: str
    matrix_digest: str
    seed: int
    rows: tuple[RowResult, ...]
    """In the order of the matrix."""
    left: tuple[str, ...]
    """Rows that were not measured yet."""


def sweep_of(state: State) -> Sweep:
    """The result as far as it goes."""
    by_row = {one.row: one for one in state.rows}
    return Sweep(
        sweep=state.sweep,
        matrix=state.matrix,
        title=state.matrix_title,
        matrix_digest=state.matrix_digest,
        seed=state.seed,
        rows=tuple(by_row[row] for row in state.order if row in by_row),
        left=state.left,
    )


def failed_row(
    recipe: Recipe, case: Case, outcome: RowOutcome, sentence: str, log: str, lines: Sequence[str], ready_ns: int | None
) -> RowResult:
    """The row of a server that gave nothing to judge."""
    said = case.reported.outcome in _NO_SERVICE
    return RowResult(
        row=recipe.row,
        title=recipe.title,
        case=recipe.case,
        claimed=case.reported.as_text(),
        outcome=outcome,
        sentence=sentence,
        notes=(f"the claim says {case.reported.outcome} too",) if said else (),
        log_lines=tuple(lines),
        log=log,
        ready_ns=ready_ns,
    )


def judged_row(
    recipe: Recipe,
    case: Case,
    verdict: Verdict,
    rungs: tuple[Rung, ...],
    knee: Knee | None,
    *,
    run: str,
    log: str,
    ready_ns: int,
) -> RowResult:
    """The row of a server that was measured."""
    subject = next((cell for cell in verdict.cells if cell.role == "subject"), None)
    is_expected = case.reported.outcome in (OutcomeStated.GARBAGE, OutcomeStated.NAN)
    notes = [f"the claim says {case.reported.outcome} too"] if is_expected and _is_invalid(verdict) else []
    notes += [word for word in ("rehearsal", "quick", "partial") if getattr(verdict.run, word)]
    notes += [
        finding.sentence
        for finding in verdict.findings
        if finding.outcome is FindingOutcome.FAILS and finding.gravity in ("dirty", "invalid")
    ]
    return RowResult(
        row=recipe.row,
        title=recipe.title,
        case=recipe.case,
        claimed=verdict.claimed.text,
        outcome="judged",
        verdict=verdict.kind,
        sentence=verdict.sentence,
        judged_on=verdict.claimed.judged_on,
        delivered=verdict.delivered.estimate if verdict.delivered else None,
        factor=verdict.factor,
        speculation=subject.speculation if subject else None,
        acceptance_length=subject.acceptance_length if subject else None,
        rungs=rungs,
        knee=knee,
        notes=tuple(notes),
        log=log,
        run=run,
        ready_ns=ready_ns,
    )


def _is_invalid(verdict: Verdict) -> bool:
    return verdict.kind is VerdictKind.INVALID_OUTPUT
