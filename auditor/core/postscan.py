"""Finds what a pasted post states: numbers with their unit, GPUs, models, engines, speculation.

Only words that are there are taken, each with the words it came from. A pattern that could mean two things is not
taken; two different answers to one question are both kept, and the writer of the draft shows the second as a comment.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

from auditor.core.postwords import (
    ACCEPTANCE,
    BASES,
    CONTEXT,
    COUNT_WORDS,
    GPUS,
    LENGTH,
    RATE,
    SIMPLE,
    STREAMS,
    WHOLE,
)

MAX_NUMBERS = 40
"""Rates taken from one post; a draft with more is of no help to anyone."""


@dataclass(frozen=True, slots=True)
class Stated:
    """One thing that a post says."""

    field: str
    """Field of the claim file, as `hardware.count`."""
    value: str | int
    words: str
    """The words it was read from."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of tokens per second."""

    low: str
    """As written, without thousands separators."""
    high: str | None
    """Upper end of a range."""
    about: bool
    words: str
    basis: str | None = None
    basis_words: str = ""
    streams: int | None = None
    streams_words: str = ""


MAX_POST = 100_000
"""Longest post that is scanned, characters."""
_SENTENCE = re.compile(r"[\n|]|[.;](?=\s|$)")
_AROUND = 90
"""Characters to either side of a rate in which its basis may be named."""
_MAX_GPUS = 20
_KILO = {n: n * 1024 for n in (4, 8, 16, 32, 64, 128, 256, 512)} | {65: 65_536, 131: 131_072, 262: 262_144}
"""What is meant by so many K of context; any other number is taken as thousands."""


def stated_in(post: str) -> tuple[Stated, ...]:
    """Everything but the rates, in the order of the fields; several answers to one field follow each other."""
    found = [*_gpus(post), *_simple(post), *_whole(post), *_context(post), *_acceptance(post)]
    unique: dict[tuple[str, str], Stated] = {}
    for item in found:
        unique.setdefault((item.field, str(item.value).lower()), item)
    return tuple(unique.values())


def rates_in(post: str) -> tuple[Rate, ...]:
    """The rates of a post, in its order, at most `MAX_NUMBERS`; the same number on the same basis once."""
    found: dict[tuple[object, ...], Rate] = {}
    for match in RATE.finditer(post):
        low, high = (_plain(match[name]) if match[name] else None for name in ("low", "high"))
        if low is None or not 0 < Decimal(low) <= 10**9:
            continue
        if high is not None and not Decimal(low) < Decimal(high) <= 10**9:
            high = None
        before, after = _around(post, match)
        basis, streams = _basis(before) or _basis(after), _streams(before) or _streams(after)
        rate = Rate(low, high, bool(match["about"]), _quote(match[0]))
        if basis:
            rate = replace(rate, basis=basis[0], basis_words=basis[1])
        if streams:
            rate = replace(rate, streams=streams[0], streams_words=streams[1])
        found.setdefault((rate.low, rate.high, rate.basis, rate.streams), rate)
        if len(found) == MAX_NUMBERS:
            break
    return tuple(found.values())


def _plain(number: str) -> str:
    return number.replace(",", "")


def _quote(words: str) -> str:
    return " ".join(words.split())


def _around(post: str, match: re.Match[str]) -> tuple[str, str]:
    """What stands before and after a rate in its own line and sentence, up to the next rate on either side.

    The words of the rate itself are in both.
    """
    before = _SENTENCE.split(post[max(0, match.start() - _AROUND) : match.start()])[-1]
    after = _SENTENCE.split(post[match.end() : match.end() + _AROUND])[0]
    earlier = list(RATE.finditer(before))
    later = RATE.search(after)
    before = before[earlier[-1].end() :] if earlier else before
    after = after[: later.start()] if later else after
    return f"{before} {match[0]}", f"{match[0]} {after}"


def _basis(around: str) -> tuple[str, str] | None:
    """The basis and its words, if exactly one is named."""
    named = [(basis, match[0]) for basis, pattern in BASES if (match := pattern.search(around))]
    return (named[0][0], _quote(named[0][1])) if len(named) == 1 else None


def _streams(around: str) -> tuple[int, str] | None:
    """The number of streams and its words, if exactly one is named."""
    found = {int(m["after"] or m["short"] or m["before"] or 1): _quote(m[0]) for m in STREAMS.finditer(around)}
    streams, words = found.popitem() if len(found) == 1 else (0, "")
    return (streams, words) if 1 <= streams <= 100_000 else None


def _gpus(post: str) -> Iterator[Stated]:
    taken: list[tuple[int, int]] = []
    for gpu, pattern in GPUS:
        for match in pattern.finditer(post):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue
            if len(taken) == _MAX_GPUS:
                return
            taken.append(match.span())
            yield Stated("hardware.gpu", gpu, _quote(match[0]))
            count = int(match["count"] or 0) or COUNT_WORDS.get((match["word"] or "").lower(), 0)
            if count:
                yield Stated("hardware.count", count, _quote(match[0]))


def _simple(post: str) -> Iterator[Stated]:
    for field, pattern in SIMPLE:
        for match in pattern.finditer(post):
            value = match["v"] if "v" in pattern.groupindex else match[0]
            value = _quote(value).rstrip(".")
            if field == "engine.fork.commit":
                value = value.lower()
            if field == "speculation.method":
                value = value.lower().replace("-", "")
            yield Stated(field, int(value) if field.endswith("_w") else value, _quote(match[0]))


def _whole(post: str) -> Iterator[Stated]:
    for field, pattern in WHOLE:
        for match in pattern.finditer(post):
            value = int(next(group for group in match.groups() if group))
            if value >= 1:
                yield Stated(field, value, _quote(match[0]))


def _context(post: str) -> Iterator[Stated]:
    for match in CONTEXT.finditer(post):
        kilo = int(match["n"] or 0)
        tokens = _KILO.get(kilo, kilo * 1000) or int(match["exact"])
        if tokens:
            yield Stated("engine.context_length", tokens, _quote(match[0]))


def _acceptance(post: str) -> Iterator[Stated]:
    for match in ACCEPTANCE.finditer(post):
        low, high = match["low"] or match["low2"], match["high"] or match["high2"]
        ends = [Decimal(end) / 100 for end in (low, high) if end]
        if ends == sorted(ends) and ends[-1] <= 1:
            text = f"{ends[0]}" if len(ends) == 1 else f"[{ends[0]}, {ends[1]}]"
            yield Stated("speculation.acceptance", text, _quote(match[0]))
    for match in LENGTH.finditer(post):
        if Decimal(match["v"]) >= 1:
            yield Stated("speculation.acceptance_length", match["v"], _quote(match[0]))
