"""Decides to which measurement each thing that a post states belongs: to all, to one rate, or to none for certain."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from auditor.core.post.rates import Rate, Scan
from auditor.core.post.scan import Doubt, Stated

_FOLLOWS = {"engine.version": "engine.name", "hardware.count": "hardware.gpu"}
"""Fields that say nothing while the one they hang on is open."""
_SPECULATION = "speculation."
_METHOD = "speculation.method"
_MAX_WORDS = 4


@dataclass(frozen=True, slots=True)
class Placed:
    """Where the stated things go, at most one value a field in each place."""

    common: tuple[Stated, ...]
    rows: tuple[tuple[Stated, ...], ...]
    """One for each rate, where there are several."""
    doubts: tuple[Doubt, ...]


def placed(scan: Scan, rates: Sequence[Rate], answers: Sequence[Stated]) -> Placed:
    """What holds for all measurements, what for one, and what is left out; an answer goes before the post.

    With several rates, speculation is common only if the post names one way and ties it to no single rate.
    """
    answered = {item.field: item for item in answers}
    is_off = _is_off(answers)
    fields: dict[str, list[Stated]] = {}
    for item in scan.stated:
        if item.field not in answered and not (is_off and item.field.startswith(_SPECULATION)):
            fields.setdefault(item.field, []).append(item)
    # A rate that was not taken is one that words may belong to.
    several = len(rates) > 1 or (bool(rates) and scan.skipped)
    open_fields = _open_fields(fields, rates, several=several, compares=scan.compares)
    common = [*answered.values(), *(_one(items) for name, items in fields.items() if name not in open_fields)]
    rows = tuple(_row(rate, open_fields) for rate in rates) if several else ()
    doubts = [_doubt(name, fields[name]) for name in open_fields if not rows or any(_lacks(row, name) for row in rows)]
    everywhere = [item for item in common if item is not None]
    if len(rates) == 1:
        everywhere, rows = [*everywhere, *(item for row in rows for item in row)], ()
    return Placed(*_without_drafts(everywhere, rows), tuple(doubts))


def _without_drafts(
    common: Sequence[Stated], rows: tuple[tuple[Stated, ...], ...]
) -> tuple[tuple[Stated, ...], tuple[tuple[Stated, ...], ...]]:
    """The same, with nothing about drafts where speculation was off: an answer to `k` is of the other rows."""
    drafts = tuple(item for item in common if item.field.startswith(_SPECULATION) and item.field != _METHOD)
    if not drafts or not any(map(_is_off, (common, *rows))):
        return tuple(common), rows
    rest = tuple(item for item in common if item not in drafts)
    if _is_off(common):
        return rest, rows
    return rest, tuple(row if _is_off(row) else (*row, *drafts) for row in rows)


def _is_off(items: Iterable[Stated]) -> bool:
    return any(item.field == _METHOD and item.value == "none" for item in items)


def _lacks(row: Sequence[Stated], name: str) -> bool:
    """Whether a row leaves a field open; without speculation there is nothing more to say of it."""
    return all(item.field != name for item in row) and not (_is_off(row) and name.startswith(_SPECULATION))


def _open_fields(
    fields: dict[str, list[Stated]], rates: Sequence[Rate], *, several: bool, compares: bool
) -> tuple[str, ...]:
    """The fields that are not the same for the whole post."""
    found = {name for name, items in fields.items() if _one(items) is None}
    speculation = {name for name in fields if name.startswith(_SPECULATION)}
    methods = {item.value for item in fields.get(_METHOD, ())}
    tied = {(item.field, item.start) for rate in rates for item in rate.own}
    if several and (compares or any((i.field, i.start) in tied for name in speculation for i in fields[name])):
        found |= speculation
    # What was off is off for a rate only by its own words: "130 tok/s; was 61 (MTP disabled)".
    is_loose = any(i.value == "none" and (i.field, i.start) not in tied for i in fields.get(_METHOD, ()))
    if "none" in methods and (several or len(speculation) > 1 or (bool(rates) and is_loose)):
        found |= speculation
    found |= {name for name, on in _FOLLOWS.items() if on in found and name in fields}
    return tuple(name for name in fields if name in found)


def _one(items: Iterable[Stated]) -> Stated | None:
    """The one answer among several spellings and shorter forms of it; None if they differ."""
    longest = max(items, key=lambda item: len(str(item.value)))
    whole = _key(longest)
    has_forms = longest.field == "model.id" or whole.startswith("rtx-pro-6000-blackwell")
    for item in items:
        if _key(item) != whole and not (has_forms and whole.startswith(f"{_key(item)}-")):
            return None
    return longest


def _key(item: Stated) -> str:
    return re.sub(r"[\s_-]+", "-", str(item.value).lower())


def _row(rate: Rate, open_fields: Sequence[str]) -> tuple[Stated, ...]:
    """What the own words of a rate settle of the open fields."""
    own: dict[str, list[Stated]] = {}
    for item in rate.own:
        if item.field in open_fields:
            own.setdefault(item.field, []).append(item)
    settled = {name: one for name, items in own.items() if (one := _one(items)) is not None}
    if _METHOD in own and any(item.value == "none" for item in own[_METHOD]):
        method = settled.get(_METHOD)
        # Off, and yet described: the words do not say which of the two this rate is.
        is_mixed = method is None or any(name.startswith(_SPECULATION) for name in settled if name != method.field)
        settled = {name: one for name, one in settled.items() if not (is_mixed and name.startswith(_SPECULATION))}
    return tuple(settled.values())


def _doubt(name: str, items: Sequence[Stated]) -> Doubt:
    words = list(dict.fromkeys(item.words for item in items))
    text = '", "'.join(words[:_MAX_WORDS])
    return Doubt(name, text, "of which measurement?" if len(words) == 1 else "which of them, and of which measurement?")
