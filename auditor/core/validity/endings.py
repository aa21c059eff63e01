"""Whether an answer that says that it is finished breaks off within a sentence, a line, a bracket or a block."""

import re
from collections import Counter

_CLOSED = re.compile(
    r"(?:[.!?…;)\]}>*`\"'”’»%|~=–—/#+✓\u3002\uff01\uff1f\uff09\u300d\u300f\u3011\u061f\u06d4\u0964]|--)\s*$"
)
"""Ends of a sentence, a table row, a block or a formula."""
_ITEM = re.compile(r"^\s*(?:[-*+•]\s|\d+[.)]|\|)")
_FENCE = re.compile(r"^\s*```(\S*)", re.MULTILINE)
_PAIRS = ((r"\[", r"\]"), (r"\(", r"\)"), (r"\begin{", r"\end{"), ("「", "」"), ("（", "）"))
"""Brackets of formulas and of sentences."""
_SHAPE = re.compile(r"\w+|\s+|.")
_UNFINISHED = frozenset({
    "a", "an", "the", "of", "and", "or", "to", "in", "on", "at", "by", "for", "with", "from", "as", "is", "are",
    "was", "were", "be", "that", "which", "this", "these", "it", "its", "der", "die", "das", "und", "oder", "zu",
    "im", "mit", "von", "für", "auf", "ist", "sind", "ein", "eine", "einer", "den", "dem", "nicht", "le", "la",
    "les", "de", "du", "des", "et", "ou", "à", "en", "un", "une", "pour", "avec", "sur", "est", "dans", "que",
    "qui", "el", "los", "las", "y", "o", "con", "por", "para", "una", "es", "il", "lo", "gli", "e", "di", "che",
    "per", "del", "della", "da", "do", "dos", "com", "não", "se", "no", "na", "het", "een", "van", "te", "op",
})  # fmt: skip
"""Words with which hardly a sentence ends."""
_SENTENCE, _LONG_LINE, _LONG_WORDS = 30, 80, 12


def breaks_off(text: str) -> str | None:
    """In words, how the text breaks off; None where it does not seem so.

    A model that ends an answer writes no line end after it. A list without full stops ends as the lines before it: what
    is complete is told by its like.
    """
    body = text.rstrip()
    if not body:
        return None
    if _awaits_more(text, body):
        return "after the end of a line, where more was to come"
    if (bracket := _open_bracket(body)) is not None:
        return bracket
    *before, last = body.splitlines()
    before = [line for line in before if line.strip()]
    words = re.findall(r"[^\W_]+", last)
    if words and words[-1].lower() in _UNFINISHED and last.endswith(words[-1]) and len(words) > 2:
        return f"after {words[-1]!r}"
    if body[-1] in ",:\u3001\uff0c\uff1a(" or re.search(r"(?<![-=+])[-=+]$", body):
        return f"after {body[-1]!r}"
    if before and re.fullmatch(r"\d{1,3}[.)]?|[-*•]", last.strip()) and not re.fullmatch(r"[\d\s.)]+", before[-1]):
        return "within the number of an item"
    if _is_begun(before, last):
        return "within a line that is shorter than those like it"
    if _CLOSED.search(body) or not body[-1].isalnum():
        return None
    return _unlike_others(before, last)


def _awaits_more(text: str, body: str) -> bool:
    """Whether an empty line, an indentation or the line end of an item follows."""
    after = text[len(body) :]
    is_item = _ITEM.match(body.rpartition("\n")[2]) is not None and body.count("\n") > 1
    return after.count("\n") > 1 or ("\n" in after and not after.endswith("\n")) or (after == "\n" and is_item)


def _open_bracket(body: str) -> str | None:
    """A block of code, a formula or a bracket that was opened and not closed."""
    fences = list(_FENCE.finditer(body))
    tail = body[fences[-1].end() :] if fences else ""
    if len(fences) % 2 and (fences[-1][1] or len(fences) == 1) and not re.search(r"\.\s*$", tail):
        return "within a block of code"
    if any(body.count(one) > body.count(other) for one, other in _PAIRS):
        return "within a formula or a bracket"
    if body.lstrip()[:1] in "{[" and sum(map(body.count, "{[")) > sum(map(body.count, "}]")):
        return "within an object"
    last = body.rpartition("\n")[2]
    if (last.count('"') % 2 and last[-1].isalnum()) or last.count("(") > last.count(")"):
        return "within a quotation or a bracket"
    if last.count("**") % 2 or (last.count("`") % 2 and "```" not in last):
        return "within a mark"
    return None


def _is_begun(before: list[str], last: str) -> bool:
    """Whether the last line is the beginning of one like those before it, and ends too soon."""
    shapes = Counter(_shape(line) for line in before[-8:])
    if not shapes:
        return False
    shape, times = shapes.most_common(1)[0]
    mine = _shape(last)
    return times >= 2 and len(mine) < len(shape) and shape.startswith(mine) and mine not in shapes


def _shape(line: str) -> str:
    """A line as letters `a` for a word, `0` for a number, and its signs."""
    found = _SHAPE.findall(line.strip())
    return "".join(
        "0" if one.isdecimal() else "a" if one[0].isalnum() else " " if one.isspace() else one for one in found
    )


def _unlike_others(before: list[str], last: str) -> str | None:
    """A line that ends without a sign, where those like it end with one."""
    like = [line for line in before if bool(_ITEM.match(line)) == bool(_ITEM.match(last))] or before
    if like and sum(bool(_CLOSED.search(line)) for line in like) > 0.5 * len(like):
        return "where lines before it end with a sign"
    if re.search(r"(?<!\d)[.!?\u3002]\s", last) and len(last) > _SENTENCE:
        return "where sentences before it end with a sign"
    words = last.split()
    if len(last) > _LONG_LINE and len(words) > _LONG_WORDS and 2 * last.count(",") < len(words):
        return "within a long line"
    return None
