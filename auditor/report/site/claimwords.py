"""What a claim states, in a few words: for the columns of the table, its own page and the page of its fork."""

import hashlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from auditor.core.claim.claim import Case, Claim
from auditor.core.wording import plural
from auditor.reference.gpus import find_cards
from auditor.report.shown import one_line
from auditor.report.site.entries import ClaimCard, Fact, Figure, ForkCard

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_CELL, _LONG = 80, 1000
"""Letters of a cell of the table, and of a line of a claim's page."""


def slug_of(text: str) -> str:
    """A name as part of an address: itself where it may be that, else its letters and six digits of its digest."""
    if _SAFE.fullmatch(text) and not text.endswith("."):
        return text
    letters = re.sub(r"[^a-z0-9]+", "-", text.lower())[:60].strip("-") or "unnamed"
    return f"{letters}-{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:6]}"


def fork_of(case: Case) -> ForkCard | None:
    """The fork that a claim names, by its address or else by its name; None where it names none."""
    fork = case.engine.fork
    commits = () if fork.commit is None else (fork.commit.lower(),)
    if fork.url is not None:
        parts = urlsplit(fork.url)
        place = f"{(parts.hostname or '').lower()}{parts.path.rstrip('/').removesuffix('.git')}"
        return ForkCard(slug=slug_of(place), name=one_line(fork.name or place, 200), url=fork.url, commits=commits)
    if fork.name is not None:
        return ForkCard(slug=slug_of(fork.name.strip()), name=one_line(fork.name, 200), commits=commits)
    return None


def case_values(claim: Claim, case: Case, fork: ForkCard | None) -> dict[str, Any]:
    """What an entry takes from the claim alone."""
    return {
        "claim": claim.id,
        "case": None if case.id == claim.id else case.id,
        "title": one_line(case.title, 300),
        "claimed": claimed_of(case),
        "basis": case.reported.basis.value if case.reported.basis else None,
        "fork": fork.slug if fork else None,
        **stated(case),
    }


def without_number(claim: Claim) -> dict[str, Any]:
    """What stands in place of one measurement where a claim has several and none is meant."""
    numbers = plural(len(claim.cases()), "number")
    return {"case": None, "title": one_line(claim.title, 300), "claimed": Figure(text=numbers), "basis": None}


def spoken(verdict: str, said: str) -> str:
    """A verdict's sentence without its kind, which stands beside it."""
    words = said.removeprefix(f"{verdict}: ")
    return f"{words[:1].upper()}{words[1:]}."


def stated(case: Case) -> dict[str, Fact]:
    """The four columns of the table, as the claim states them."""
    return {
        "hardware": _fact(hardware_words(case)),
        "model": _fact(" ".join(part for part in (case.model.id, case.model.quantisation) if part)),
        "engine": _fact(_engine(case)),
        "speculation": _fact(_speculation(case)),
    }


def claimed_of(case: Case) -> Figure:
    """The number that was published."""
    interval = case.reported.interval()
    value = None if interval is None else sum(interval) / 2
    return Figure(text=one_line(case.reported.as_text(), _CELL), value=value)


def card_of(claim: Claim) -> ClaimCard:
    """What the page of a claim says of it."""
    source = claim.source
    lines = [
        ("Published", " ".join(part for part in (source.date, source.kind and f"({source.kind})") if part)),
        ("In the words", source.quote and f"“{source.quote}”"),
        ("Evidence given", source.evidence),
        ("Reported by", claim.reported_by),
        ("Disputed by", claim.disputed_by),
        *(("The disputer says", text) for text in claim.disputer_says),
        *_case_lines(claim),
        ("Notes", claim.notes),
    ]
    facts = tuple((label, one_line(words, _LONG)) for label, words in lines if words)
    return ClaimCard(
        id=claim.id, title=one_line(claim.title, 300), facts=facts, url=source.url, cases=len(claim.cases())
    )


def _case_lines(claim: Claim) -> Iterator[tuple[str, str]]:
    cases = claim.cases()
    if len(cases) > 1:
        yield "Measurements", plural(len(cases), "number") + " under one claim"
        return
    case = cases[0]
    basis = case.reported.basis.value if case.reported.basis else "basis not stated"
    yield "Claimed", f"{case.reported.as_text()}, {basis}"
    for label, fact in stated(case).items():
        yield label.capitalize(), fact.stated or "not stated"


def hardware_words(case: Case) -> str:
    """The cards as the table of GPUs calls them where it knows them: `4 × RTX PRO 6000`."""
    gpu, count = case.hardware.gpu, case.hardware.count
    if gpu is None:
        return "" if count is None else plural(count, "GPU")
    cards = find_cards(gpu)
    name = cards[0].title if len(cards) == 1 else gpu
    return f"{count} × {name}" if count else name


def _engine(case: Case) -> str:
    engine = case.engine
    words = " ".join(part for part in (engine.name, engine.version) if part)
    if not engine.is_fork:
        return words
    return f"{words} (fork)" if engine.fork.name or engine.fork.url or engine.fork.commit else f"{words} (patched)"


def _speculation(case: Case) -> str:
    one = case.speculation
    if one.is_off:
        return "off"
    k = f"k = {one.draft_tokens}" if one.draft_tokens else ""
    return ", ".join(part for part in (one.method or ("on" if k else ""), k) if part)


def _fact(words: str) -> Fact:
    return Fact(stated=one_line(words, _CELL) or None)
