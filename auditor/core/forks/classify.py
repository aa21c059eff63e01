"""From a hunk to its class: by its file, by what its tokens say, then line by line. Pure; the rules are data.

A line takes the class of its heaviest sign: its own, that of the line it is set in under, that of the function named in
the hunk's header, or that of its file. The hunk takes the class of two thirds of its changed lines; where none has so
many, the first in the order of the classes that has a quarter.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from auditor.core.forks.patch import Hunk
from auditor.core.forks.present import present
from auditor.core.forks.tokens import is_comment_only
from auditor.reference.forkrules import BY_FILE, CLASSES, Class, Kind, Rule, pattern_of
from auditor.reference.linepatterns import LinePattern

ALSO: tuple[Class, ...] = ("metrics", "sampling", "spec", "gate", "kernel")
"""Classes that a reviewer hears of even where a hunk has another."""
_NEVER_ALSO: tuple[Class, ...] = ("vendored", "generated", "docs", "comments")
MOST_SEEN = 3_000
"""Lines of a hunk that are read for signs; a longer one has the class that these have."""
_TRIVIAL = re.compile(
    r"[\s)\]}({\[,;:\"'\\]*(?:else|try|pass|finally|return|endif|break|continue|#else|#endif)?[\s)\]}({,;:\\]*"
    r"|\s*(?:#(?!\s*(?:if|el|en|de|in|pr|un))|//|/?\*(?:\s|$|/|\*)).*"
)
"""Brackets, bare words and comments: they belong to what stands around them."""
_DEFINES = re.compile(r"\s*(?:async def|def|class|@|__global__|template\b|static\b|inline\b|void\b|struct\b)")
_BRANCHES = re.compile(r"\s*(?:\}\s*)?(?:if|elif|else if|while|with|#\s*if\w*|#\s*elif)\b|.{0,200}\(\s*$")


@dataclass(frozen=True, slots=True)
class Sign:
    """What a rule says of a line."""

    label: Class
    weight: int
    kind: Kind | None = None
    is_block: bool = False
    is_own: bool = False
    """Whether the line itself says it."""
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

    fixed: tuple[tuple[Class, tuple[LinePattern, ...]], ...]
    """Classes of the whole file; with patterns, only where a line of the hunk has one."""
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
        placed = list(_signs(hunk, rules))
        signs = [sign for _, sign in placed]
        label = fixed or _by_content([sign.label for sign in signs if not sign.is_trivial], rules.base.label)
        marks = tuple((at, sign.label) for at, sign in placed if sign.is_own and sign.label in ALSO)
        kinds = Counter(sign.kind for sign in signs if sign.label == label and sign.kind).most_common(1)
        return Classed(
            label,
            tuple(one for one in ALSO if one != label and any(one == other for _, other in marks)),
            kinds[0][0] if kinds else None,
            marks,
        )

    def of_file(self, path: str) -> Class:
        """The class of a file of which no lines are seen."""
        rules = self._of_path(path)
        return next((label for label, patterns in rules.fixed if not patterns), rules.base.label)

    def _rules_of(self, path: str) -> _FileRules:
        base = Sign("serving", 0)
        fixed: list[tuple[Class, tuple[LinePattern, ...]]] = []
        lines: list[tuple[Sign, tuple[LinePattern, ...]]] = []
        for rule in self._rules:
            if not rule.is_about(path):
                continue
            patterns = tuple(pattern_of(one) for one in rule.lines)
            if rule.label in BY_FILE:
                fixed.append((rule.label, patterns))
            elif patterns:
                lines.append((Sign(rule.label, rule.weight, rule.kind, rule.is_block, is_own=True), patterns))
            elif rule.weight > base.weight:
                base = Sign(rule.label, rule.weight, rule.kind)
        fixed.sort(key=lambda one: BY_FILE.index(one[0]))
        return _FileRules(tuple(fixed), base, tuple(lines))


def _by_file(hunk: Hunk, rules: _FileRules) -> Class | None:
    """The class of the whole file, or that only comments changed; None where its lines decide."""
    text = "\n".join(line[1:] for line in hunk.lines[:MOST_SEEN]) if any(found for _, found in rules.fixed) else ""
    holds = [label for label, patterns in rules.fixed if not patterns or present(patterns, text)]
    first = holds[0] if holds else None
    is_before = first is not None and BY_FILE.index(first) < BY_FILE.index("comments")
    return "comments" if not is_before and is_comment_only(hunk) else first


def _signs(hunk: Hunk, rules: _FileRules) -> Iterator[tuple[int, Sign]]:
    """The sign of each changed line, with its place among the lines."""
    lines = hunk.lines[:MOST_SEEN]
    text = "\n".join((hunk.context, *(line[1:] for line in lines)))
    near = [(sign, found) for sign, patterns in rules.lines if (found := present(patterns, text))]
    head = _own(hunk.context, near) if hunk.context else None
    blocks: list[tuple[int, Sign]] = [(-1, replace(head, is_own=False))] if head else []
    last = rules.base
    for at, line in enumerate(lines):
        body = line[1:]
        is_trivial = _TRIVIAL.fullmatch(body) is not None
        indent = len(body) - len(body.lstrip())
        if body.strip():
            while blocks and _ends(blocks[-1], indent, body, is_trivial):
                blocks.pop()
        own = None if is_trivial else _own(body, near)
        signs = [sign for sign in (own, *(block for _, block in reversed(blocks)), rules.base) if sign]
        last = replace(last, is_trivial=True) if is_trivial else max(signs, key=lambda sign: sign.weight)
        if own and (_DEFINES.match(body) or (own.is_block and _BRANCHES.match(body))):
            blocks.append((indent, replace(own, is_own=False)))
        if line[:1] in ("+", "-"):
            yield at, last


def _ends(block: tuple[int, Sign], indent: int, body: str, is_trivial: bool) -> bool:
    """Whether a line is no longer set in under the one that the block began with."""
    start = block[0]
    if start < 0:  # the function named in the header, whose own indent is not seen
        return _DEFINES.match(body) is not None or (indent == 0 and not is_trivial)
    return indent < start or (indent == start and not is_trivial)


def _own(body: str, rules: list[tuple[Sign, list[LinePattern]]]) -> Sign | None:
    """The heaviest sign of a line; of equal ones the first in the order of the classes."""
    best: Sign | None = None
    for sign, patterns in rules:
        is_better = best is None or (sign.weight, -CLASSES.index(sign.label)) > (
            best.weight, -CLASSES.index(best.label)
        )  # fmt: skip
        if is_better and any(pattern.find(body) is not None for pattern in patterns):
            best = sign
    return best


def _by_content(labels: list[Class], otherwise: Class) -> Class:
    counts = Counter(labels)
    if not labels:
        return otherwise
    label, most = counts.most_common(1)[0]
    if most * 3 >= len(labels) * 2:
        return label
    return next((one for one in CLASSES if counts[one] * 4 >= len(labels)), label)
