"""Every file of the site, by its path: pages, pictures, feeds, data and the files that are copied. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from auditor.core.folder import REPORT
from auditor.core.wording import figure, plural
from auditor.report.shown import one_line
from auditor.report.site import pages, pictures
from auditor.report.site.entries import AUDITS, ClaimCard, Entry
from auditor.report.site.feeds import feeds
from auditor.report.site.filing import LARGEST, LARGEST_PAGE, Rule
from auditor.report.site.found import Found
from auditor.report.site.gathering import Gathered
from auditor.report.site.rendering import page, picture
from auditor.report.site.writing import Content, Copied, Drawn

BADGE, CARD, CLAIM_FILE, INDEX = "badge.svg", "card.png", "claim.yaml", "index.html"
_TABLE: dict[str, Any] = {"columns": pages.COLUMNS, "numbers": pages.NUMBERS}


@dataclass(frozen=True, slots=True)
class Site:
    """What holds for every page."""

    title: str
    rule: Rule
    base_url: str = ""
    """Where the site will be, with a slash at its end; empty where that is not known."""
    has_cards: bool = True


@dataclass(frozen=True, slots=True)
class Head:
    """What a page says of itself to those who link to it."""

    title: str
    words: str
    card: str


def build(gathered: Gathered, site: Site) -> dict[str, Content]:
    """The whole site; the same for the same input."""
    audits = gathered.audits
    contents: dict[str, Content] = {".nojekyll": b"", AUDITS: audits.to_json()}
    contents |= feeds(site.title, audits.entries, site.base_url)
    contents |= front(gathered, site)
    for name, entries in pages.by_claim(audits).items():
        contents |= _claim(audits.claims[name], entries, gathered, site)
    for entry in audits.entries:
        found = gathered.folders.get(entry.key)
        if found is not None and found.page is not None:
            contents |= {f"{entry.place}{INDEX}": found.page, **_copies(entry, found)}
        elif entry.is_row and entry.kind != "claim":
            contents |= _audit(entry, gathered, site)
    for slug, (fork, entries) in pages.by_fork(audits).items():
        place = f"forks/{slug}/"
        head = Head(fork.name, pages.sum_up(entries), "")
        reviews = [(one, one.key in gathered.folders) for one in entries if not one.is_row]
        rows = _rows(entries)
        contents[f"{place}{INDEX}"] = page(
            "fork.html", place=place, site=site, head=head, card=fork, rows=rows, reviews=reviews, **_TABLE
        )
    return contents


def front(gathered: Gathered, site: Site) -> dict[str, Content]:
    """The front page and its card."""
    entries = gathered.audits.entries
    rows, summary = _rows(entries), pages.sum_up(entries)
    audited = [one for one in entries if one.is_audit]
    forks = [(fork, pages.sum_up(of)) for fork, of in pages.by_fork(gathered.audits).values()]
    head = Head(site.title, summary, CARD if site.has_cards else "")
    made = page(
        "front.html", place="", site=site, head=head, rows=rows, summary=summary, counts=pages.counts_of(audited),
        choices=pages.choices(rows), forks=forks, **_TABLE,
    )  # fmt: skip
    return {INDEX: made, **_card("", pictures.card_of_site(site.title, summary), site)}


def _claim(card: ClaimCard, entries: Sequence[Entry], gathered: Gathered, site: Site) -> dict[str, Content]:
    place, standing = f"claims/{card.id}/", pages.standing(entries)
    audited = [one for one in entries if one.is_audit]
    shown = standing or next(iter(entries))
    badge = _claim_badge(card, entries, shown)
    drawn = picture("badge.svg", badge=badge)
    forks = [fork for slug, fork in gathered.audits.forks.items() if slug in {one.fork for one in entries}]
    words = shown.sentence or pages.verdict_words(shown)
    made = page(
        "claim.html", place=place, site=site, card=card, badge=Markup(drawn.strip()), badge_label=badge.label,
        head=Head(card.title, one_line(f"{badge.label}. {words}", 300), CARD if site.has_cards else ""),
        rows=_rows(audited), events=pages.events_of(entries), forks=forks, has_text=card.id in gathered.texts,
        **_TABLE,
    )  # fmt: skip
    contents: dict[str, Content] = {f"{place}{INDEX}": made, f"{place}{BADGE}": drawn.encode()}
    if card.id in gathered.texts:
        contents[f"{place}{CLAIM_FILE}"] = gathered.texts[card.id]
    return contents | _card(place, pictures.card_of_entry(shown), site)


def _claim_badge(card: ClaimCard, entries: Sequence[Entry], shown: Entry) -> pictures.Badge:
    if card.cases == 1:
        return pictures.badge_of(shown, speaks=shown.is_standing or shown.kind == "claim")
    each = {one.case: [other for other in entries if other.case == one.case] for one in entries if one.case}
    found = [one for one in map(pages.standing, each.values()) if one is not None]
    return pictures.tally_badge(found, card.cases)


def _audit(entry: Entry, gathered: Gathered, site: Site) -> dict[str, Content]:
    found = gathered.folders.get(entry.key)
    copies = {} if found is None else _copies(entry, found)
    badge = pictures.badge_of(entry)
    drawn = picture("badge.svg", badge=badge)
    words = one_line(entry.sentence or entry.problem or pages.verdict_words(entry), 300)
    title = f"{pages.verdict_words(entry)}: {entry.title}"
    made = page(
        "audit.html", place=entry.place, site=site, entry=entry, row=pages.row_of(entry),
        head=Head(title, words, CARD if site.has_cards else ""), meaning=pages.meaning_of(entry),
        notices=_notices(entry), report=REPORT if f"{entry.place}{REPORT}" in copies else "",
        tiles=_tiles(entry), facts=_facts(entry),
        badge=Markup(drawn.strip()), badge_label=badge.label, events=pages.events_of([entry]),
        files=pages.file_rows(entry), rule=rule_words(site.rule),
    )  # fmt: skip
    contents: dict[str, Content] = {f"{entry.place}{INDEX}": made, f"{entry.place}{BADGE}": drawn.encode()}
    return contents | copies | _card(entry.place, pictures.card_of_entry(entry), site)


def _copies(entry: Entry, found: Found) -> dict[str, Content]:
    """The files of an entry's folder that are on the site."""
    kept = [one for one in entry.files if one.left_out is None]
    return {f"{entry.place}{one.name}": Copied(found.folder / one.name, one.sha256) for one in kept}


