"""An imported result beside a claim: which of its figures and counting rules meet the number, and the verdict that
evidence of its grade allows."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from auditor.core.bases import BasisValue
from auditor.core.claim.record import Case
from auditor.core.explain.matching import Number, explain, number_of, reading_of
from auditor.core.explain.record import Explanation, Witness, WitnessFigure
from auditor.core.imports.measured import Measured
from auditor.core.imports.quantities import RULES
from auditor.core.imports.record import Figure, Grade, Imported, Result
from auditor.core.judging.basis import judged_basis
from auditor.core.judging.names import same_model
from auditor.core.plan.plan import MAX_HALF_WIDTH
from auditor.core.record import Record, six
from auditor.core.stats import Estimate
from auditor.core.wording import figure as shown
from auditor.core.wording import listed
from auditor.terms import Outcome, VerdictKind

_STRENGTH = (VerdictKind.INCONCLUSIVE, VerdictKind.UNLABELLED, VerdictKind.MISCOUNTED)
_WHOSE = "Whether the file is the claimant's own is for you to know."


class Beside(Record):
    """One result of a file beside the claim."""

    case: str
    """Id of the claim's measurement that it was laid beside."""
    result: str
    grade: Grade
    is_same_model: bool | None
    """None where the claim or the file does not tell."""
    judged_on: str
    """Id of the counting basis on which the claim is judged."""
    judged_because: str
    figures: tuple[str, ...]
    """Printed figures that meet the claim's number, by name."""
    bases: tuple[BasisValue, ...]
    explanation: Explanation
    verdict: VerdictKind
    """Never stronger than the grade allows, and never a reproduction: that takes a replay."""
    sentence: str
    reasons: tuple[str, ...] = ()


def bases_of_result(measured: Measured) -> tuple[BasisValue, ...]:
    """Every counting rule on a result: counted anew, else as the tool prints it."""
    printed = {one.quantity: one.value for one in measured.result.figures if one.quantity in RULES}
    return tuple(_value(measured, identifier, printed.get(identifier)) for identifier in RULES)


def _value(measured: Measured, identifier: str, printed: float | None) -> BasisValue:
    basis = RULES[identifier]
    rate = basis.rate(measured.sample, measured.load)
    value = printed if rate is None else rate
    estimate = None if not value else Estimate(value=six(value), low=six(value), high=six(value), n=1)
    return BasisValue(
        id=identifier,
        name=basis.name,
        formula=basis.formula,
        unit=basis.unit,
        is_honest=basis.is_honest,
        estimate=estimate,
        reason=None if estimate else f"needs {basis.needs}",
    )


def lay_beside(case: Case, imported: Imported, taken: str) -> tuple[Beside, ...]:
    """Every result of a file beside the claim, the best first; empty where the claim states no number.

    `taken` is when the file was imported, ISO 8601.
    """
    claim = number_of(case.reported)
    if claim is None:
        return ()
    each = [_beside(case, claim, imported, result, taken) for result in imported.results]
    order = [*reversed(_STRENGTH), VerdictKind.NOT_COMPARABLE]
    return tuple(sorted(each, key=lambda one: (order.index(one.verdict), not one.figures, not one.explanation.matches)))


def _beside(case: Case, claim: Number, imported: Imported, result: Result, taken: str) -> Beside:
    measured = Measured(result)
    judged, because = judged_basis(case, measured.load)
    bases = bases_of_result(measured)
    meeting = [one for one in result.figures if one.unit == "tokens/s" and claim.low <= one.value <= claim.high]
    same = _same_model(case, result.settings.model)
    witnesses = tuple(_witnesses(meeting, imported, taken)) if same else ()
    right = next((one for one in bases if one.id == judged and one.estimate), None)
    explanation = explain(
        claim,
        [reading_of(one, claim, MAX_HALF_WIDTH) for one in bases if one.estimate],
        given=f"{result.name} of {imported.tool}, grade {result.grade}",
        delivered=right.estimate if right else None,
        delivered_id=judged if right else None,
        limit=MAX_HALF_WIDTH,
        setting_of=lambda reading: None,
        witnesses=witnesses,
    )
    found = _decide(case, claim, result, explanation, right, same, meeting)
    kind, sentence = _capped(found, result.grade)
    return Beside(
        case=case.id,
        result=result.name,
        grade=result.grade,
        is_same_model=same,
        judged_on=judged,
        judged_because=because,
        figures=tuple(one.name for one in meeting),
        bases=bases,
        explanation=explanation,
        verdict=kind,
        sentence=sentence,
        reasons=found.reasons,
    )


