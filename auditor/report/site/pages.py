"""From what is published to the views that the templates show: every value as it is shown. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from auditor.core.amendment import TITLES
from auditor.core.wording import plural
from auditor.report.head import MEANINGS, TONES
from auditor.report.shown import plain
from auditor.report.site.claimwords import spoken
from auditor.report.site.entries import Audits, Entry, Fact, ForkCard, Kept
from auditor.terms import VerdictKind

NOT_STATED = "not stated"
NO_VERDICT = {
    "run": "no verdict",
    "import": "no claim",
    "claim-review": "reviewed",
    "claim": "not audited",
    "review": "reviewed",
    "sweep": "swept",
}
_MADE = {"run": ("Run", "Measured"), "import": ("Import", "Imported"), "claim-review": ("Review", "Reviewed")}
"""What an audit is called, and what was done, by its kind."""
COLUMNS = ("Audit", "Claimed", "Delivered", "Factor", "Verdict", "Hardware", "Model", "Engine", "Speculation", "Date")
NUMBERS = (1, 2, 3)
"""Columns that hold numbers."""
FILTERS = (("verdict", 4), ("hardware", 5), ("model", 6), ("engine", 7), ("speculation", 8))
"""Fields by which the table can be narrowed, and their columns."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    title: str
    href: str
    """From the root of the site."""
    name: str
    """Small print beneath: the claim, the measurement, the kind."""
    numbers: tuple[tuple[str, str, str], ...]
    """Text, value for sorting and small print of claimed, delivered and factor."""
    verdict: str
    tone: str
    words: str
    """What became of it and what limits it: withdrawn, rehearsal."""
    facts: tuple[tuple[str, str], ...]
    """Stated and small print of the four fields."""
    date: str
    problem: str


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened to an audit."""

    at_ns: int | None
    date: str
    label: str
    tone: str
    text: str
    note: str = ""
    href: str = ""
    """From the root of the site; empty for none."""
    url: str = ""
    """Of the web; empty for none."""


@dataclass(frozen=True, slots=True)
class FileRow:
    """A file of an audit."""

    name: str
    href: str
    """From the audit's own folder; empty where it is not on the site."""
    size: str
    sha256: str
    left_out: str


def row_of(entry: Entry) -> Row:
    """An entry as a row."""
    own = "" if entry.kind == "claim" else entry.id
    grade = f"grade {entry.grade}" if entry.grade else ""
    name = " · ".join(part for part in (entry.claim, entry.case, own, grade) if part)
    figures = (entry.claimed, entry.delivered, entry.factor)
    limits = (*entry.words, *(label.lower() for label, _ in entry.flags))
    return Row(
        title=entry.title,
        href=f"{entry.place}index.html",
        name=name,
        numbers=tuple(
            (one.text.removesuffix(" tok/s"), "" if one.value is None else f"{one.value:g}", _unbroken(one.note))
            for one in figures
        ),
        verdict=verdict_words(entry),
        tone=tone_of(entry),
        words=", ".join(limits),
        facts=tuple(_cell(one) for one in (entry.hardware, entry.model, entry.engine, entry.speculation)),
        date=(entry.started or "")[:10],
        problem=entry.problem or "",
    )


def _unbroken(note: str) -> str:
    return note.replace(" = ", "\u00a0=\u00a0")


def _cell(fact: Fact) -> tuple[str, str]:
    return fact.stated or NOT_STATED, f"seen: {fact.observed}" if fact.observed else ""


def verdict_words(entry: Entry) -> str:
    """The verdict, or what stands where there is none."""
    if entry.verdict is not None:
        return entry.verdict
    return "not readable" if entry.problem else NO_VERDICT[entry.kind]


def tone_of(entry: Entry) -> str:
    """`ok`, `bad`, `warn` or `plain`: only a verdict that stands has a colour."""
    if not entry.is_standing or entry.verdict not in set(VerdictKind):
        return "plain"
    return TONES[VerdictKind(entry.verdict).exit_code]


def meaning_of(entry: Entry) -> str:
    """What the verdict of a run means, in a sentence; empty for others."""
    if entry.kind != "run" or entry.verdict is None or entry.verdict not in set(VerdictKind):
        return ""
    return MEANINGS[VerdictKind(entry.verdict)]


def events_of(entries: Iterable[Entry]) -> tuple[Event, ...]:
    """Everything that happened to these audits, the newest first; what has no date comes last."""
    found = [event for entry in entries for event in _events(entry)]
    return tuple(sorted(found, key=lambda one: -1 if one.at_ns is None else one.at_ns, reverse=True))


