"""Finds what a pasted post states: GPUs, models, engines, speculation; the rates are `auditor.core.post.rates`.

Only words that are there are taken, each with the words it came from and where they stand. A name that the post sets
itself against is no part of the claim; it becomes a doubt, as does whatever could mean two things.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from auditor.core.post.words import (
    ACCEPTANCE,
    CONTEXT,
    COUNT_WORDS,
    GPUS,
    LENGTH,
    NO_RIVAL,
    OF_A_RATE,
    OFF,
    RATE,
    RIVAL,
    SIMPLE,
    UNSURE_SUFFIX,
    WHOLE,
)

MAX_POST = 100_000
"""Longest post that is scanned, characters."""


@dataclass(frozen=True, slots=True)
class Stated:
    """One thing that a post says."""

    field: str
    """Field of the claim file, as `hardware.count`."""
    value: str | int
    words: str
    """The words it was read from."""
    start: int = -1
    """Where they begin in the post, characters; -1 for an answer."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """Words that could mean two things: nothing is taken from them, and the claimant is asked."""

    subject: str
    """What they are about, as `Number`."""
    words: str
    why: str


_MAX_GPUS = 20
_MAX_SHOWN = 8
_KILO = {n: n * 1024 for n in (4, 8, 16, 32, 64, 128, 256, 512)} | {65: 65_536, 131: 131_072, 262: 262_144}
"""What is meant by so many K of context; any other number is taken as thousands."""


def stated_in(post: str) -> tuple[Stated, ...]:
    """Everything but the rates, each time it is said; several answers to one field follow each other."""
    return tuple(item for item in _all(post) if not _is_rival(post, item) and not _is_unsure(post, item))


def doubts_in(post: str) -> tuple[Doubt, ...]:
    """What names a rival, or may be longer than the name that was read; the same words once."""
    found: dict[tuple[str, str], Doubt] = {}
    for item in _all(post):
        if item.field in _NAMED and _is_rival(post, item):
            before = post[max(0, item.start - 25) : item.start].split("\n")[-1]
            words = quoted(f"{before.partition(' ')[2] if len(before) == 25 else before}{item.words}")
            doubt = Doubt(_NAMED[item.field], words, f"{item.value} is what the claim is set against; on which was it?")
        elif item.field == "model.id" and _is_unsure(post, item):
            words = quoted(post[item.start :][: len(item.words) + 20].split("\n")[0]).rpartition(" ")[0]
            doubt = Doubt("Model", words, "is the last word part of the name?")
        else:
            continue
        found.setdefault((doubt.subject, item.words.lower()), doubt)
    return tuple(found.values())[:_MAX_SHOWN]


def quoted(words: str) -> str:
    """Words on one line."""
    return " ".join(words.split())


_NAMED = {"hardware.gpu": "GPU", "model.id": "Model", "engine.name": "Engine"}
_OF_A_RIVAL = (*_NAMED, "hardware.count", "engine.version")


def _all(post: str) -> list[Stated]:
    off = [match.span() for match in OFF.finditer(post)]
    found = [
        *_gpus(post),
        *_simple(post, {at for a, b in off for at in range(a, b)}),
        *_whole(post),
        *_context(post),
        *_acceptance(post),
    ]
    return found + [Stated("speculation.method", "none", quoted(post[a:b]), a) for a, b in off]


def _is_rival(post: str, item: Stated) -> bool:
    if item.field not in _OF_A_RIVAL:
        return False
    match = RIVAL.search(post[max(0, item.start - 90) : item.start])
    if match is None:
        return False
    between = match["mid"] or ""
    return NO_RIVAL.search(between) is None or RATE.search(between) is not None


def _is_unsure(post: str, item: Stated) -> bool:
    """Whether a small word that may belong to the name follows it."""
    end = item.start + len(item.words)
    return (
        item.field == "model.id"
        and item.words != item.words.lower()
        and UNSURE_SUFFIX.match(post[end : end + 20]) is not None
    )


def _gpus(post: str) -> Iterator[Stated]:
    taken: list[tuple[int, int]] = []
    for gpu, pattern in GPUS:
        for match in pattern.finditer(post):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            if len(taken) == _MAX_GPUS:
                return
            taken.append(match.span())
            several = match["several"] if match[0].lower().endswith("s") and gpu != "l40s" else None
            words = quoted(match[0])
            if match["several"] and several is None:
                words = words.partition(" ")[2]
            yield Stated("hardware.gpu", gpu, words, match.start())
            count = int(match["count"] or several or 0) or COUNT_WORDS.get((match["word"] or "").lower(), 0)
            if count:
                yield Stated("hardware.count", count, words, match.start())


def _simple(post: str, off: set[int]) -> Iterator[Stated]:
    for field, pattern in SIMPLE:
        for match in pattern.finditer(post):
            value = match["v"] if "v" in pattern.groupindex else match[0]
            value = quoted(value).rstrip(".")
            if field == "engine.fork.commit":
                value = value.lower()
            if field == "engine.name" and value.lower().startswith("llama-"):
                value = "llama.cpp"
            if field == "speculation.method":
                if match.start() in off:
                    continue
                value = value.lower().replace("-", "")
            yield Stated(field, int(value) if field.endswith("_w") else value, quoted(match[0]), match.start())


def _whole(post: str) -> Iterator[Stated]:
    for field, pattern in WHOLE:
        for match in pattern.finditer(post):
            value = int(next(group for group in match.groups() if group))
            if value >= 1 and OF_A_RATE.match(post, match.end()) is None:
                yield Stated(field, value, quoted(match[0]), match.start())


def _context(post: str) -> Iterator[Stated]:
    for match in CONTEXT.finditer(post):
        kilo = int(match["n"] or 0)
        tokens = _KILO.get(kilo, kilo * 1000) or int(match["exact"])
        if tokens:
            yield Stated("engine.context_length", tokens, quoted(match[0]), match.start())


def _acceptance(post: str) -> Iterator[Stated]:
    for match in ACCEPTANCE.finditer(post):
        low, high = match["low"] or match["low2"], match["high"] or match["high2"]
        ends = [Decimal(end) / 100 for end in (low, high) if end]
        if ends == sorted(ends) and ends[-1] <= 1:
            text = f"{ends[0]}" if len(ends) == 1 else f"[{ends[0]}, {ends[1]}]"
            yield Stated("speculation.acceptance", text, quoted(match[0]), match.start())
    for match in LENGTH.finditer(post):
        if Decimal(match["v"]) >= 1:
            yield Stated("speculation.acceptance_length", match["v"], quoted(match[0]), match.start())
