"""Which language each part of a text is in, by its script and by frequent words, and which the prompt makes likely."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from auditor.reference.wordorder import word_orders

_SCRIPTS: Mapping[str, str] = {
    "LATIN": "latin", "CYRILLIC": "ru", "GREEK": "el", "ARABIC": "ar", "HEBREW": "he", "DEVANAGARI": "hi",
    "THAI": "th", "HANGUL": "ko", "HIRAGANA": "ja", "KATAKANA": "ja", "CJK": "zh", "BENGALI": "bn", "TAMIL": "ta",
    "ARMENIAN": "hy", "GEORGIAN": "ka", "ETHIOPIC": "am",
}  # fmt: skip
"""By the first word of a character's Unicode name; a script stands for its most written language."""
_LETTERS = 130
"""Letters of a part of the text that is judged by itself."""
_DENSE = frozenset({"ja", "zh", "ko"})
_DENSITY = 4
"""Letters of an alphabet that one character of a dense script is worth."""
_SHARE = 0.2
"""Of the letters, what must be in another language."""
_FEWEST_WORDS = 12
_CLEARLY = 1.6
"""By how much one language's frequent words must outnumber, relative to what is usual, those of another."""
_USUAL = 0.5
"""Of the usual share of frequent words, the least by which a language is recognised."""
_FEWEST_KNOWN = 4
"""Different frequent words that it takes."""
_NAMES: Mapping[str, str] = {
    "en": "english|englisch|anglais|ingl[eé]s", "de": "german|deutsch|allemand|alem[aá]n", "ar": "arabic|العربية",
    "fr": "french|fran[cç]ais|französisch|franc[eé]s", "es": "spanish|spanisch|español|espagnol",
    "it": "italian|italiano|italienisch", "pt": "portuguese|portugu[eê]s|portugiesisch", "pl": "polish|polsku|polski",
    "nl": "dutch|nederlands|holländisch", "sv": "swedish|svenska|schwedisch", "da": "danish|dansk",
    "ru": "russian|русск|по-русски|russisch", "ja": "japanese|japanisch|日本語", "zh": "chinese|chinesisch|中文|汉语",
    "ko": "korean|koreanisch|한국어", "tr": "turkish|türkçe", "cs": "czech|česk", "el": "greek|ελλην",
    "hi": "hindi", "he": "hebrew", "vi": "vietnamese|tiếng việt", "id": "indonesian|indonesia", "ro": "romanian|român",
}  # fmt: skip
_NAMED = {code: re.compile(names, re.IGNORECASE) for code, names in _NAMES.items()}
_ANY = re.compile(
    r"(?<!programming )\blanguages?\b|\bmultilingual\b|\btranslat|\bsprachen\b|\blangues\b|\bidiomas\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_NEAR: Sequence[frozenset[str]] = (
    frozenset({"da", "sv", "no"}), frozenset({"es", "pt", "it", "ro"}), frozenset({"cs", "pl"}),
    frozenset({"de", "nl"}), frozenset({"zh", "ja"}),
)  # fmt: skip
"""Languages that a small model mixes up, and this table too."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text."""

    begins: int
    """Character."""
    letters: int
    """Letters; a character of a dense script counts as several."""
    fits: Mapping[str, float]
    """By language, frequent words relative to their usual share; a script of its own gives its language 1. Empty where
    nothing can be told."""
    near: Mapping[str, float]
    """The same of it and the parts beside it."""

    def foreign_to(self, expected: frozenset[str]) -> str | None:
        """The language it is in, where that is clearly none of those expected."""
        found = (_foreign(fits, expected) for fits in (self.fits, self.near))
        return next((name for name in found if name is not None), None)


def _foreign(fits: Mapping[str, float], expected: frozenset[str]) -> str | None:
    if not fits:
        return None
    name = max(fits, key=lambda one: fits[one])
    own = max((fits.get(one, 0.0) for one in expected), default=0.0)
    return name if name not in expected and fits[name] >= max(_USUAL, _CLEARLY * own) else None


