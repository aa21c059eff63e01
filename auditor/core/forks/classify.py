"""From a hunk to its class: by its file, by what its tokens say, then line by line. Pure; the rules are data.

A line takes the class of its heaviest sign: its own, that of the line it is set in under, that of the function named in
the hunk's header, or that of its file. The hunk takes the class of two thirds of its changed lines; where none has so
many, the first in the order of the classes that has a quarter.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from auditor.core.forks.patch import Hunk
from auditor.core.forks.present import present
from auditor.core.forks.signs import MOST_SEEN, Sign, signs_of
from auditor.core.forks.tokens import is_comment_only
from auditor.reference.forkrules import BY_FILE, CLASSES, Class, Kind, Rule, pattern_of
from auditor.reference.linepatterns import LinePattern

ALSO: tuple[Class, ...] = ("metrics", "sampling", "spec", "gate", "kernel")
"""Classes that a reviewer hears of even where a hunk has another."""
_HEAD = 12
"""Lines of a file that say what it is."""
_NEVER_ALSO: tuple[Class, ...] = ("vendored", "generated", "docs", "comments", "tests")


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
        lines = signs_of(hunk, rules.lines, rules.base)
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


def _by_content(signs: list[Sign], base: Sign) -> Class:
    """The class of two thirds of the lines, or the first in order that has a quarter."""
    if not signs:
        return base.label
    counts = Counter(sign.label for sign in signs)
    label, most = counts.most_common(1)[0]
    if most * 3 >= len(signs) * 2:
        return label
    return next((one for one in CLASSES if counts[one] * 4 >= len(signs)), label)
