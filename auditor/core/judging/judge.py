"""The judge: from claim, plan, facts and account to the verdict. Pure: the same folder gives the same bytes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from auditor.core.bases import BasisValue, Extras, Load, bases_of, find
from auditor.core.checks import Context, run_checks
from auditor.core.claim.claim import Basis, Case, Claim, Window
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
from auditor.core.judging.compare import Comparison, compare, differing, unobserved
from auditor.core.judging.summary import by_kind, cell_summaries, pair_summaries
from auditor.core.judging.verdict import Claimed, Finding, Gravity, RunSummary, Verdict
from auditor.core.physics.laidbeside import ceiling_of
from auditor.core.plan.plan import Plan
from auditor.core.record import six
from auditor.core.runlog import Timeline, with_log_facts
from auditor.core.stats import Estimate
from auditor.terms import Match, Outcome, VerdictKind

_BASIS_IDS = {
    Basis.DECODE: "delivered/decode",
    Basis.PER_USER: "delivered/decode",
    Basis.REQUEST: "delivered/request",
    Basis.OUTPUT: "delivered/system",
    Basis.AGGREGATE: "delivered/system",
    Basis.TOTAL: "total/system",
    Basis.PEAK: "peak/second",
    Basis.DRAFTED: "drafted/decode",
    Basis.CHUNKS: "events/decode",
}
_WINDOW_IDS = {
    Window.SEND_TO_END: "delivered/request",
    Window.RUN: "delivered/system",
    Window.BEST_SECOND: "peak/second",
}


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict's kind and why."""

    kind: VerdictKind
    sentence: str
    reasons: tuple[str, ...]


def judge(
    claim: Claim,
    case: Case,
    plan: Plan,
    facts: RunFacts,
    account: Account,
    run: RunSummary,
    witnesses: Sequence[Witness] = (),
    timeline: Timeline | None = None,
    hardware: HostHardware | None = None,
    telemetry: Sequence[Sample] | None = None,
    recount: Recount | None = None,
) -> Verdict:
    """Judge a claim on the evidence of a run; `witnesses` speak for what the claimant counted, `timeline` is the
    measured server's own log, `hardware` the GPUs of its machine, and `recount` the text tokenised again."""
    subject = plan.subject
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
    findings = run_checks(Context(plan, facts, account, estimate, timeline))
    if hardware is not None:
        findings = (*findings, *hardware_findings(case, server, hardware))
    if telemetry is not None:
        findings = (*findings, *telemetry_findings(telemetry, lines))
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
            witnesses=witnesses,
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
        findings=findings,
        cells=cell_summaries(plan, facts, account.ledger),
        pairs=pair_summaries(plan, facts, account.ledger),
        gaps=gap_summary(account.counted, subject.key),
        by_kind=by_kind(plan, account.ledger),
        unknown=_unknown(rows, findings, bases),
        questions=questions_for(case),
        ceiling=ceiling_of(case),
    )


def judged_basis(case: Case, load: Load) -> tuple[str, str]:
    """The id of the basis on which a claim is judged, and why that one."""
    found, because = _stated_basis(case, load)
    if load.streams == 1 and found.endswith("/system"):
        found = found.replace("/system", "/request")
    return found, because


def _stated_basis(case: Case, load: Load) -> tuple[str, str]:
    reported = case.reported
    if reported.per_gpu or reported.basis is Basis.PER_GPU:
        if load.gpus == 1:
            return "delivered/system", "the claim states a number per GPU, and there is one"
        return "delivered/gpu", "the claim states a number per GPU"
    if reported.basis is not None:
        return _BASIS_IDS.get(reported.basis, reported.basis.value), f"the claim states its basis: {reported.basis}"
    if reported.window in _WINDOW_IDS:
        return _WINDOW_IDS[reported.window], f"the claim states its window: {reported.window.replace('_', ' ')}"
    streams = reported.streams or case.workload.concurrency or 1
    if streams > 1:
        return "delivered/system", f"the claim states {streams} streams and no basis: all streams added"
    return "delivered/decode", "the claim states no basis: delivered tokens, decode, one stream, sustained"


def decide(
    claimed: Claimed,
    delivered: BasisValue | None,
    findings: Sequence[Finding],
    rows: Sequence[Comparison],
    matching: Sequence[str],
    bases: Sequence[BasisValue],
    plan: Plan,
    *,
    backed: Sequence[str] = (),
) -> Decision:
    """The kind of verdict, by precedence: dirty, invalid, not comparable, thin, then the number itself.

    `backed` holds the matching bases that a witness speaks for.
    """
    dirty = _sentences(findings, "dirty", Outcome.FAILS, Outcome.ERROR)
    if dirty:
        return _decision(VerdictKind.INCONCLUSIVE, "the evidence is not clean", dirty)
    invalid = _sentences(findings, "invalid", Outcome.FAILS)
    if invalid:
        return _decision(VerdictKind.INVALID_OUTPUT, "what was delivered is not valid output", invalid)
    other = [f"{row.field}: the claim states {row.stated}, observed is {row.observed}" for row in differing(rows)]
    if plan.rehearsal:
        other.append("this is a rehearsal on the embedded server, which cannot stand for the claim's hardware")
    if other:
        return _decision(VerdictKind.NOT_COMPARABLE, "this is not the thing that the claim is about", other)
    if claimed.low is None or claimed.high is None:
        return _decision(VerdictKind.INCONCLUSIVE, "the claim states no number to compare with", ())
    if delivered is None or delivered.estimate is None:
        why = delivered.reason if delivered else _no_rule(claimed.judged_on)
        return _decision(VerdictKind.INCONCLUSIVE, f"the rate on which it is judged is missing: {why}", ())
    return _by_number(claimed, delivered, findings, rows, matching, bases, backed)


