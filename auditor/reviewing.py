"""The conductor of reviews: reads what was handed in, judges it, and keeps one folder and one row of the database."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

from auditor import __version__
from auditor.core.claim.claim import Case, Claim
from auditor.core.folder import CLAIM, MANIFEST, REPORT, RunFolder, write
from auditor.core.record import canonical_json, sha256
from auditor.core.reviewing.make import make_review
from auditor.core.reviewing.pieces import fork_piece, import_piece, log_piece
from auditor.core.reviewing.record import FORMAT, REPORT_TEXT, REVIEW, ForkPiece, ImportPiece, LogPiece, Review
from auditor.db.rows import ImportRow
from auditor.db.store import open_store
from auditor.errors import AuditError, UsageError
from auditor.reference.forkrules import bundled_fork_rules
from auditor.report.reviewpage import review_page
from auditor.report.reviewtext import markdown_of
from auditor.review.forks import review_fork
from auditor.review.forks.notes import is_sure
from auditor.review.imports import Taken, take_in
from auditor.review.serverlog import read_server_log


@dataclass(frozen=True, slots=True)
class Handed:
    """What was handed in for a claim."""

    imports: Sequence[str] = ()
    """Files or folders, as `audit import` takes them."""
    logs: Sequence[str] = ()
    forks: Sequence[str] = ()
    """Local clones."""
    upstreams: Sequence[str] = ()
    """Of each fork; one for all, or as many as there are forks."""


@dataclass(frozen=True, slots=True)
class Reviewed:
    """A review, and the result files that were read for it."""

    review: Review
    taken: tuple[Taken, ...]
    passed: tuple[str, ...]
    """What of folders was passed over."""


def review_claim(claim: Claim, case: Case, text: str, handed: Handed, now_ns: int) -> Reviewed:
    """Read every piece and judge; raises UsageError, in one line, for the first that cannot be read."""
    taken, passed = _taken(handed.imports, now_ns)
    imports = [_with_stored(import_piece(one.imported, case, now_ns), number) for number, one in enumerate(taken, 1)]
    logs = [_log(path, case) for path in handed.logs]
    forks = [_fork(path, upstream, case) for path, upstream in _pairs(handed)]
    review = make_review(claim, case, sha256(text.encode()), __version__, imports, logs, forks)
    return Reviewed(review, tuple(taken), tuple(passed))


def _taken(paths: Sequence[str], now_ns: int) -> tuple[list[Taken], list[str]]:
    found: list[Taken] = []
    passed: list[str] = []
    for path in paths:
        own, left = take_in(path, None, now_ns)
        found += own
        passed += left
    return found, passed


def _with_stored(piece: ImportPiece, number: int) -> ImportPiece:
    """The same with names under which the files of several results can lie in one folder."""
    named = [
        one if one.stored is None else one.model_copy(update={"stored": f"import-{number}-{one.stored}"})
        for one in piece.originals
    ]
    return piece.model_copy(update={"originals": tuple(named)})


def _log(path: str, case: Case) -> LogPiece:
    return log_piece(read_server_log(path, claim=case.reported.interval()).reading, case)


def _fork(path: str, upstream: str | None, case: Case) -> ForkPiece:
    found = review_fork(path, bundled_fork_rules(), upstream=upstream)
    return fork_piece(found, case, is_sure=is_sure(found.history))


def _pairs(handed: Handed) -> list[tuple[str, str | None]]:
    if len(handed.upstreams) not in (0, 1, len(handed.forks)):
        what = f"{len(handed.upstreams)} upstreams for {len(handed.forks)} forks"
        raise UsageError(what, remedy="give one --upstream for all, or one for each --fork in their order")
    if not handed.upstreams:
        return [(path, None) for path in handed.forks]
    each = cycle(handed.upstreams) if len(handed.upstreams) == 1 else iter(handed.upstreams)
    return list(zip(handed.forks, each, strict=False))


def keep_review(reviewed: Reviewed, reports: Path, text: str) -> Path:
    """Write the review, its page and the original files that may be kept; the folder. Raises AuditError.

    The same inputs give the same bytes.
    """
    review = reviewed.review
    folder = reports / review.claim / review.review
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be made ({error.strerror})"
        raise UsageError(what, where=str(folder), remedy="choose another with --reports") from None
    for piece, taken in zip(review.imports, reviewed.taken, strict=True):
        for original, file in zip(piece.originals, taken.files, strict=True):
            if original.stored is not None:
                write(folder, original.stored, file.data)
    write(folder, CLAIM, text.encode())
    write(folder, REVIEW, review.to_json())
    write(folder, REPORT, review_page(review).encode())
    write(folder, REPORT_TEXT, markdown_of(review).encode())
    write(folder, MANIFEST, canonical_json(RunFolder(folder).manifest()))
    return folder


def read_review(folder: Path) -> Review:
    """A review that was kept; raises EvidenceError for what is missing or was changed since."""
    kept = RunFolder(folder)
    kept.check(REVIEW, CLAIM)
    return kept.record(REVIEW, Review)


def index_review(
    review: Review, folder: Path, *, now_ns: int, database: str | None, say: Callable[[str], None]
) -> None:
    """Store the review beside the imports; a database that cannot be used is said and loses nothing."""
    counts = {"file": len(review.imports), "log": len(review.logs), "fork": len(review.forks)}
    sizes = [one.size for piece in review.imports for one in piece.originals]
    sizes += [one.reading.artefact.size for one in review.logs]
    row = ImportRow(
        folder=str(folder),
        import_id=review.review,
        claim_id=review.claim,
        format=FORMAT,
        tool=", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items() if count),
        grade=review.grade.value,
        sha256=hashlib.sha256(review.to_json()).hexdigest(),
        bytes=sum(sizes),
        imported_ns=now_ns,
        verdict=review.verdict.value,
        sentence=review.sentence,
    )
    try:
        with open_store(database) as store:
            store.save_import(row)
    except AuditError as error:
        say(f"audit: the review is not in the database: {error}")
