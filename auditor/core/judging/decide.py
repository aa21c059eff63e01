"""From what was found to the kind of a verdict, by precedence. What is found is assembled in `judge`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from auditor.core.bases import BasisValue
from auditor.core.judging.compare import Comparison, differing, unobserved
from auditor.core.judging.verdict import Claimed, Finding, Gravity
from auditor.core.plan.plan import Plan
from auditor.core.stats import Estimate
from auditor.terms import Outcome, VerdictKind


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict's kind and why."""

    kind: VerdictKind
    sentence: str
    reasons: tuple[str, ...]


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
        has_speed = delivered is not None and delivered.estimate is not None
        speed = f"; {_figure(delivered)} is the speed of that, and no throughput" if delivered and has_speed else ""
        return _decision(VerdictKind.INVALID_OUTPUT, f"what was delivered is not valid output{speed}", invalid)
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