class Decision(NamedTuple):
    """What a file says of a claim before its grade is looked at."""

    kind: VerdictKind
    sentence: str
    reasons: tuple[str, ...] = ()


def _decide(
    case: Case,
    claim: Number,
    result: Result,
    explanation: Explanation,
    right: BasisValue | None,
    same: bool | None,
    meeting: Sequence[Figure],
) -> Decision:
    if same is False:
        words = f"the file is of {result.settings.model}, the claim of {case.model.id or case.model.checkpoint}"
        return Decision(VerdictKind.NOT_COMPARABLE, words)
    dirty = [one.sentence for one in result.findings if one.gravity == "dirty" and one.outcome is Outcome.FAILS]
    if dirty:
        return Decision(VerdictKind.INCONCLUSIVE, "the file does not add up", tuple(dirty))
    met = [RULES[name] for name in explanation.matches]
    if not met:
        words = f"no figure and no counting rule of this result gives {claim.text}"
        return Decision(VerdictKind.INCONCLUSIVE, words)
    if right is not None and right.id in explanation.matches:
        words = f"the file holds {claim.text} on the claim's own basis ({right.name}); only a replay can reproduce it"
        return Decision(VerdictKind.INCONCLUSIVE, words)
    names = listed([basis.name for basis in met[:3]])
    value = f"{shown(right.estimate.value)} tok/s" if right and right.estimate else "not in the file"
    own = f"on the claim's own basis ({right.name if right else 'which the file cannot give'}) it is {value}"
    honest = [basis for basis in met if basis.is_honest]
    if case.reported.basis is None and case.reported.window is None and honest:
        words = f"the claim states no basis, and {listed([one.name for one in honest[:3]])} reaches {claim.text}; {own}"
        return Decision(VerdictKind.UNLABELLED, words)
    if explanation.explained_by and right is not None:
        printed = listed([f"`{one.name}`" for one in meeting])
        words = f"{claim.text} is {printed} of this file, which counts {names}; {own}"
        return Decision(VerdictKind.MISCOUNTED, words, (_WHOSE,))
    words = f"{claim.text} is what {names} gives here; {own}; nothing shows that the claim was counted so"
    return Decision(VerdictKind.INCONCLUSIVE, words)


def _capped(found: Decision, grade: Grade) -> tuple[VerdictKind, str]:
    """The verdict that the grade allows; where that is less, the sentence says so."""
    if found.kind not in _STRENGTH or _STRENGTH.index(found.kind) <= _STRENGTH.index(grade.strongest):
        return found.kind, found.sentence
    return VerdictKind.INCONCLUSIVE, f"{found.sentence}; evidence of grade {grade} carries no `{found.kind}`"


def _same_model(case: Case, seen: str | None) -> bool | None:
    stated = [name for name in (case.model.checkpoint, case.model.id) if name is not None]
    answers = [same_model(name, seen) for name in stated] if seen else []
    if True in answers:
        return True
    return False if answers and None not in answers else None


def _witnesses(meeting: Sequence[Figure], imported: Imported, taken: str) -> Iterator[Witness]:
    """The printed figures that meet the claim, each for the rule that it is by the tool's own formula."""
    for one in meeting:
        if one.quantity in RULES:
            original = imported.originals[0]
            yield Witness(
                rule=one.quantity or "",
                kind="claimant",
                artefact_sha256=original.sha256,
                origin=f"`{one.name}` of {imported.tool} in {original.name}",
                at=taken,
                figures=(WitnessFigure(text=shown(one.value), low=one.value, high=one.value),),
            )
