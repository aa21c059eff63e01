"""Whether words and signs stand in an order that somebody would write: no model, three statistics of neighbours.

Shuffled tokens keep every word and lose what stands beside what. That is measured against open text (`words`), and
against the same text in random order (`shapes`, `repeated`), which needs no language.
"""

import math
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from auditor.core.validity.languages import script_of
from auditor.core.validity.words import LARGE, SHAPES, SIGN, SMALL, tokens_of
from auditor.reference.wordorder import WordOrder, word_orders

FEWEST_TOKENS = 60
"""Words and signs below which nothing is said."""
_LONG = 150
"""Tokens from which the first third is left out: what breaks goes on, and often begins late."""
_FEWEST_PAIRS = 20
_SHUFFLES = 4
_KNOWN = 0.5
"""Of the usual share of frequent words, the least by which a text is of a language that has a table."""
_DENSE = frozenset({"ja", "zh", "ko"})
_LIMITS = {"prose": 0.65, "signs": 0.1, "numbers": 0.5}
"""Sums below which there is no order, tuned on the answers of tests/data/validity."""
_UNNESTED_LIMIT, _UNNESTED = 0.72, 0.1
"""The limit for signs where brackets close that did not open, and the share of them."""
_BRACKETS = {")": "(", "]": "[", "}": "{"}
_FEWEST_BRACKETS = 6
_HEX = re.compile(r"(?=\w*\d)(?=\w*[a-fA-F])[\da-fA-F]{4,}|0x[\da-fA-F]+")
_LONGEST_WORD = 30
_DATA = 0.25
"""Share of characters in hexadecimal numbers and overlong words from which a text is encoded data, without an order."""
_SALAD_SCRIPTS, _SALAD_JOINS = 3, 0.03
_JOINED = re.compile(r"[^\W\d_]*[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class Order:
    """How much the order of words and signs differs from chance."""

    kind: str
    """`prose`, `signs` as in program text, `numbers`, or `dense` for scripts without spaces."""
    fit: float
    """Share of frequent words of the language that fits best, relative to what is usual in it."""
    words: float | None
    """Mean doublings by which neighbours stand together more often in open text than by chance; None where the table
    knows too few."""
    shapes: float
    """Bits that the shape of a word or sign tells of the next, less those in random order."""
    unnested: float
    """Share of the closing brackets that close none, of six or more."""
    repeated: float
    """Share by which fewer different pairs of neighbours occur than in random order."""
    scripts: int
    joined: float
    """Share of words with a capital within, as joined tokens have them."""

    @property
    def is_salad(self) -> bool:
        """Whether tokens of any language and script stand together."""
        is_unknown = self.kind != "numbers" and self.fit < _KNOWN / 2
        return is_unknown and (self.scripts >= _SALAD_SCRIPTS or self.joined >= _SALAD_JOINS)

    @property
    def is_shuffled(self) -> bool:
        """Whether the words of a text that could be one stand in no order."""
        if self.kind == "dense" or (self.kind == "prose" and (self.fit < _KNOWN or self.words is None)):
            return False
        repeated = max(0.0, self.repeated)
        total = self.shapes + repeated + (0.0 if self.kind == "numbers" else self.words or 0.0)
        is_unnested = self.kind == "numbers" and self.unnested >= _UNNESTED
        return total < (_UNNESTED_LIMIT if is_unnested else _LIMITS[self.kind])


def order_of(text: str) -> Order | None:
    """The order of a text; None for one that is too short to tell, or is encoded data."""
    tokens = [(token, shape) for token, shape, _ in tokens_of(text)]
    tokens = tokens[len(tokens) // 3 :] if len(tokens) >= _LONG else tokens
    runs = re.findall(r"\w+", text)
    if len(tokens) < FEWEST_TOKENS or _is_data(runs):
        return None
    words = [token for token, shape in tokens if shape in (SMALL, LARGE)]
    tables = word_orders()
    fits = {
        name: sum(word in table.place for word in words) / table.share / max(1, len(words))
        for name, table in tables.items()
        if name != "code"
    }
    language = max(fits, key=lambda name: fits[name])
    scripts = Counter(script for char in text if (script := script_of(char)) is not None)
    kind = _kind(language, len(words) / len(tokens), sum(shape == SIGN for _, shape in tokens) / len(tokens))
    by_words = _doublings(tables[language], tokens, by_words=True)
    if by_words is None and kind == "signs":
        by_words = _doublings(tables["code"], tokens, by_words=False)
    return Order(
        kind=kind,
        fit=fits[language],
        words=by_words,
        shapes=_shapes([token.strip() or token if shape in (SIGN, "\n") else shape for token, shape in tokens]),
        unnested=_unnested(token for token, _ in tokens),
        repeated=_repeated([token for token, _ in tokens]),
        scripts=sum(count >= 2 for count in scripts.values()),
        joined=sum(bool(_JOINED.match(run)) for run in runs) / max(1, len(runs)),
    )


def _is_data(runs: Sequence[str]) -> bool:
    """Whether much of it is hexadecimal, or in runs that are longer than any word."""
    data = (len(run) for run in runs if len(run) > _LONGEST_WORD or _HEX.fullmatch(run))
    return sum(data) > _DATA * sum(map(len, runs))


def _unnested(tokens: Iterable[str]) -> float:
    opened: list[str] = []
    closed = wrong = 0
    for token in tokens:
        sign = token.strip()
        if sign in _BRACKETS.values():
            opened.append(sign)
        elif sign in _BRACKETS:
            closed += 1
            if opened and opened[-1] == _BRACKETS[sign]:
                opened.pop()
            else:
                wrong += 1
    return wrong / closed if closed >= _FEWEST_BRACKETS else 0.0


def _kind(language: str, words: float, signs: float) -> str:
    if words < 0.35:
        return "numbers"
    if language in _DENSE:
        return "dense"
    return "signs" if signs > 0.25 else "prose"


def _doublings(table: WordOrder, tokens: Sequence[tuple[str, str]], *, by_words: bool) -> float | None:
    """Mean over pairs of which the table knows one by name; only words have names, or signs too."""
    place = table.place
    named = {at for name, at in place.items() if name not in SHAPES and (name.isalpha() or not by_words)}
    found = [place.get(token, place[shape]) for token, shape in tokens]
    pairs = [pair for pair in pairwise(found) if pair[0] in named or pair[1] in named]
    if len(pairs) < _FEWEST_PAIRS:
        return None
    return sum(table.doublings(one, other) for one, other in pairs) / len(pairs)


def _shapes(shapes: Sequence[str]) -> float:
    """Mutual information of neighbours, less its mean in random order: so the bias of few samples goes out."""
    rng = random.Random(0)
    by_chance = sum(_information(rng.sample(shapes, len(shapes))) for _ in range(_SHUFFLES)) / _SHUFFLES
    return _information(shapes) - by_chance


def _information(shapes: Sequence[str]) -> float:
    n = len(shapes) - 1
    firsts, seconds = Counter(shapes[:-1]), Counter(shapes[1:])
    pairs = Counter(pairwise(shapes))
    return sum(k / n * math.log2(k * n / (firsts[one] * seconds[other])) for (one, other), k in pairs.items())


def _repeated(tokens: Sequence[str]) -> float:
    """Of n pairs in random order, one of tokens that occur a and b times is seen with probability 1 - exp(-ab/n)."""
    times = Counter(Counter(tokens).values()).items()
    n = len(tokens) - 1
    expected = sum(m * k * (1 - math.exp(-a * b / n)) for a, m in times for b, k in times)
    return (expected - len(set(pairwise(tokens)))) / expected
