"""From a hunk to its class: by its file, by what its tokens say, then line by line. Pure; the rules are data.

A line takes the class of its heaviest sign: its own, that of the line it is set in under, that of the function named in
the hunk's header, or that of its file. The hunk takes the class of two thirds of its changed lines; where none has so
many, the first in the order of the classes that has a quarter.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from auditor.core.forks.patch import Hunk
from auditor.core.forks.present import present
from auditor.core.forks.tokens import is_comment_only
from auditor.reference.forkrules import BY_FILE, CLASSES, Class, Kind, Rule, pattern_of
from auditor.reference.linepatterns import LinePattern

ALSO: tuple[Class, ...] = ("metrics", "sampling", "spec", "gate", "kernel")
"""Classes that a reviewer hears of even where a hunk has another."""
_HEAD = 12
"""Lines of a file that say what it is."""
_NEVER_ALSO: tuple[Class, ...] = ("vendored", "generated", "docs", "comments", "tests")
MOST_SEEN = 3_000
"""Lines of a hunk that are read for signs; a longer one has the class that these have."""
_TRIVIAL = re.compile(
    r"[\s)\]}({\[,;:\"'\\]*(?:else|try|pass|finally|return|endif|break|continue|#else|#endif)?[\s)\]}({,;:\\]*"
    r"|\s*(?:#(?!\s*(?:if|el|en|de|in|pr|un))|//|/?\*(?:\s|$|/|\*)).*"
)
"""Brackets, bare words and comments: they belong to what stands around them."""
_QUIET = re.compile(r"\s*(?:[frb]{0,2}[\"'].*[\"'][,)]*|logger\.\w+\(.*|(?:LOG|SRV|LLAMA)\w*\(.*|message\(.*)")
"""Texts and log calls: so do they, where they say nothing themselves."""
_DEFINES = re.compile(r"\s*(?:async def|def|class|@|__global__|template\b|static\b|inline\b|void\b|struct\b)")
_FUNCTION = re.compile(r"\s*(?:async )?def ")
_BRANCHES = re.compile(r"\s*(?:\}\s*)?(?:if|elif|else if|while|with|#\s*if\w*|#\s*elif)\b|.{0,200}\(\s*$")


@dataclass(frozen=True, slots=True)
class Sign:
    """What a rule says of a line."""

    label: Class
    weight: int
    kind: Kind | None = None
    is_block: bool = False
    is_upward: bool = False
    also: tuple[Class, ...] = ()
    """Other classes that the hunk has with it."""
    is_own: bool = False
    """Whether a line itself says it."""
    is_trivial: bool = False
    """Whether the line only follows what stands before it."""


@dataclass(frozen=True, slots=True)
class Classed:
    """The class of a hunk."""

    label: Class
    also: tuple[Class, ...] = ()
    kind: Kind | None = None
    """Of kernel code, where the rules tell."""
    marks: tuple[tuple[int, Class], ...] = ()
    """Which changed lines say themselves that they are of one of `ALSO`: their places among the hunk's lines."""


@dataclass(frozen=True, slots=True)
class _FileRules:
    """What the rules say of a path."""

    fixed: tuple[tuple[Class, tuple[LinePattern, ...], str], ...]
    """Classes of the whole file; with patterns, only where one of the lines has one that the last word names."""
    base: Sign
    lines: tuple[tuple[Sign, tuple[LinePattern, ...]], ...]


