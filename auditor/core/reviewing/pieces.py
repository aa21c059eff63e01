"""From what was read to the pieces of a review, each with what it says of the claim by itself."""

from decimal import Decimal

from auditor.core.claim.record import Case
from auditor.core.claim.types import AcceptanceDefinition
from auditor.core.enginelogs.ofclaim import of_claim
from auditor.core.enginelogs.rates import DELIVERED
from auditor.core.enginelogs.result import LogReading
from auditor.core.enginelogs.witnesses import LogWitness, WitnessKind
from auditor.core.explain.given import Given
from auditor.core.explain.matching import Number
from auditor.core.explain.numbers import from_numbers
from auditor.core.explain.record import Explanation
from auditor.core.forks.review import ForkReview
from auditor.core.imports.claimed import Beside, lay_beside
from auditor.core.imports.quantities import RULES
from auditor.core.imports.record import Grade, Imported, Result
from auditor.core.inspection.inspect import Known, inspect
from auditor.core.inspection.record import Inspection
from auditor.core.plan.plan import MAX_HALF_WIDTH
from auditor.core.reviewing.record import ForkPiece, ImportPiece, LogPiece, ResultPiece, Said
from auditor.core.wording import listed
from auditor.terms import Outcome, VerdictKind

MOST_RESULTS = 12
MOST_BESIDE = 3
LOG_GRADE = Grade.AGGREGATE
"""An engine's log prints means over intervals and counters, and no request with its own clock."""
_NOT_OUTPUT = (WitnessKind.ACCEPTED, WitnessKind.DRAFTED, WitnessKind.PROMPT)
_ALL = (WitnessKind.AGGREGATE, WitnessKind.PEAK)


def import_piece(imported: Imported, case: Case, now_ns: int) -> ImportPiece:
    """A result file beside the claim."""
    dated = next((one.started for one in imported.results if one.started), "not dated")
    beside = lay_beside(case, imported, dated)
    inspection = inspect(imported, Known(now_ns=now_ns, case=case))
    return ImportPiece(
        tool=imported.tool,
        tool_version=imported.tool_version,
        format=imported.format,
        grade=imported.grade,
        originals=imported.originals,
        results=tuple(map(_result, imported.results[:MOST_RESULTS])),
        more_results=max(0, len(imported.results) - MOST_RESULTS),
        beside=beside[:MOST_BESIDE],
        inspection=inspection,
        said=_said_by_import(beside, inspection),
    )


def _result(result: Result) -> ResultPiece:
    return ResultPiece(
        name=result.name,
        grade=result.grade,
        grade_because=result.grade_because,
        counted_by=result.counted_by,
        model=result.settings.model,
        requests=len(result.requests),
        wrong=tuple(one for one in result.findings if one.figure and one.outcome is not Outcome.HOLDS),
        figures=tuple(one for one in result.figures if one.quantity in RULES),
        missing=result.missing,
    )


def _said_by_import(beside: tuple[Beside, ...], inspection: Inspection) -> Said:
    if not beside:
        return Said(verdict=VerdictKind.INCONCLUSIVE, sentence="the claim states no number to look for")
    first = beside[0]
    broken = {name: one.sentence for name, one in inspection.all_found if one.strength == "contradiction"}
    against = [words for name, words in broken.items() if name in ("", first.result)]
    if against and first.verdict is not VerdictKind.NOT_COMPARABLE:
        return Said(verdict=VerdictKind.INCONCLUSIVE, sentence="the file does not add up", reasons=tuple(against))
    sentence = first.sentence
    if len(beside) > 1 and not any(
        one.figures or one.explanation.matches or one.is_same_model is False for one in beside
    ):
        sentence = f"no figure and no counting rule of its {len(beside):,} results gives {first.explanation.claim_text}"
    return Said(
        verdict=first.verdict,
        sentence=sentence,
        reasons=first.reasons,
        meets_own_basis=any(one.judged_on in one.explanation.matches and one.is_same_model is not False
                            for one in beside),
    )  # fmt: skip


