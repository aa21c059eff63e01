"""The pieces of a review put together: the strongest evidence decides, and what does not fit is said."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from auditor.core.claim.questions import questions_for
from auditor.core.claim.record import Case, Claim
from auditor.core.imports.record import Grade
from auditor.core.judging.switches import stated_switches
from auditor.core.physics.laidbeside import ceiling_of
from auditor.core.record import canonical_json, sha256
from auditor.core.reviewing.pieces import LOG_GRADE
from auditor.core.reviewing.record import ForkPiece, ImportPiece, LogPiece, Review, Said
from auditor.core.wording import listed, percent
from auditor.core.wording import span as spanned
from auditor.terms import VerdictKind

_ORDER = (VerdictKind.MISCOUNTED, VerdictKind.UNLABELLED, VerdictKind.INCONCLUSIVE, VerdictKind.NOT_COMPARABLE)
_APART = 0.1
"""Relative difference of acceptance above which two pieces are said to differ."""
Weighed = tuple[Grade, Said, str]
"""Grade of a piece, what it says, and its name."""


def make_review(
    claim: Claim,
    case: Case,
    claim_digest: str,
    tool_version: str,
    imports: Sequence[ImportPiece],
    logs: Sequence[LogPiece],
    forks: Sequence[ForkPiece],
) -> Review:
    """One review; the same inputs give the same record."""
    ceiling = ceiling_of(case)
    pieces = [(one.grade, one.said, one.originals[0].name) for one in imports]
    pieces += [(LOG_GRADE, one.said, one.reading.artefact.name) for one in logs]
    grade, said = decide(pieces)
    contradictions = tuple(_against(case, imports, logs, forks, pieces))
    if said.verdict is VerdictKind.MISCOUNTED and _is_opposed(pieces, grade):
        words = "evidence of one grade speaks for and against the claim"
        said = Said(verdict=VerdictKind.INCONCLUSIVE, sentence=words, reasons=(said.sentence,))
    if ceiling.outcome == "impossible":
        said = Said(verdict=VerdictKind.IMPOSSIBLE, sentence=ceiling.sentence, reasons=(said.sentence,))
    return Review(
        review=f"review-{_digest(case, claim_digest, tool_version, imports, logs, forks)[:12]}",
        tool_version=tool_version,
        claim=case.claim_id,
        case=case.id,
        title=case.title,
        claimed=case.reported.as_text(),
        low=(case.reported.interval() or (None, None))[0],
        high=(case.reported.interval() or (None, None))[1],
        basis=case.reported.basis.value if case.reported.basis else None,
        source=None if claim.source.url is None else str(claim.source.url),
        disputed_by=claim.disputed_by,
        claim_digest=claim_digest,
        grade=grade,
        verdict=said.verdict,
        exit_code=int(said.verdict.exit_code),
        sentence=said.sentence,
        reasons=said.reasons,
        contradictions=contradictions,
        switches=(*stated_switches(case), *_seen_switches(logs)),
        ceiling=ceiling,
        imports=tuple(imports),
        logs=tuple(logs),
        forks=tuple(forks),
        unknown=tuple(_unknown(imports, logs, forks)),
        questions=questions_for(case),
    )


def decide(pieces: Sequence[Weighed]) -> tuple[Grade, Said]:
    """The best grade among what is of the claim, and what the piece of that grade that says most says."""
    own = [one for one in pieces if one[1].verdict is not VerdictKind.NOT_COMPARABLE]
    if not own:
        if not pieces:
            words = "nothing that was given holds a measurement"
            return Grade.PROSE, Said(verdict=VerdictKind.INCONCLUSIVE, sentence=words)
        grade, said, name = pieces[0]
        return grade, said.model_copy(update={"sentence": f"{said.sentence} ({name})"})
    best = min(own, key=lambda one: (list(Grade).index(one[0]), _ORDER.index(one[1].verdict)))
    rest = [f"{name}: {said.sentence}" for grade, said, name in own if (grade, said, name) != best]
    said = best[1].model_copy(update={"reasons": (*best[1].reasons, *rest)})
    return best[0], said.model_copy(update={"sentence": f"{said.sentence} ({best[2]})"})


def _is_opposed(pieces: Sequence[Weighed], grade: Grade) -> bool:
    """Whether another piece of this grade holds the number on the claim's own basis."""
    return any(one[0] is grade and one[1].meets_own_basis for one in pieces)