class Classifier:
    """Classes hunks by rules."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = tuple(rules)
        self._of_path = lru_cache(maxsize=4096)(self._rules_of)

    def classify(self, hunk: Hunk) -> Classed:
        """The class of a hunk, with what else it touches."""
        rules = self._of_path(hunk.path)
        fixed = _by_file(hunk, rules)
        if fixed is not None and fixed in _NEVER_ALSO:
            return Classed(fixed)
        lines = _signs(hunk, rules)
        telling = [line.sign for line in lines if not line.sign.is_trivial] or [line.sign for line in lines]
        label = fixed or _by_content(telling, rules.base)
        marks = tuple((line.at, line.own.label) for line in lines if line.own and line.own.label in ALSO)
        kinds = Counter(sign.kind for sign in telling if sign.label == label and sign.kind).most_common(1)
        found = [sign for line in lines for sign in (line.sign, line.own) if sign]
        beside = {sign.label for sign in found if sign.is_own} | {one for sign in found for one in sign.also}
        return Classed(
            label,
            tuple(one for one in ALSO if one != label and one in beside),
            kinds[0][0] if kinds else None,
            marks,
        )

    def of_file(self, path: str) -> Class:
        """The class of a file of which no lines are seen."""
        rules = self._of_path(path)
        return next((label for label, patterns, _ in rules.fixed if not patterns), rules.base.label)

    def _rules_of(self, path: str) -> _FileRules:
        base = Sign("serving", 0)
        fixed: list[tuple[Class, tuple[LinePattern, ...], str]] = []
        lines: list[tuple[Sign, tuple[LinePattern, ...]]] = []
        for rule in self._rules:
            if not rule.is_about(path):
                continue
            patterns = tuple(pattern_of(one) for one in rule.lines)
            if rule.label in BY_FILE:
                fixed.append((rule.label, patterns, rule.where))
            elif patterns:
                sign = Sign(rule.label, rule.weight, rule.kind, rule.is_block, rule.is_upward, rule.also, is_own=True)
                lines.append((sign, patterns))
            elif rule.weight > base.weight:
                base = Sign(rule.label, rule.weight, rule.kind, also=rule.also)
        fixed.sort(key=lambda one: BY_FILE.index(one[0]))
        return _FileRules(tuple(fixed), base, tuple(lines))


def _by_file(hunk: Hunk, rules: _FileRules) -> Class | None:
    """The class of the whole file, or that only comments changed; None where its lines decide."""
    first = None
    for label, patterns, where in rules.fixed:
        if not patterns or present(patterns, "\n".join(_lines_of(hunk, where))):
            first = label
            break
    is_before = first is not None and BY_FILE.index(first) < BY_FILE.index("comments")
    return "comments" if not is_before and is_comment_only(hunk) else first


def _lines_of(hunk: Hunk, where: str) -> list[str]:
    if where == "head":
        lines = hunk.lines[:_HEAD] if min(hunk.old_start, hunk.new_start) <= 1 else []
    else:
        lines = [line for line in hunk.lines[:MOST_SEEN] if where == "hunk" or line[:1] in ("+", "-")]
    return [line[1:] for line in lines]


class _Placed(NamedTuple):
    """A changed line: its place in the hunk, its sign, and what it says itself."""

    at: int
    sign: Sign
    own: Sign | None
    scope: int
    """Number of the function that it stands in."""


class _Block(NamedTuple):
    """What is set in under a line has its sign."""

    indent: int
    """Of the line; -1 for the function named in the header, whose indent is not seen."""
    sign: Sign
    is_decorator: bool = False
    """Whether a definition must follow at the same indent."""


def _signs(hunk: Hunk, rules: _FileRules) -> list[_Placed]:
    """The sign of each changed line."""
    lines = hunk.lines[:MOST_SEEN]
    text = "\n".join((hunk.context, *(line[1:] for line in lines)))
    near = [(sign, hits) for sign, patterns in rules.lines if (hits := present(patterns, text))]
    if not near:
        changed = (at for at, line in enumerate(lines) if line[:1] in ("+", "-"))
        return [_Placed(at, rules.base, None, 0) for at in changed]
    head = _own(hunk.context, near) if hunk.context else None
    blocks = [_Block(-1, replace(head, is_own=False))] if head else []
    last, scopes, upward = rules.base, _Scopes(), dict[int, Sign]()
    found: list[_Placed] = []
    for at, line in enumerate(lines):
        body = line[1:]
        is_bare = _TRIVIAL.fullmatch(body) is not None
        own = None if is_bare else _own(body, near)
        is_trivial = own is None and (is_bare or _QUIET.fullmatch(body) is not None)
        indent = len(body) - len(body.lstrip())
        if body.strip():
            scopes.take(indent, body, is_bare)
            while blocks and _ends(blocks[-1], indent, body, is_bare):
                blocks.pop()
        signs = [sign for sign in (own, *(block.sign for block in reversed(blocks)), rules.base) if sign]
        last = replace(last, is_trivial=True) if is_trivial else max(signs, key=lambda sign: sign.weight)
        if own and (_DEFINES.match(body) or (own.is_block and _BRANCHES.match(body))):
            blocks.append(_Block(indent, replace(own, is_own=False), body.lstrip().startswith("@")))
        elif blocks and blocks[-1].is_decorator and _DEFINES.match(body):
            blocks[-1] = blocks[-1]._replace(is_decorator=body.lstrip().startswith("@"))
        if own and own.is_upward:
            upward[scopes.current] = replace(own, is_own=False)
        if line[:1] in ("+", "-"):
            found.append(_Placed(at, last, own, scopes.current))
    return [one._replace(sign=_above(one, upward)) for one in found] if upward else found


def _above(line: _Placed, upward: dict[int, Sign]) -> Sign:
    """The sign of a line, or the heavier one that another line gives to the function around both."""
    sign = upward.get(line.scope)
    if sign is None or sign.weight <= line.sign.weight:
        return line.sign
    return replace(sign, is_trivial=line.sign.is_trivial)


class _Scopes:
    """Which function of a hunk a line stands in: 0 is the one that the hunk begins in."""

    def __init__(self) -> None:
        self._open: list[tuple[int, int]] = []
        self._count = 0

    @property
    def current(self) -> int:
        """Number of the innermost function."""
        return self._open[-1][1] if self._open else 0

    def take(self, indent: int, body: str, is_bare: bool) -> None:
        """Take a line that is not blank."""
        is_closing = is_bare or body.lstrip()[:1] in ")]}"
        while self._open and (indent < self._open[-1][0] or (indent == self._open[-1][0] and not is_closing)):
            self._open.pop()
        if _FUNCTION.match(body):
            self._count += 1
            self._open.append((indent, self._count))


def _ends(block: _Block, indent: int, body: str, is_bare: bool) -> bool:
    """Whether a line is no longer set in under the one that the block began with."""
    if block.indent < 0:
        return _DEFINES.match(body) is not None or (indent == 0 and not is_bare)
    if block.is_decorator and indent == block.indent:
        return _DEFINES.match(body) is None
    return indent < block.indent or (indent == block.indent and not is_bare and body.lstrip()[:1] not in ")]}")


def _own(body: str, rules: list[tuple[Sign, list[LinePattern]]]) -> Sign | None:
    """The heaviest sign of a line, of equal ones the first in the order of the classes, with the others beside it."""
    found = [sign for sign, patterns in rules if any(pattern.find(body) is not None for pattern in patterns)]
    if not found:
        return None
    best = min(found, key=lambda sign: (-sign.weight, CLASSES.index(sign.label)))
    return replace(best, also=tuple({*best.also, *(sign.label for sign in found)})) if len(found) > 1 else best


def _by_content(signs: list[Sign], base: Sign) -> Class:
    """The class of two thirds of the lines, or the first in order that has a quarter."""
    if not signs:
        return base.label
    counts = Counter(sign.label for sign in signs)
    label, most = counts.most_common(1)[0]
    if most * 3 >= len(signs) * 2:
        return label
    return next((one for one in CLASSES if counts[one] * 4 >= len(signs)), label)
