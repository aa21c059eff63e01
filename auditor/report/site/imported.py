"""An imported result as an entry of the site: what it proves, never a measurement of ours."""

import re
from pathlib import Path
from typing import Any

import orjson

from auditor.core import folder as names
from auditor.core.claim.claim import parse_claim
from auditor.core.folder import RunFolder
from auditor.core.imports.claimed import Beside
from auditor.core.imports.record import Imported
from auditor.core.imports.stored import IMPORT, REQUESTS
from auditor.core.wording import plural
from auditor.errors import EvidenceError
from auditor.report.shown import one_line, plain
from auditor.report.site.claimwords import card_of, case_values, fork_of, slug_of, spoken, without_number
from auditor.report.site.entries import Entry, Fact
from auditor.report.site.filing import UNREADABLE, Rule, check_files, kept_files, told
from auditor.report.site.found import Found

BESIDE = "beside.json"
MARKS = (IMPORT,)
"""A folder that holds it is an import's."""
_ORIGINAL = re.compile(r"original-[A-Za-z0-9._-]{1,100}")
"""How an original is named; another name could lead out of the folder, or stand for a page of the site."""
_FIGURES = 12


def read_import(folder: Path, where: str, rule: Rule) -> Found:
    """The import in a folder; never raises for what the folder holds."""
    name = one_line(folder.name, 120)
    found = Found(folder, where, Entry(kind="import", id=name, slug=slug_of(folder.name), claim=None, title=name))
    try:
        check_files(folder, (IMPORT, BESIDE, names.CLAIM, names.MANIFEST))
        run = RunFolder(folder)
        _claim(found, run)
        record = run.record(IMPORT, Imported)
        stored = {one.stored for one in record.originals if one.stored and _ORIGINAL.fullmatch(one.stored)}
        files = kept_files(folder, {IMPORT, REQUESTS, BESIDE, names.MANIFEST, *stored}, rule)
        run.check(*(one.name for one in files))
        found.update(**_values(found.entry, record), files=files)
        _beside(found, run)
    except UNREADABLE as error:
        found.update(problem=told(error), files=())
    return found


def _claim(found: Found, run: RunFolder) -> None:
    if not (run.path / names.CLAIM).exists():
        return
    data = run.read(names.CLAIM)
    claim = parse_claim(data.decode("utf-8"), names.CLAIM)
    case = claim.cases()[0]
    found.card, found.fork, found.claim_text = card_of(claim), fork_of(case), data
    values = case_values(claim, case, found.fork)
    if len(claim.cases()) > 1:
        # Which of the measurements the file was laid beside is not in the folder.
        values |= without_number(claim)
    found.update(**values)


def _values(entry: Entry, record: Imported) -> dict[str, Any]:
    tool = " ".join(part for part in (record.tool, record.tool_version) if part)
    title = entry.title if entry.claim else f"A result of {tool}"
    figures = [
        f"{one.name}: {one.value:g} {one.unit}"
        for result in record.results
        for one in result.figures
        if "tok" in one.unit
    ]
    reasons = [f"A file of {tool}; {record.grade.meaning}", *record.notes]
    if figures:
        shown = "; ".join(figures[:_FIGURES])
        more = f"; and {plural(len(figures) - _FIGURES, 'more')}" if len(figures) > _FIGURES else ""
        reasons.append(f"It prints {shown}{more}")
    failed = [one.sentence for result in record.results for one in result.findings if one.outcome.value == "fails"]
    settings = record.results[0].settings if record.results else None
    return {
        "title": one_line(title, 300),
        "sentence": plain(f"{tool}, evidence of grade {record.grade.value}.", 1000),
        "reasons": tuple(one_line(words, 600) for words in (*reasons, *failed)[:20]),
        "model": _named(entry.model, settings.model if settings else None),
        "engine": _named(entry.engine, settings.server if settings else None),
    }


def _named(fact: Fact, observed: str | None) -> Fact:
    return fact if observed is None else fact.model_copy(update={"observed": one_line(observed, 80)})


def _beside(found: Found, run: RunFolder) -> None:
    if not (run.path / BESIDE).exists():
        return
    try:
        each = [Beside.model_validate_json(orjson.dumps(one)) for one in orjson.loads(run.read(BESIDE))]
    except (ValueError, TypeError):
        raise EvidenceError("is damaged", where=BESIDE) from None
    if each:
        first, entry = each[0], found.entry
        reasons = tuple(one_line(words, 600) for words in first.reasons)
        said = plain(first.sentence, 1000)
        sentence = spoken(first.verdict.value, said)
        found.update(verdict=first.verdict.value, sentence=sentence, said=said, reasons=(*reasons, *entry.reasons))