@lru_cache(maxsize=4096)
def script_of(char: str) -> str | None:
    """The language that a letter's script stands for, `latin` for many; None for what is no letter."""
    if not char.isalpha():
        return None
    return _SCRIPTS.get(unicodedata.name(char, "").partition(" ")[0].partition("-")[0], "other")


def parts_of(text: str) -> list[Part]:
    """The text in parts, each with its language; where the part alone does not tell, with the parts beside it."""
    pieces: list[tuple[int, int, list[str]]] = []
    words: list[str] = []
    begins = letters = 0
    for match in _WORD.finditer(text):
        begins = begins if words else match.start()
        words.append(match[0])
        letters += sum(_DENSITY if script_of(c) in _DENSE else 1 for c in match[0])
        if letters >= _LETTERS:
            pieces.append((begins, letters, words))
            words, letters = [], 0
    if words:
        pieces.append((begins, letters, words))
    found = []
    for at, (begins, letters, words) in enumerate(pieces):
        near = [word for _, _, others in pieces[max(0, at - 1) : at + 2] for word in others]
        found.append(Part(begins, letters, fits_of(words), fits_of(near)))
    return found


def fits_of(words: Sequence[str]) -> Mapping[str, float]:
    """The languages that some words may be of; empty where that cannot be told."""
    scripts = Counter(script for word in words for char in word if (script := script_of(char)) is not None)
    if not scripts:
        return {}
    if scripts["ja"] > 0.1 * scripts.total() and scripts["ja"] + scripts["zh"] > 0.6 * scripts.total():
        return {"ja": 1.0}
    script, count = scripts.most_common(1)[0]
    if count < 0.7 * scripts.total() or script == "other":
        return {}
    return _of_latin(words) if script == "latin" else {script: 1.0}


def _of_latin(words: Sequence[str]) -> Mapping[str, float]:
    # A letter by itself is a word in some languages, and a name of a quantity in any.
    lower = [word.lower() for word in words if len(word) > 1]
    if len(lower) < _FEWEST_WORDS:
        return {}
    fits = {}
    for name, table in word_orders().items():
        known = [word for word in lower if word in table.place]
        if name != "code" and len(set(known)) >= _FEWEST_KNOWN:
            fits[name] = len(known) / len(lower) / table.share
    return fits


def expected_languages(prompt: str) -> frozenset[str] | None:
    """Languages in which an answer may be: of the prompt, named in it, those near them, and English; None for any."""
    if _ANY.search(prompt):
        return None
    found = {code for code, pattern in _NAMED.items() if pattern.search(prompt)} | {"en"}
    found |= {script for char in prompt if (script := script_of(char)) not in (None, "latin", "other")}
    words = _WORD.findall(prompt)
    fits = {name: fit for name, fit in fits_of(words).items() if fit >= _USUAL}
    found |= {name for name, fit in fits.items() if _CLEARLY * fit >= max(fits.values())}
    if not fits and len(found) == 1 and not _may_be_english(words):
        return None
    return frozenset(found.union(*(near for near in _NEAR if near & (found - {"en"}))))


def _may_be_english(words: Sequence[str]) -> bool:
    """Whether a prompt that no table recognises holds an English word of each dozen, or is too short to tell."""
    english = word_orders()["en"].place
    return _FEWEST_WORDS * sum(word.lower() in english for word in words if len(word) > 1) >= len(words) - _FEWEST_WORDS


def unexpected(text: str, prompt: str) -> tuple[int, str] | None:
    """Where the text goes over to a language that the prompt does not make likely, and which; None where it does not.

    It takes a fifth of the letters, and a whole part of the text.
    """
    expected = expected_languages(prompt)
    if expected is None:
        return None
    parts = parts_of(text)
    foreign = [
        (part, name)
        for part in parts
        if part.letters >= _LETTERS / 2 and (name := part.foreign_to(expected)) is not None
    ]
    if sum(part.letters for part, _ in foreign) < max(_LETTERS, _SHARE * sum(part.letters for part in parts)):
        return None
    return foreign[0][0].begins, Counter(name for _, name in foreign).most_common(1)[0][0]
