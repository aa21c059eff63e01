"""The review of a claim, as `audit review` keeps it, as an entry of the site."""

import re
from pathlib import Path

from auditor.core import folder as names
from auditor.core.claim.claim import parse_claim
from auditor.core.claim.types import is_identifier
from auditor.core.folder import RunFolder
from auditor.core.record import sha256
from auditor.core.reviewing.record import REPORT_TEXT, REVIEW, Review
from auditor.errors import EvidenceError
from auditor.report.shown import one_line, plain
from auditor.report.site.claimwords import card_of, case_values, fork_of, slug_of, spoken
from auditor.report.site.entries import Entry
from auditor.report.site.filing import UNREADABLE, Rule, check_files, check_keys, kept_files, told
from auditor.report.site.found import Found

MARKS = (REVIEW,)
"""A folder that holds it is the review of a claim."""
_KEPT = {REVIEW, names.REPORT, REPORT_TEXT, names.MANIFEST}
_ORIGINAL = re.compile(r"import-[0-9]{1,4}-original-[A-Za-z0-9._-]{1,100}")
"""How a result file is named in it; another name could lead out of the folder."""


def read_claim_review(folder: Path, where: str, rule: Rule) -> Found:
    """The review in a folder; never raises for what the folder holds."""
    parent, name = Path(where).parent.name, one_line(folder.name, 120)
    claim = parent if is_identifier(parent) else None
    found = Found(
        folder, where, Entry(kind="claim-review", id=name, slug=slug_of(folder.name), claim=claim, title=name)
    )
    try:
        check_files(folder, (REVIEW, names.CLAIM, names.MANIFEST))
        kept = RunFolder(folder)
        kept.check(REVIEW, names.CLAIM)
        review = kept.record(REVIEW, Review)
        _claim(found, kept, review)
        stored = {one.stored for piece in review.imports for one in piece.originals if one.stored}
        files = kept_files(folder, _KEPT | {one for one in stored if _ORIGINAL.fullmatch(one)}, rule)
        kept.check(*(one.name for one in files))
        check_keys(folder, files)
        _verdict(found, review)
        found.update(files=files)
    except UNREADABLE as error:
        found.update(problem=told(error), files=())
    return found


def _claim(found: Found, kept: RunFolder, review: Review) -> None:
    data = kept.read(names.CLAIM)
    if sha256(data) != review.claim_digest:
        raise EvidenceError("is not the claim that was reviewed", where=names.CLAIM)
    claim = parse_claim(data.decode("utf-8"), names.CLAIM)
    case = claim.case(review.case)
    found.card, found.fork, found.claim_text = card_of(claim), fork_of(case), data
    found.update(**case_values(claim, case, found.fork))


def _verdict(found: Found, review: Review) -> None:
    grade, verdict = review.grade, review.verdict.value
    evidence = f"Evidence of grade {grade.value}: {grade.meaning}; at most `{grade.strongest.value}`"
    said = plain(review.sentence, 1000)
    found.update(
        id=one_line(review.review, 120),
        slug=slug_of(review.review),
        verdict=verdict,
        sentence=spoken(verdict, said.removesuffix(".")),
        said=said,
        grade=grade.value,
        reasons=tuple(one_line(words, 500) for words in (evidence, *review.reasons, *review.contradictions)[:20]),
    )