def _notices(entry: Entry) -> list[tuple[str, str]]:
    """What a reader must know before anything else."""
    found = [("Withdrawn", one.text) for one in entry.amendments if one.kind == "withdrawal"]
    if entry.removed_ns is not None:
        found.append(("Removed", "its folder is no longer among the reports, so its evidence cannot be seen here"))
    if entry.problem:
        found.append(("Not whole", entry.problem))
    others = [one for one in entry.amendments if one.kind != "withdrawal"]
    if others:
        found.append(("Amended", f"{plural(len(others), 'reply or correction', 'replies or corrections')} below"))
    return [(label, one_line(words, 1000)) for label, words in found]


def _tiles(entry: Entry) -> list[tuple[str, str, str]]:
    tiles = [("Claimed", entry.claimed.text or "no number", entry.basis or "basis not stated")]
    if entry.delivered.text:
        unit = " tok/s" if entry.delivered.value is not None else ""
        tiles.append(("Delivered", f"{entry.delivered.text}{unit}", entry.delivered.note))
    if entry.factor.text:
        tiles.append(("Claimed / delivered", entry.factor.text, entry.factor.note))
    return tiles


def _facts(entry: Entry) -> list[tuple[str, Any]]:
    names = ("hardware", "model", "engine", "speculation")
    return [(name.capitalize(), getattr(entry, name)) for name in names]


def rule_words(rule: Rule) -> str:
    """Which files of an audit are on the site."""
    small, large = figure(LARGEST / (1 << 20)), figure(LARGEST_PAGE / (1 << 20))
    wire = "Wire logs are here whatever their size" if rule.wire_logs else "Wire logs are not here"
    return (
        f"{wire}; of other files those up to {small} MiB, pages up to {large} MiB. The rest is listed with its digest."
    )


def _rows(entries: Sequence[Entry]) -> list[pages.Row]:
    return [pages.row_of(one) for one in entries if one.is_row]


def _card(place: str, card: pictures.Card, site: Site) -> dict[str, Content]:
    return {f"{place}{CARD}": Drawn(picture("card.svg", card=card))} if site.has_cards else {}
