"""What each changed line of a hunk says of its class: itself, by the block and the function around it, or by its file.

Blocks are told by indentation, which Python demands and other languages' code mostly has.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from auditor.core.forks.patch import Hunk
from auditor.core.forks.present import present
from auditor.reference.forkrules import CLASSES, Class, Kind
from auditor.reference.linepatterns import LinePattern

MOST_SEEN = 3_000
"""Lines of a hunk that are read for signs; a longer one has the class that these have."""
_TRIVIAL = re.compile(
    r"[\s)\]}({\[,;:\"'\\]*+(?:else|try|pass|finally|return|endif|break|continue|#else|#endif)?+[\s)\]}({,;:\\]*+"
    r"|\s*+(?:#(?!\s*(?:if|el|en|de|in|pr|un))|//|/?\*(?:\s|$|/|\*)).*"
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


LineRules = Sequence[tuple[Sign, tuple[LinePattern, ...]]]
"""Signs, and the patterns of a line that each needs one of."""


def says_nothing(text: str) -> bool:
    """Whether a line is only brackets, a bare word or a comment."""
    return _TRIVIAL.fullmatch(text) is not None


class Placed(NamedTuple):
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


def signs_of(hunk: Hunk, rules: LineRules, base: Sign) -> list[Placed]:
    """The sign of each changed line; `base` is that of the file."""
    lines = hunk.lines[:MOST_SEEN]
    text = "\n".join((hunk.context, *(line[1:] for line in lines)))
    near = [(sign, hits) for sign, patterns in rules if (hits := present(patterns, text))]
    if not near:
        changed = (at for at, line in enumerate(lines) if line[:1] in ("+", "-"))
        return [Placed(at, base, None, 0) for at in changed]
    head = _own(hunk.context, near) if hunk.context else None
    blocks = [_Block(-1, replace(head, is_own=False))] if head else []
    last, scopes, upward = base, _Scopes(), dict[int, Sign]()
    found: list[Placed] = []
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
        signs = [sign for sign in (own, *(block.sign for block in reversed(blocks)), base) if sign]
        last = replace(last, is_trivial=True) if is_trivial else max(signs, key=lambda sign: sign.weight)
        if own and (_DEFINES.match(body) or (own.is_block and _BRANCHES.match(body))):
            blocks.append(_Block(indent, replace(own, is_own=False), body.lstrip().startswith("@")))
        elif blocks and blocks[-1].is_decorator and _DEFINES.match(body):
            blocks[-1] = blocks[-1]._replace(is_decorator=body.lstrip().startswith("@"))
        if own and own.is_upward:
            upward[scopes.current] = replace(own, is_own=False)
        if line[:1] in ("+", "-"):
            found.append(Placed(at, last, own, scopes.current))
    return [one._replace(sign=_above(one, upward)) for one in found] if upward else found


def _above(line: Placed, upward: dict[int, Sign]) -> Sign:
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
