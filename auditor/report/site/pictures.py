"""Badges and cards: what an audit says in one picture. Colours are those of the pages."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from auditor.report.shown import one_line
from auditor.report.site.entries import Entry
from auditor.report.site.pages import tone_of, verdict_words
from auditor.report.templating import text_of
from auditor.terms import VerdictKind

CARD_WIDTH, CARD_HEIGHT = 1200, 630
_NARROW, _WIDE = frozenset("iljtf.,:;'|!()[] ·-"), frozenset("mwMW@%—")
_LETTER_PX = 6.4
_PAD_PX = 8
_TITLE_LETTERS, _TITLE_LINES = 38, 3
_TITLE_PX, _TITLE_WIDTH_PX, _TITLE_EM = 52, 1056, 0.56
"""Largest title, room for a line, and the width of a common letter by the height of the font."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a badge, placed."""

    text: str
    color: str
    left: float
    width: float
    inner: float
    """Width of the text."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A badge, laid out; lengths in px."""

    label: str
    parts: tuple[Part, ...]
    width: float


@dataclass(frozen=True, slots=True)
class Card:
    """A card, laid out."""

    lines: tuple[str, ...]
    """The title."""
    size: int
    """Of its letters, px."""
    tiles: tuple[tuple[str, str], ...]
    """Label and value."""
    verdict: str
    tone: str
    note: str


@cache
def tokens() -> dict[str, str]:
    """The colours of the pages in light, by name."""
    light = text_of("style.css").partition("@media")[0]
    return dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{3,6})\b", light))


def badge_of(entry: Entry, *, speaks: bool = True) -> Badge:
    """`claimed 100 · delivered 98 · reproduced`; delivered only where it is of the thing that was claimed.

    With `speaks` false the entry lends its claimed number alone: none of the claim's audits stands.
    """
    gone = [word for word in entry.words if word in ("withdrawn", "removed")]
    parts = []
    if entry.claimed.value is not None:
        parts.append((f"claimed {_number(entry.claimed.text)}", "faint"))
    if entry.delivered.value is not None and is_of_claim(entry) and not gone and speaks:
        parts.append((f"delivered {_number(entry.delivered.text)}", "faint"))
    parts = parts or [("audit", "faint")]
    tone = tone_of(entry)
    last = "no verdict that stands" if not speaks else gone[0] if gone else verdict_words(entry)
    return _laid_out([*parts, (last, "faint" if tone == "plain" else tone)])


def tally_badge(entries: Sequence[Entry], cases: int) -> Badge:
    """For a claim with several numbers: how many were audited, and with which verdicts."""
    kinds = [kind.value for kind in VerdictKind]
    counts = {kind: sum(one.verdict == kind for one in entries) for kind in kinds}
    parts = [(f"{len(entries)} of {cases} numbers audited", "faint")]
    tones = {one.verdict: tone_of(one) for one in entries}
    parts += [(f"{number} {kind}", tones[kind]) for kind, number in counts.items() if number]
    return _laid_out(parts)


def is_of_claim(entry: Entry) -> bool:
    """Whether what was delivered may be set against what was claimed."""
    is_rehearsal = any(label == "Rehearsal" for label, _ in entry.flags)
    return entry.verdict != VerdictKind.NOT_COMPARABLE.value and not is_rehearsal


def card_of_entry(entry: Entry) -> Card:
    """The card of an audit."""
    tiles = [("Claimed", entry.claimed.text or "no number")]
    if entry.delivered.value is not None:
        tiles.append(("Delivered", f"{entry.delivered.text} tok/s"))
    if is_of_claim(entry) and entry.factor.value is not None:
        tiles.append(("Claimed / delivered", entry.factor.text))
    words = ", ".join((*entry.words, *(label.lower() for label, _ in entry.flags)))
    note = " · ".join(part for part in (entry.claim, words, (entry.started or "")[:10]) if part)
    return _card(entry.title, tiles, verdict_words(entry), tone_of(entry), note)


def card_of_site(title: str, summary: str) -> Card:
    """The card of the front page."""
    return _card(title, [], summary, "plain", "claimed, delivered, and the evidence")


def _card(title: str, tiles: list[tuple[str, str]], verdict: str, tone: str, note: str) -> Card:
    lines = textwrap.wrap(one_line(title, 300), _TITLE_LETTERS, max_lines=_TITLE_LINES, placeholder=" …")
    widest = max((_width(line) for line in lines), default=0)
    size = min(_TITLE_PX, int(_TITLE_WIDTH_PX / (_TITLE_EM * max(widest, _LETTER_PX) / _LETTER_PX)))
    shown = tuple((label, one_line(value, 18)) for label, value in tiles)
    return Card(tuple(lines), size, shown, one_line(verdict, 40), tone, one_line(note, 80))


def _number(text: str) -> str:
    return one_line(text.removesuffix(" tok/s"), 24)


def _laid_out(parts: Sequence[tuple[str, str]]) -> Badge:
    placed, left = [], 0.0
    for text, color in parts:
        inner = round(_width(text), 1)
        placed.append(Part(text, tokens()[color], left, inner + 2 * _PAD_PX, inner))
        left = round(left + inner + 2 * _PAD_PX, 1)
    return Badge(" · ".join(text for text, _ in parts), tuple(placed), left)


def _width(text: str) -> float:
    """Of a text on a badge, px; fonts differ, so badges are drawn to this length, and other texts have room."""
    return sum(map(_letter, text))


def _letter(letter: str) -> float:
    return _LETTER_PX * (0.58 if letter in _NARROW else 1.7 if letter in _WIDE or ord(letter) > 0x2E80 else 1.0)