def _by_number(
    claimed: Claimed,
    delivered: BasisValue,
    findings: Sequence[Finding],
    rows: Sequence[Comparison],
    matching: Sequence[str],
    bases: Sequence[BasisValue],
    backed: Sequence[str],
) -> Decision:
    low, high, estimate = claimed.low or 0.0, claimed.high or 0.0, delivered.estimate
    figure = _figure(delivered)
    thin = _sentences(findings, "thin", Outcome.FAILS, Outcome.NOT_AVAILABLE)
    if thin or estimate is None or estimate.low is None or estimate.high is None:
        words = f"{figure}, on evidence too thin to judge{_aside(estimate, claimed)}"
        return _decision(VerdictKind.INCONCLUSIVE, words, thin)
    unseen = unobserved(rows)
    open_words = [f"not observed or not stated: {', '.join(row.field for row in unseen)}"] if unseen else []
    honest = [basis for basis in bases if basis.is_honest and basis.id in matching]
    is_unlabelled = estimate.high < low and claimed.basis is None and bool(honest)
    miscounted = [basis for basis in bases if basis.id in backed and _contradicts(basis, claimed)]
    if miscounted and not is_unlabelled:
        names = " and ".join(basis.name for basis in miscounted)
        words = f"the {claimed.text} claimed is {names}, as a witness shows; {figure}"
        return _decision(VerdictKind.MISCOUNTED, words, open_words)
    if estimate.high >= low:
        unconfirmed = _sentences(findings, "unconfirmed", Outcome.FAILS, Outcome.NOT_AVAILABLE)
        if unconfirmed:
            words = f"{figure}, which reaches the {claimed.text} claimed, but the count has no witness"
            return _decision(VerdictKind.INCONCLUSIVE, words, [*unconfirmed, *open_words])
        on = _known_prompts(findings)
        if estimate.low > high:
            return _decision(VerdictKind.EXCEEDED, f"{figure}, more than the {claimed.text} claimed{on}", open_words)
        return _decision(VerdictKind.REPRODUCED, f"{figure}; claimed {claimed.text}{on}", open_words)
    if is_unlabelled:
        names = " and ".join(f"{basis.name} ({basis.estimate.value:g} tok/s)" for basis in honest if basis.estimate)
        words = f"{figure} on the default basis, but {names} reaches the claim, which does not state its basis"
        return _decision(VerdictKind.UNLABELLED, words, ())
    unclean = _sentences(findings, "dirty", Outcome.NOT_AVAILABLE)
    if unseen or unclean:
        words = f"{figure}, below the {claimed.text} claimed, but not everything that matters was seen to be the same"
        return _decision(VerdictKind.INCONCLUSIVE, words, [*open_words, *unclean])
    words = f"{figure}, below the {claimed.text} claimed, with everything that matters observed equal"
    return _decision(VerdictKind.NOT_REPRODUCED, words, ())


def _aside(estimate: Estimate | None, claimed: Claimed) -> str:
    """Where the claim lies beside an interval that is too thin to judge by."""
    if estimate is None or estimate.low is None or estimate.high is None or claimed.low is None or claimed.high is None:
        return ""
    if claimed.low > estimate.high:
        return "; the claim lies above all of it"
    return "; the claim lies below all of it" if claimed.high < estimate.low else "; the claim lies within it"


def _contradicts(basis: BasisValue, claimed: Claimed) -> bool:
    """Whether it counts what was not delivered, or is not what the claim states."""
    return not basis.is_honest or (claimed.basis is not None and basis.id != claimed.judged_on)


def _no_rule(judged_on: str) -> str:
    return "the number of GPUs is not known" if judged_on == "delivered/gpu" else f"no rule here measures {judged_on}"


def _sentences(findings: Sequence[Finding], gravity: Gravity, *outcomes: Outcome) -> list[str]:
    return [finding.sentence for finding in findings if finding.gravity == gravity and finding.outcome in outcomes]


def _known_prompts(findings: Sequence[Finding]) -> str:
    """For the headline: that it was measured on prompts that the claimant could know."""
    known = any(finding.id == "fresh-prompts" and finding.outcome is Outcome.FAILS for finding in findings)
    return ", on prompts that the claimant could know" if known else ""


def _decision(kind: VerdictKind, sentence: str, reasons: Iterable[str]) -> Decision:
    return Decision(kind, f"{kind.value}: {sentence}", tuple(reasons))


def _figure(measured: BasisValue) -> str:
    """What was measured, under its own name where it is not delivered tokens."""
    what = "delivered" if measured.id.startswith("delivered/") else f"measured as {measured.name}:"
    estimate = measured.estimate
    if estimate is None or estimate.low is None or estimate.high is None:
        value, n = (estimate.value, estimate.n) if estimate else (0.0, 0)
        return f"{what} {value:g} tok/s ({n} repeat{'s' if n > 1 else ''}, no interval)"
    return f"{what} {estimate.value:g} tok/s ({estimate.low:g} to {estimate.high:g}, {estimate.n} repeats)"


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
