"""A run folder as an entry of the site. Whatever is wrong with it becomes the entry's reason."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from auditor.core import folder as names
from auditor.core.amendment import amendments_of
from auditor.core.bundle.pack import is_run_file
from auditor.core.bundle.secrets import secrets_seen
from auditor.core.claim.types import is_identifier
from auditor.core.counting.evidence import assemble
from auditor.core.folder import RunFolder
from auditor.core.judging.verdict import Verdict
from auditor.errors import EvidenceError
from auditor.report.head import flags_of, sentence_of
from auditor.report.possible import ceiling_words
from auditor.report.rates import NOT_COMPARABLE, factor, interval, is_comparable, marks_of
from auditor.report.shown import NOT_KNOWN, figure, one_line, plain
from auditor.report.site.claimwords import card_of, case_values, fork_of, slug_of
from auditor.report.site.entries import Entry, Fact, Figure, Kept
from auditor.report.site.filing import LARGEST_READ, UNREADABLE, Rule, check_files, kept_files, told
from auditor.report.site.found import Found
from auditor.terms import Match

MARKS = (names.RUN, names.PLAN, names.WIRE, names.VERDICT)
"""A folder that holds one of these is a run's."""
_READ = (names.CLAIM, names.PLAN, names.RUN, names.VERDICT, names.MANIFEST, names.AMENDMENTS)
_ALSO = (names.REPORT, names.MANIFEST, names.TOKENS, names.METRICS)
"""Files beside the evidence that a reader may want."""
_FIELDS = {"GPU": "hardware", "model": "model", "engine": "engine", "speculation method": "speculation"}
_NOT_JUDGED = "it was not judged yet: `audit judge` does that"


def read_run(folder: Path, where: str, rule: Rule) -> Found:
    """The run in a folder; never raises for what the folder holds. `where` is the folder below the reports tree."""
    parent, name = Path(where).parent.name, one_line(folder.name, 120)
    claim = parent if is_identifier(parent) else None
    found = Found(folder, where, Entry(kind="run", id=name, slug=slug_of(folder.name), claim=claim, title=name))
    try:
        check_files(folder, _READ)
        run = RunFolder(folder)
        _claim(found, run)
        _run(found, run)
        _verdict(found, run, rule)
        found.update(amendments=amendments_of(run))
    except UNREADABLE as error:
        found.update(problem=told(error), files=())
    return found


def _claim(found: Found, run: RunFolder) -> None:
    claim, case = run.claim()
    found.card, found.fork, found.claim_text = card_of(claim), fork_of(case), run.read(names.CLAIM)
    found.update(**case_values(claim, case, found.fork))


def _run(found: Found, run: RunFolder) -> None:
    record = run.run()
    when = datetime.fromtimestamp(record.started_ns / 1e9, UTC).isoformat(timespec="seconds")
    found.update(id=one_line(record.run, 120), slug=slug_of(record.run), started=when, started_ns=record.started_ns)


def _verdict(found: Found, run: RunFolder, rule: Rule) -> None:
    if not (run.path / names.VERDICT).exists():
        raise EvidenceError(_NOT_JUDGED)
    files = kept_files(run.path, set(_names(run.path)), rule)
    run.check(*(one.name for one in files))
    verdict = run.record(names.VERDICT, Verdict)
    found.update(**verdict_values(verdict, found.entry))
    if (seen := _secret(run, files, rule)) is not None:
        raise EvidenceError(f"nothing of its folder is published: {seen}")
    found.update(files=files)


def _names(folder: Path) -> Iterator[str]:
    for path in (*folder.iterdir(), *(folder / names.WITNESSES).glob("*")):
        name = path.relative_to(folder).as_posix()
        if is_run_file(name) or name in _ALSO:
            yield name


def _secret(run: RunFolder, files: tuple[Kept, ...], rule: Rule) -> str | None:
    """Why the folder must not be published; a wire log is looked at only where it is copied."""
    copied = [one.name for one in files if one.left_out is None and one.bytes <= LARGEST_READ]
    evidence = run.evidence() if rule.wire_logs else assemble([], None)
    return next(secrets_seen({name: run.read(name) for name in copied if name != names.WIRE}, evidence), None)


def verdict_values(verdict: Verdict, entry: Entry) -> dict[str, Any]:
    """What an entry takes from the verdict."""
    claimed, marks = verdict.claimed, marks_of(verdict.claimed)
    estimate = verdict.delivered.estimate if verdict.delivered else None
    delivered = Figure(text=NOT_KNOWN, note="nothing was measured")
    if estimate is not None:
        delivered = Figure(text=figure(estimate.value, marks), value=estimate.value, note=interval(estimate, marks))
    times = factor(verdict, verdict.delivered)
    ratio = Figure(text="" if is_comparable(verdict) else NOT_COMPARABLE)
    if times is not None:
        ratio = Figure(text=times, value=verdict.factor)
    text = one_line(claimed.text, 80)
    return {
        "claimed": Figure(text=text, value=entry.claimed.value),
        "delivered": delivered,
        "factor": ratio,
        "verdict": verdict.kind.value,
        "sentence": plain(sentence_of(verdict), 1000),
        "said": plain(verdict.sentence, 1000),
        "reasons": tuple(one_line(reason, 500) for reason in (*verdict.reasons[:20], *_possible(verdict))),
        "flags": tuple((label, one_line(words, 300)) for label, words in flags_of(verdict)),
        **_observed(verdict, entry),
    }


def _possible(verdict: Verdict) -> tuple[str, ...]:
    """Whether the claim lies below what its hardware can do, where that was asked."""
    return () if verdict.ceiling is None else (f"Possible on its hardware? {ceiling_words(verdict.ceiling)}",)


def _observed(verdict: Verdict, entry: Entry) -> dict[str, Fact]:
    """What was seen beside what is stated, where the two differ."""
    facts = {}
    for row in verdict.comparisons:
        name = _FIELDS.get(row.field)
        if name is not None and row.observed is not None and row.match is not Match.EQUAL:
            stated_: Fact = getattr(entry, name)
            facts[name] = stated_.model_copy(update={"observed": one_line(row.observed, 80)})
    return facts
