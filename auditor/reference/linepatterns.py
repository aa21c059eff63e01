"""Patterns for the lines of a log that cannot run away: every repeat is bounded, and the ways to match are few.

Logs come from strangers. A pattern that repeats without bound, or repeats a repeat, can take minutes over one line made
for it. So a pattern is read before it is used, and refused where it may.
"""

import re
import warnings
from dataclasses import dataclass, field

MOST_CHARACTERS = 16_384
"""Characters of a line that are looked at; the rest is left out."""
MOST_WAYS = 2_000
"""Ways to match that a pattern may have at one place of a line."""
MOST_PATTERN = 1_000
"""Characters of a pattern."""

_TOKEN = re.compile(
    r"(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<open>\((?:\?(?:[aims]{1,4}:|:|=|!|<=|<!|P<\w+>|[aims]{1,4}\))|(?!\?)))"
    r"|(?P<close>\))|(?P<bar>\|)|(?P<repeat>(?:\{\d+(?:,\d+)?\}|\{,\d+\})\??|\?\??)|(?P<endless>[*+]|\{\d*,\})"
    r"|(?P<back>\\[1-9]|\(\?P=)|(?P<kind>\\[AbBdDsSwWZ]|[.^$])|(?P<char>\\.|[^()])",
    re.DOTALL,
)
_REFUSED = {"endless": "repeats without bound; write {0,200} in place of *", "back": "refers back"}


@dataclass(frozen=True, slots=True)
class LinePattern:
    """A pattern that was found safe."""

    text: str
    needle: str
    """Characters that every line it matches holds; empty where none are sure."""
    regex: re.Pattern[str]

    def find(self, line: str) -> str | None:
        """What it matches within the first `MOST_CHARACTERS` of a line, None where it does not."""
        if self.needle not in line:
            return None
        match = self.regex.search(line, 0, MOST_CHARACTERS)
        return match[0] if match else None


@dataclass(slots=True)
class _Group:
    """What was read of one group so far."""

    done: int = 0
    """Ways of the alternatives that are complete."""
    ways: int = 1
    """Ways of the one that is being read."""
    has_repeat: bool = False


@dataclass(slots=True)
class _Literals:
    """Looks for the longest run of plain characters that no alternative can leave out."""

    run: str = ""
    runs: list[str] = field(default_factory=list)

    def end(self, *, drop_last: bool = False) -> None:
        """The run ends here; its last character is left out where a repeat follows it."""
        self.runs.append(self.run[:-1] if drop_last else self.run)
        self.run = ""


def line_pattern(text: str) -> LinePattern:
    """Read a pattern; raises ValueError, in one line, for one that is wrong or could run away."""
    if not text or len(text) > MOST_PATTERN:
        raise ValueError(f"a pattern has 1 to {MOST_PATTERN:,} characters")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            regex = re.compile(text)
    except (re.error, OverflowError, RecursionError, Warning) as error:
        raise ValueError(f"not a regular expression: {error}") from None
    if regex.search("") is not None:
        raise ValueError("matches the empty line, and so every line")
    return LinePattern(text, _checked(text), regex)


def _checked(text: str) -> str:
    """The needle of a pattern; raises ValueError where it may run away."""
    stack, closed, literals = [_Group()], _Group(), _Literals()
    is_plain, last = True, ""
    for token in _tokens(text):
        kind, words = token.lastgroup or "", token[0]
        top = stack[-1]
        if kind in _REFUSED or (kind == "char" and words[0] == "\\" and words[1].isalnum()):
            what = _REFUSED.get(kind, "is not known; write the character itself")
            raise ValueError(f"{words} at character {token.start() + 1} {what}")
        if kind == "repeat":
            _repeat(top, words, closed if last == "close" else None)
        elif kind == "open" and words.endswith(")"):
            is_plain = False  # flags: letters may stand for others
        elif kind == "open":
            stack.append(_Group())
        elif kind == "close":
            closed = stack.pop()
            closed.ways += closed.done
            stack[-1].ways *= closed.ways
            stack[-1].has_repeat |= closed.has_repeat
        elif kind == "bar":
            top.done, top.ways = top.done + top.ways, 1
            is_plain = is_plain and len(stack) > 1
        if max(group.ways + group.done for group in stack) > MOST_WAYS:
            raise ValueError(f"has more than {MOST_WAYS:,} ways to match at one place; make its repeats shorter")
        if kind == "char" and len(stack) == 1:
            literals.run += words[-1]
        else:
            literals.end(drop_last=kind == "repeat" and last == "char")
        last = kind
    literals.end()
    return max(literals.runs, key=len) if is_plain else ""


def _tokens(text: str) -> list[re.Match[str]]:
    found, at = [], 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            raise ValueError(f"{text[at : at + 4]} at character {at + 1} is not allowed here")
        found.append(token)
        at = token.end()
    return found


def _repeat(group: _Group, words: str, closed: _Group | None) -> None:
    """Take a bounded repeat into account; raises ValueError where it repeats a choice."""
    numbers = [int(number) for number in re.findall(r"\d+", words)] or [0, 1]
    least, most = 0 if words.startswith("{,") else numbers[0], numbers[-1]
    if closed is not None and most > 1 and (closed.has_repeat or closed.ways > 1):
        raise ValueError(f"{words} repeats a group that has a choice or a repeat in it")
    group.ways *= most - least + 1
    group.has_repeat |= most > least