def _events(entry: Entry) -> list[Event]:
    if not entry.is_audit:
        return []
    called, verb = _MADE[entry.kind]
    href, name = f"{entry.place}index.html", f"{called} {entry.id}"
    label = f"{verb}: {verdict_words(entry)}"
    if entry.judgements:
        again = f"Judged again: {verdict_words(entry)}"
        found = [
            Event(entry.judged_ns, day(entry.judged_ns), again, tone_of(entry), entry.sentence or "", name, href),
            Event(entry.started_ns, day(entry.started_ns), verb, "plain", "", name, href),
        ]
    else:
        text = entry.sentence or entry.problem or ""
        found = [Event(entry.started_ns, day(entry.started_ns), label, tone_of(entry), text, name, href)]
    for one in entry.judgements:
        label = f"Verdict then: {one.verdict}"
        text = spoken(one.verdict, one.said)
        found.append(Event(one.judged_ns, day(one.judged_ns), label, "plain", text, name, href))
    for amendment in entry.amendments:
        by = f"by {plain(amendment.by)}, of {name}" if amendment.by else f"of {name}"
        url = amendment.url if (amendment.url or "").startswith(("https://", "http://")) else ""
        tone = "warn" if amendment.kind == "withdrawal" else "plain"
        text = plain(amendment.text, 20_000)
        label = TITLES[amendment.kind]
        found.append(Event(amendment.at_ns, day(amendment.at_ns), label, tone, text, by, href, url or ""))
    if entry.removed_ns is not None:
        text = "Its folder is no longer among the reports; what was published of it stays here, without its files."
        found.append(Event(entry.removed_ns, day(entry.removed_ns), "Removed", "warn", text, name, href))
    return found


def day(ns: int | None) -> str:
    """The UTC day of a moment since the epoch."""
    if ns is None:
        return "date not known"
    return f"{datetime.fromtimestamp(ns // 10**9, UTC):%Y-%m-%d}"


def file_rows(entry: Entry) -> tuple[FileRow, ...]:
    """The files of an audit."""
    return tuple(
        FileRow(one.name, "" if one.left_out else one.name, _size(one), one.sha256, one.left_out or "")
        for one in entry.files
    )


def _size(one: Kept) -> str:
    return f"{one.bytes:,} bytes" if one.bytes < 10_000 else f"{one.bytes / 1000:,.0f} kB"


def standing(entries: Sequence[Entry]) -> Entry | None:
    """The audit that speaks for a claim: the newest that stands, a full audit before a rehearsal or a quick look, a
    run before an import; None where none stands."""
    found = [one for one in entries if one.is_standing]
    return min(found, key=lambda one: (one.kind != "run", bool(one.flags), -(one.started_ns or 0)), default=None)


def counts_of(entries: Iterable[Entry]) -> tuple[tuple[str, str, int], ...]:
    """Verdict, tone and number of the audits that stand, then of all others, the most frequent first."""
    counted = Counter(
        (verdict_words(one) if one.is_standing else "no verdict that stands", tone_of(one)) for one in entries
    )
    return tuple(
        (words, tone, number) for (words, tone), number in sorted(counted.items(), key=lambda one: (-one[1], one[0]))
    )


def choices(rows: Sequence[Row]) -> tuple[tuple[str, int, tuple[str, ...]], ...]:
    """What each filter offers: its field, its column, and the values that rows have."""
    found = []
    for field, column in FILTERS:
        values = {row.verdict if field == "verdict" else row.facts[column - 5][0] for row in rows}
        found.append((field, column, tuple(sorted(values, key=str.casefold)[:300])))
    return tuple(found)


def by_claim(audits: Audits) -> dict[str, tuple[Entry, ...]]:
    """The entries of each claim, the newest first."""
    found: dict[str, list[Entry]] = {name: [] for name in audits.claims}
    for one in audits.entries:
        if one.claim is not None:
            found[one.claim].append(one)
    return {name: tuple(entries) for name, entries in found.items()}


def by_fork(audits: Audits) -> dict[str, tuple[ForkCard, tuple[Entry, ...]]]:
    """The entries of each fork."""
    return {
        slug: (card, tuple(one for one in audits.entries if one.fork == slug)) for slug, card in audits.forks.items()
    }


def sum_up(entries: Sequence[Entry]) -> str:
    """How many audits there are, of how many claims."""
    audited = {one.claim for one in entries if one.claim and one.is_audit}
    number = sum(one.is_audit for one in entries)
    parts = [f"{plural(number, 'audit')} of {plural(len(audited), 'claim')}"] if number else []
    waiting = len({one.claim for one in entries if one.claim} - audited)
    parts += [f"{plural(waiting, 'claim')} not audited yet"] if waiting else []
    return ", ".join(parts) or "no audit yet"
