"""Finds the rates in a pasted post, and which of the words around each are its own.

Between two rates stand words of both: those up to the first `and` or comma are of the earlier one, those after the
last are of the later one, and without such a mark they are of neither. What could mean two things is not taken.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from auditor.core.post.scan import Doubt, Stated, doubts_in, quoted, stated_in
from auditor.core.post.words import (
    ANOTHER_NUMBER,
    BASES,
    COMPARES,
    DECIMAL,
    DECIMAL_COMMA,
    FROM,
    POINT_OF_TWO_MEANINGS,
    PROMPT,
    RATE,
    RIVAL,
    STREAMS,
    STRONG,
    THOUSANDS,
    WEAK,
)

MAX_NUMBERS = 40
"""Rates taken from one post; a draft with more is of no help to anyone."""
_MAX_MATCHES = 200
_SHOWN = 90
_AROUND = 200
"""Characters to either side of a rate in which its own words may stand."""
_SENTENCE = re.compile(r"[\n|]|[.;!?](?=\s|$)")
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Rate:
    """A number of tokens per second."""

    low: str
    """As a YAML number."""
    high: str | None
    """Upper end of a range."""
    about: bool
    words: str
    rounded_to: str | None = None
    """Unit of the last written place, where the number was written in thousands (1.1k)."""
    basis: str | None = None
    basis_words: str = ""
    streams: int | None = None
    streams_words: str = ""
    own: tuple[Stated, ...] = ()
    """What else the words of this rate state."""


@dataclass(frozen=True, slots=True)
class Scan:
    """All that a post says."""

    stated: tuple[Stated, ...]
    rates: tuple[Rate, ...]
    doubts: tuple[Doubt, ...]
    compares: bool
    """Whether it speaks of several ways to run."""
    skipped: bool
    """Whether there are rates that were not taken."""


def rates_in(post: str) -> tuple[Rate, ...]:
    """The rates of a post, in its order, at most `MAX_NUMBERS`; the same number said of the same once."""
    return scan_post(post).rates


def scan_post(post: str) -> Scan:
    """What a post states, its rates, and what in it could mean two things."""
    stated, doubts = stated_in(post), list(doubts_in(post))
    has_commas = DECIMAL_COMMA.search(post) is not None
    matches = [match for _, match in zip(range(_MAX_MATCHES), RATE.finditer(post), strict=False)]
    found: dict[tuple[object, ...], Rate] = {}
    compares, skipped = COMPARES.search(post) is not None, False
    for index, match in enumerate(matches):
        read = _read(match, has_commas)
        if read is None:
            continue
        own, shared = _spans(post, matches, index)
        if isinstance(read, Rate) and read.high and FROM.search(post[max(0, match.start() - 20) : match.start()]):
            read = Doubt("Number", read.words, "is it a range, or a change from one to the other?")
        if isinstance(read, Doubt):
            read = Doubt(read.subject, quoted(post[match.start() : own[-1][1]])[:_SHOWN], read.why)
        result = read if isinstance(read, Doubt) else _described(post, match, read, own, shared, stated)
        if isinstance(result, Doubt):
            doubts.append(result)
            skipped = True
            continue
        doubts += _beside(post, match, result)
        key = (
            result.low,
            result.high,
            result.basis,
            result.streams,
            *sorted({(i.field, i.value) for i in result.own}, key=str),
        )
        found.setdefault(key, result)
        if len(found) == MAX_NUMBERS:
            break
    return Scan(stated, tuple(found.values()), tuple(dict.fromkeys(doubts)), compares or skipped, skipped)


def _read(match: re.Match[str], has_commas: bool) -> Rate | Doubt | None:
    """The number of a rate; a doubt where it can be read in two ways, None where it is no rate."""
    words = quoted(match[0])
    ends = [match[name] for name in ("low", "high") if match[name]]
    plain = [_plain(end, has_commas) for end in ends]
    if None in plain:
        return Doubt("Number", words, "does the comma or point part thousands or decimals?")
    kilo = [bool(match[name]) for name in ("low_k", "high_k")[: len(ends)]]
    if len(set(kilo)) > 1:
        return Doubt("Number", words, "are both ends in thousands?")
    numbers = [Decimal(end or 0) * (1000 if kilo[0] else 1) for end in plain]
    if not all(0 < number <= 10**9 for number in numbers):
        return None
    if len(numbers) == 2 and not numbers[0] < numbers[1]:
        return Doubt("Number", words, "is it a range? Its second end is not the higher one")
    unit = max(Decimal(1000).scaleb(int(Decimal(end or 0).as_tuple().exponent)) for end in plain) if kilo[0] else None
    low, *high = [f"{number:f}" if unit is None or number % 1 else f"{int(number)}" for number in numbers]
    rounded = None if unit is None else f"{unit.normalize():f}"
    return Rate(low, high[0] if high else None, bool(match["about"]), words, rounded)


def _plain(number: str, has_commas: bool) -> str | None:
    """The number without commas; None where they may be decimal commas, or its point one of thousands."""
    if THOUSANDS.fullmatch(number):
        return None if has_commas and number.count(",") == 1 and "." not in number else number.replace(",", "")
    if POINT_OF_TWO_MEANINGS.fullmatch(number) or not DECIMAL.fullmatch(number):
        return None
    return number


def _spans(post: str, matches: Sequence[re.Match[str]], index: int) -> tuple[list[Span], list[Span]]:
    """Where the own words of a rate stand, itself among them, and where those stand that are of no one rate."""
    match = matches[index]
    begin = max(0, match.start() - _AROUND)
    marks = [mark.end() for mark in _SENTENCE.finditer(post, begin, match.start())]
    begin = marks[-1] if marks else begin
    stop = _SENTENCE.search(post, match.end(), min(len(post), match.end() + _AROUND))
    end = stop.start() if stop else min(len(post), match.end() + _AROUND)
    shared: list[Span] = []
    if index and matches[index - 1].end() > begin:
        _, middle, begin = _parted(post, matches[index - 1].end(), match.start())
        shared.append(middle)
    if index + 1 < len(matches) and matches[index + 1].start() < end:
        end, middle, _ = _parted(post, match.end(), matches[index + 1].start())
        shared.append(middle)
    return [(begin, match.start()), match.span(), (match.end(), end)], shared


def _parted(post: str, start: int, end: int) -> tuple[int, Span, int]:
    """End of the words of the earlier rate, the span that is of neither, and start of those of the later one."""
    marks = list(STRONG.finditer(post, start, end)) or list(WEAK.finditer(post, start, end))
    if not marks:
        return start, (start, end), end
    return marks[0].start(), (marks[0].end(), max(marks[0].end(), marks[-1].start())), marks[-1].end()


def _described(
    post: str, match: re.Match[str], rate: Rate, own: Sequence[Span], shared: Sequence[Span], stated: Sequence[Stated]
) -> Rate | Doubt:
    """The rate with what its own words say of it; a doubt where they may make it a rate of the prompt or a rival's."""
    text = post[own[0][0] : own[-1][1]]
    bases = {basis: quoted(said[0]) for basis, pattern in BASES if (said := pattern.search(text))}
    around = " ".join([text, *(post[start:end] for start, end in shared)])
    is_prompt = PROMPT.search(text) or any(b == "prefill" and p.search(around) for b, p in BASES)
    if is_prompt and (len(bases) > 1 if "prefill" in bases else not bases):
        return Doubt("Prompt", quoted(around)[:_SHOWN], f"is {rate.words} the rate of reading the prompt?")
    before = RIVAL.search(post[max(0, match.start() - 60) : match.start()])
    after = post[match.end() : own[-1][1]]
    if before and any(doubt.subject in ("Engine", "Model", "GPU") for doubt in doubts_in(f"than {rate.words}{after}")):
        return Doubt(
            "Number", quoted(before[0] + match[0] + after)[-_SHOWN:], "is it of something else, for comparison?"
        )
    basis, basis_words = next(iter(bases.items())) if len(bases) == 1 else (None, "")
    streams, streams_words = _streams(text) or (None, "")
    held = tuple(item for item in stated if any(start <= item.start < end for start, end in own))
    return Rate(
        rate.low, rate.high, rate.about, rate.words, rate.rounded_to, basis, basis_words, streams, streams_words, held
    )


def _beside(post: str, match: re.Match[str], rate: Rate) -> list[Doubt]:
    """A doubt about a bare number just before a rate, as in `130 and 150 tok/s`."""
    before = ANOTHER_NUMBER.search(post[max(0, match.start() - 40) : match.start()])
    return [Doubt("Number", quoted(before[0] + match[0]), "is the first number a rate too?")] if before else []


def _streams(text: str) -> tuple[int, str] | None:
    """The number of streams and its words, if exactly one is named."""
    found = {int(m["after"] or m["short"] or m["before"] or 1): quoted(m[0]) for m in STREAMS.finditer(text)}
    streams, words = found.popitem() if len(found) == 1 else (0, "")
    return (streams, words) if 1 <= streams <= 100_000 else None
