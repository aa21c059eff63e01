"""The judge: from claim, plan, facts and account to the verdict. Pure: the same folder gives the same bytes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from auditor.core.bases import BasisValue, Extras, Load, bases_of, find
from auditor.core.checks import Context, run_checks
from auditor.core.claim.claim import Case, Claim
from auditor.core.claim.questions import questions_for
from auditor.core.counting.account import Account
from auditor.core.counting.gaps import gap_summary
from auditor.core.explain.cell import explain_cell
from auditor.core.explain.matching import CAUTION
from auditor.core.explain.record import Witness
from auditor.core.facts import RunFacts
from auditor.core.folder import Recount
from auditor.core.hardware import HostHardware
from auditor.core.hardware.judged import hardware_findings
from auditor.core.hardware.telemetry import Sample, telemetry_findings
from auditor.core.judging.basis import judged_basis
from auditor.core.judging.compare import Comparison, compare, differing
from auditor.core.judging.decide import decide
from auditor.core.judging.notlooked import not_looked_at
from auditor.core.judging.runtraps import trap_findings
from auditor.core.judging.summary import by_kind, cell_summaries, pair_summaries
from auditor.core.judging.switches import switches_finding
from auditor.core.judging.verdict import Claimed, Finding, RunSummary, Verdict
from auditor.core.physics.laidbeside import ceiling_of
from auditor.core.plan.plan import Plan
from auditor.core.record import six
from auditor.core.runlog import Timeline, with_log_facts
from auditor.core.stats import Estimate
from auditor.core.validity.canaries import Canaries, Reference
from auditor.terms import Match, Outcome


@dataclass(frozen=True, slots=True)
class Beside:
    """What lies beside the wire log in a run folder; None for what is not there."""

    witnesses: Sequence[Witness] = ()
    """What speaks for what the claimant counted."""
    timeline: Timeline | None = None
    """The measured server's own log."""
    hardware: HostHardware | None = None
    """The GPUs of its machine."""
    telemetry: Sequence[Sample] | None = None
    """The same during the run."""
    recount: Recount | None = None
    """The text, tokenised again."""
    canaries: Canaries | None = None
    """Questions with known answers."""
    reference: Reference | None = None
    """Those of another run of the same model."""
    left_out: Mapping[str, str] = field(default_factory=dict)
    """Why a part was left out, as the run noted it."""


def judge(
    claim: Claim,
    case: Case,
    plan: Plan,
    facts: RunFacts,
    account: Account,
    run: RunSummary,
    beside: Beside = Beside(),
) -> Verdict:
    """Judge a claim on the evidence of a run."""
    subject = plan.subject
    timeline, recount = beside.timeline, beside.recount
    told = facts if timeline is None else with_log_facts(facts, timeline.log)
    cell = account.ledger.cell(subject.key)
    server = told.servers[subject.server]
    load = Load(subject.streams, _gpus(server.value("gpu_count"), case.hardware.count))
    lines = [line for line in account.ledger.exchanges if line.cell == subject.key]
    log_rates = timeline.rates(cell) if timeline and cell else {}
    extras = Extras(recounted=recount.recounted() if recount else {}, log_rates=log_rates)
    bases = bases_of(cell, load, lines, extras) if cell else ()
    judged_on, because = judged_basis(case, load)
    delivered = find(bases, judged_on)
    estimate = delivered.estimate if delivered else None
    context = Context(plan, facts, account, estimate, timeline, beside.canaries, beside.reference)
    findings = [*run_checks(context), switches_finding(case)]
    if "traps" not in beside.left_out:
        findings += trap_findings(server, timeline.log if timeline else None, beside.hardware)
    if beside.hardware is not None:
        findings += hardware_findings(case, server, beside.hardware)
    if beside.telemetry is not None:
        findings += telemetry_findings(beside.telemetry, lines)
    rows = compare(case, server, plan, subject, cell)
    claimed = _claimed(claim, case, judged_on, because)
    limit = plan.tolerance.max_half_width
    explanation = None
    if cell:
        explanation = explain_cell(
            case,
            cell,
            load,
            bases,
            delivered_id=judged_on,
            limit=limit,
            is_comparable=not plan.rehearsal and not differing(rows),
            witnesses=beside.witnesses,
        )
    matching = explanation.matches if explanation else ()
    backed = explanation.explained_by if explanation else ()
    decision = decide(claimed, delivered, findings, rows, matching, bases, plan, backed=backed)
    return Verdict(
        kind=decision.kind,
        exit_code=int(decision.kind.exit_code),
        sentence=decision.sentence,
        reasons=decision.reasons,
        run=run,
        claimed=claimed,
        delivered=delivered,
        factor=_factor(claimed, estimate),
        bases=bases,
        matching=matching,
        matching_caution=f"{explanation.chance_words} {CAUTION}" if explanation else CAUTION,
        explanation=explanation,
        comparisons=rows,
        findings=tuple(findings),
        cells=cell_summaries(plan, facts, account.ledger),
        pairs=pair_summaries(plan, facts, account.ledger),
        gaps=gap_summary(account.counted, subject.key),
        by_kind=by_kind(plan, account.ledger),
        unknown=_unknown(rows, findings, bases),
        not_looked_at=not_looked_at(
            plan,
            facts.servers[subject.server],
            account,
            findings,
            beside.left_out,
            hardware=beside.hardware,
            telemetry=beside.telemetry,
            timeline=timeline,
            recount=recount,
            canaries=beside.canaries,
        ),
        questions=questions_for(case),
        ceiling=ceiling_of(case),
    )


def _claimed(claim: Claim, case: Case, judged_on: str, because: str) -> Claimed:
    low, high = case.reported.interval() or (None, None)
    return Claimed(
        claim=claim.id,
        case=case.id,
        title=case.title,
        text=case.reported.as_text(),
        low=low,
        high=high,
        basis=case.reported.basis.value if case.reported.basis else None,
        judged_on=judged_on,
        judged_because=because,
        disputed_by=claim.disputed_by,
        source=claim.source.url,
    )


def _factor(claimed: Claimed, estimate: Estimate | None) -> float | None:
    if estimate is None or not estimate.value or claimed.low is None or claimed.high is None:
        return None
    return six((claimed.low + claimed.high) / 2 / estimate.value)


def _unknown(rows: Sequence[Comparison], findings: Sequence[Finding], bases: Sequence[BasisValue]) -> tuple[str, ...]:
    words = [f"{row.field}: {row.reason or 'not observed'}" for row in rows if row.match is Match.UNKNOWN]
    words += [finding.sentence for finding in findings if finding.outcome is Outcome.NOT_AVAILABLE]
    missing = [basis.name for basis in bases if basis.estimate is None]
    if missing:
        words.append(f"counting rules without a figure: {'; '.join(missing)}")
    return tuple(words)


def _gpus(observed: object, stated: int | None) -> int | None:
    """The number of GPUs to divide by: the observed one, the claim's where none was observed."""
    return observed if isinstance(observed, int) and not isinstance(observed, bool) else stated