def _against(
    case: Case,
    imports: Sequence[ImportPiece],
    logs: Sequence[LogPiece],
    forks: Sequence[ForkPiece],
    pieces: Sequence[Weighed],
) -> Iterator[str]:
    """Where pieces, or a piece and the claim, do not fit each other."""
    for one, other in combinations(pieces, 2):
        strong = {VerdictKind.MISCOUNTED, VerdictKind.UNLABELLED}
        for a, b in ((one, other), (other, one)):
            if a[1].meets_own_basis and b[1].verdict in strong and b[1].verdict is not a[1].verdict:
                yield f"{a[2]} holds the number on the claim's own basis; by {b[2]} it is something else."
    yield from _speculation(case, imports, logs)
    for fork in forks:
        if fork.is_claimed is False:
            yield f"The fork {fork.name} was reviewed at {fork.head[:12]}; the claim names {case.engine.fork.commit}."


def _speculation(case: Case, imports: Sequence[ImportPiece], logs: Sequence[LogPiece]) -> Iterator[str]:
    stated = case.speculation.draft_tokens
    seen: list[tuple[str, float]] = []
    for log in logs:
        acceptance, name = log.reading.acceptance, log.reading.artefact.name
        if acceptance is None or log.of_claim.same is False:
            continue
        if case.speculation.is_off:
            yield f"The claim says that nothing is drafted; {name} prints drafts."
        elif stated is not None and acceptance.widths and stated not in acceptance.widths:
            yield f"The claim drafts {stated} tokens a step; {name} shows {listed(list(map(str, acceptance.widths)))}."
        if acceptance.rate is not None:
            seen.append((name, float(acceptance.rate)))
    for (one, rate), (other, second) in combinations(seen, 2):
        if abs(rate - second) > _APART * max(rate, second):
            yield f"{one} accepts {percent(rate)} of the drafts and {other} {percent(second)}."
    span = case.speculation.acceptance_range()
    for name, rate in seen:
        if span is not None and not span[0] - 0.05 <= rate <= span[1] + 0.05:
            words = "" if case.speculation.acceptance_definition else ", of a definition that it does not state"
            yield f"The claim states acceptance {spanned(*span)}{words}; {name} has {percent(rate)}."
    models = {piece.originals[0].name: {one.model for one in piece.results if one.model} for piece in imports}
    for (one_name, own), (other_name, others) in combinations(models.items(), 2):
        if own and others and not own & others:
            yield f"{one_name} is of {listed(sorted(own))}, {other_name} of {listed(sorted(others))}."


def _seen_switches(logs: Sequence[LogPiece]) -> Iterator[str]:
    for log in logs:
        if log.of_claim.same is not False:
            for sign in log.reading.signs:
                if sign.is_grave:
                    yield f"{log.reading.artefact.name} shows {sign.text} (line {sign.line}): {sign.kind}"


def _unknown(imports: Sequence[ImportPiece], logs: Sequence[LogPiece], forks: Sequence[ForkPiece]) -> Iterator[str]:
    yield "Nothing was measured here: that a claim can be reproduced, or cannot, takes `audit run` on its hardware."
    yield "Whether the files and logs are the claimant's own, and whole, is for the reader to know."
    for piece in imports:
        for words in dict.fromkeys(words for one in piece.results for words in one.missing):
            yield f"{piece.originals[0].name}: {words}."
    for log in logs:
        yield from (f"{log.reading.artefact.name}: {words}" for words in log.reading.cannot_tell)
    for fork in forks:
        yield f"{fork.name}: no line of it was run; code that could count otherwise does not say that it did."
        if not fork.is_sure:
            yield f"{fork.name}: no common history shows what is the fork's own."
    if not imports:
        yield "No result file was given: there is no request with its own times and count."
    if not logs:
        yield "No engine log was given: the server's own counters are not known."
    if not forks:
        yield "No fork was given: what its code counts is not known."


def _digest(
    case: Case,
    claim_digest: str,
    tool_version: str,
    imports: Sequence[ImportPiece],
    logs: Sequence[LogPiece],
    forks: Sequence[ForkPiece],
) -> str:
    return sha256(
        canonical_json(
            {
                "claim": claim_digest,
                "case": case.id,
                "tool": tool_version,
                "imports": [[one.sha256 for one in piece.originals] for piece in imports],
                "logs": [one.reading.artefact.sha256 for one in logs],
                "forks": [[one.head, one.base, one.rules] for one in forks],
            }
        )
    )
