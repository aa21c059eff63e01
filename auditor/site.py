"""The conductor of the site: what the reports tree and the database hold, written as pages."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from auditor.core.claim.claim import Claim, parse_claim
from auditor.core.reviewing.record import FORMAT
from auditor.core.wording import figure
from auditor.db.rows import ImportRow, RunSummary
from auditor.db.store import Store, open_store
from auditor.errors import AuditError, DatabaseError, UsageError
from auditor.report.shown import one_line
from auditor.report.site.building import Site, build
from auditor.report.site.claimwords import card_of, case_values, fork_of, slug_of, spoken, without_number
from auditor.report.site.entries import ClaimCard, Entry, Figure, ForkCard, Judgement, Problem
from auditor.report.site.gathering import Indexed, gather
from auditor.report.site.tree import read_tree
from auditor.report.site.writing import Place, Tally

_NO_FOLDER = "its folder is not among the reports: only what the database holds is shown"


@dataclass(frozen=True, slots=True)
class Published:
    """What a making of the site did."""

    tally: Tally
    audits: int
    claims: int
    forks: int
    problems: tuple[Problem, ...]


def publish(reports: Path, out: Path, *, database: str | None, site: Site, now_ns: int) -> Published:
    """Write the site into `out`; raises UsageError where `out` cannot be one, or where there is nothing to read.

    The same reports, database and earlier site give the same bytes. A folder that cannot be read is a row with its
    reason, and so is a database that cannot be used.
    """
    place = Place(out)
    problems: list[Problem] = []
    indexed = Indexed()
    try:
        with open_store(database) as store:
            indexed = index_of(store)
    except DatabaseError as error:
        problems.append(Problem(folder="database", what=error.what))
    if not reports.is_dir() and not indexed.entries:
        raise UsageError(
            "there is no such folder, and the database holds nothing", where=str(reports), remedy="--reports"
        )
    gathered = gather(read_tree(reports, site.rule), indexed, place.audits(), now_ns)
    tally = place.write(build(gathered, site))
    audits = gathered.audits
    return Published(
        tally=tally,
        audits=sum(one.is_audit for one in audits.entries),
        claims=len(audits.claims),
        forks=len(audits.forks),
        problems=(*problems, *gathered.problems),
    )


def index_of(store: Store) -> Indexed:
    """What the database says of runs, imports and claims."""
    claims: dict[str, Claim | None] = {}
    texts: dict[str, bytes] = {}
    cards: dict[str, ClaimCard] = {}
    forks: dict[str, ForkCard] = {}
    entries: list[Entry] = []
    for one in store.claims():
        text = store.claim_text(one.claim_id)
        texts[one.claim_id] = text.encode()
        cards[one.claim_id] = ClaimCard(id=one.claim_id, title=one.title)
        claims[one.claim_id] = claim = _parsed(text, one.claim_id)
        if claim is not None:
            cards[one.claim_id] = card_of(claim)
            forks |= {fork.slug: fork for fork in map(fork_of, claim.cases()) if fork is not None}
        entries.append(_of_claim(one.claim_id, one.title, claim))
    entries += [_of_run(one, claims.get(one.claim_id)) for one in store.runs()]
    entries += [_of_import(one) for one in store.imports()]
    judgements = defaultdict(list)
    for row in store.judgements():
        judgements[row.run_id].append(Judgement(verdict=row.kind, said=row.sentence, judged_ns=row.judged_ns))
    return Indexed(tuple(entries), {name: tuple(of) for name, of in judgements.items()}, cards, forks, texts)


def _parsed(text: str, where: str) -> Claim | None:
    """A stored claim; None for one that this version does not read."""
    try:
        return parse_claim(text, where)
    except AuditError:
        return None


def _of_claim(name: str, title: str, claim: Claim | None) -> Entry:
    values = {} if claim is None else _claim_values(claim)
    entry = Entry(kind="claim", id=name, slug=slug_of(name), claim=name, title=one_line(title, 300))
    return entry.model_copy(update={**values, "case": None, "title": entry.title})


def _claim_values(claim: Claim) -> dict[str, Any]:
    """What a claim states, without the number where it has several."""
    case = claim.cases()[0]
    values = case_values(claim, case, fork_of(case))
    return values if len(claim.cases()) == 1 else values | without_number(claim)


def _of_run(row: RunSummary, claim: Claim | None) -> Entry:
    flags = [(word.capitalize(), "") for word in ("rehearsal", "quick", "partial") if getattr(row, word)]
    entry = Entry(
        kind="run",
        id=one_line(row.run_id, 120),
        slug=slug_of(row.run_id),
        claim=row.claim_id,
        title=row.claim_id,
        verdict=row.verdict,
        sentence=spoken(row.verdict, row.sentence) if row.verdict and row.sentence else None,
        said=row.sentence,
        delivered=Figure(text="" if row.delivered is None else figure(row.delivered), value=row.delivered),
        flags=tuple(flags),
        started=_moment(row.started_ns),
        started_ns=row.started_ns,
        amended=row.amendments,
        problem=_NO_FOLDER,
    )
    return entry if claim is None else entry.model_copy(update={**_claim_values(claim), "case": None})


def _of_import(row: ImportRow) -> Entry:
    is_review = row.format == FORMAT
    return Entry(
        kind="claim-review" if is_review else "import",
        id=row.import_id,
        slug=slug_of(row.import_id),
        claim=row.claim_id,
        title=f"A {'review' if is_review else 'result'} of {one_line(row.tool, 100)}",
        verdict=row.verdict,
        grade=row.grade if is_review else None,
        sentence=spoken(row.verdict, row.sentence) if row.verdict and row.sentence else None,
        said=row.sentence,
        started=_moment(row.imported_ns),
        started_ns=row.imported_ns,
        problem=_NO_FOLDER,
    )


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="seconds")