def log_piece(reading: LogReading, case: Case) -> LogPiece:
    """A log beside the claim."""
    beside = of_claim(case, reading)
    found = _explained(reading, case) if beside.same is not False else "the log is of something else"
    return LogPiece(
        reading=reading,
        of_claim=beside,
        explanation=found if isinstance(found, Explanation) else None,
        no_explanation=found if isinstance(found, str) else None,
        said=_said_by_log(reading, case, beside.same, beside.sentence),
    )


def _explained(reading: LogReading, case: Case) -> Explanation | str:
    """The claim beside every rule on what the log says was delivered to one stream; or why not."""
    alone = reading.rates.alone
    if alone is None and (reading.rates.most_running or 0) == 1:
        alone = reading.rates.by_name.get(DELIVERED)
    if alone is None:
        return "no line of the log says that one request ran alone, so it has no rate of one stream"
    mean, acceptance = Decimal(alone.mean), reading.acceptance
    half = Decimal(1).scaleb(int(mean.as_tuple().exponent)) / 2
    rate = None if acceptance is None or acceptance.rate is None else float(acceptance.rate)
    width = acceptance.widths[0] if acceptance and len(acceptance.widths) == 1 else None
    given = Given(
        rate=Number(f"{alone.mean} (mean of {alone.lines:,} lines)", float(mean - half), float(mean + half)),
        width=width,
        acceptance=(rate, rate) if rate is not None and width else None,
        definitions=(AcceptanceDefinition.PER_DRAFTED,),
        streams=1,
    ).with_claim(case)
    return from_numbers(case, given, MAX_HALF_WIDTH) or "the claim states no number"


def _said_by_log(reading: LogReading, case: Case, same: bool | None, beside: str) -> Said:
    if not case.reported.has_number:
        return Said(verdict=VerdictKind.INCONCLUSIVE, sentence="the claim states no number to look for")
    if same is False:
        return Said(verdict=VerdictKind.NOT_COMPARABLE, sentence=beside.removesuffix("."))
    broken = reading.identity.states.get("contradicts", 0) if reading.identity else 0
    if broken:
        words = f"{broken:,} lines of the log contradict themselves or each other"
        return Said(verdict=VerdictKind.INCONCLUSIVE, sentence=words)
    number, seen = case.reported.as_text(), reading.witnesses
    if not seen:
        words = f"no figure of the log is {number}"
        return Said(verdict=VerdictKind.INCONCLUSIVE, sentence=words)
    what = listed(list(dict.fromkeys(_words(one) for one in seen))[:3])
    if same is None:
        words = f"the log prints {number} as {what}; whether it is of the claim's engine and model is not known"
        return Said(verdict=VerdictKind.INCONCLUSIVE, sentence=words)
    kinds = {one.kind for one in seen}
    if kinds & {WitnessKind.DELIVERED, WitnessKind.MEAN}:
        words = f"the log prints {number} as {what}, over its intervals; only a replay can reproduce it"
        return Said(verdict=VerdictKind.INCONCLUSIVE, sentence=words, meets_own_basis=True)
    if kinds & set(_ALL) and case.reported.basis is None and case.reported.window is None:
        words = f"the claim states no basis, and the log prints {number} as {what}"
        return Said(verdict=VerdictKind.UNLABELLED, sentence=words)
    words = f"the log prints {number} as {what}"
    if kinds <= set(_NOT_OUTPUT):
        words += f", which is not output; evidence of grade {LOG_GRADE} carries no `miscounted`"
    return Said(verdict=VerdictKind.INCONCLUSIVE, sentence=words)


def _words(one: LogWitness) -> str:
    return one.kind.value.replace("_", " ")


def fork_piece(review: ForkReview, case: Case, *, is_sure: bool) -> ForkPiece:
    """A fork: what it could do to a number, never what it did."""
    commit = case.engine.fork.commit
    return ForkPiece(
        name=review.name,
        upstream=review.upstream,
        head=review.history.head,
        base=review.history.base,
        is_sure=is_sure,
        is_claimed=None if commit is None else review.history.head.startswith(commit.lower()),
        ahead=review.history.ahead,
        files=review.files,
        lines=review.lines,
        classes=review.classes,
        answers=review.answers,
        notes=review.notes,
        rules=review.rules,
    )
