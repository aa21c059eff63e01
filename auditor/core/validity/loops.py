"""Text that repeats itself to its end: one piece, a run of one token, or nearly the same again and again."""

import re
from dataclasses import dataclass

LOOP_SHARE = 0.25
"""Share of the text that a loop must fill to be one."""
_MIN_TEXT = 200
_LONGEST_TOKEN = 32
_FEWEST_REPEATS, _FEWEST_LONGER = 24, 16
"""Times that a piece comes; the fewer for one of three characters or more."""
_RULES = frozenset("-=_*~#.+| \u2500\u2502\u2501\u2550")
"""Characters that people draw lines with."""
_FEWEST_IN_A_RULE, _FEWEST_SPACES = 300, 100
_WINDOW = 60
"""Words of the end of an answer that are looked at for repetition with small changes."""
_WORD = re.compile(r"[^\W\d_]+|\d+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repetition that reaches the end of the text."""

    begins: int
    """Character."""
    period: int
    """Characters of the piece."""
    piece: str


def find_loop(text: str) -> tuple[int | None, int | None]:
    """Where the text begins to repeat one piece to its end, and how long the piece is; (None, None) without a loop.

    A loop fills a quarter of the text and at least 200 characters, and its piece comes three times or more.
    """
    if len(text) < _MIN_TEXT:
        return None, None
    # Read backwards, a loop of period p begins the text and goes on for as long as the text equals itself moved by p.
    shared = _shared_with_start(text[::-1])
    least = max(_MIN_TEXT, LOOP_SHARE * len(text))
    begins = period = None
    for p in range(1, len(text) // 3 + 1):
        length = p + shared[p]
        if length >= max(3 * p, least) and (begins is None or len(text) - length < begins):
            begins, period = len(text) - length, p
    return begins, period


def find_run(text: str) -> Repeat | None:
    """A run of one short piece, as one token, to the end of the text: two dozen times or more, and as a line that is
    drawn far longer."""
    for period in range(1, _LONGEST_TOKEN + 1):
        piece = text[-period:]
        count = 1
        while text.endswith(piece, 0, len(text) - count * period) and count * period < len(text):
            count += 1
        if count < _FEWEST_REPEATS and (count < _FEWEST_LONGER or period < 3):
            continue
        least = _FEWEST_SPACES if piece.isspace() else _FEWEST_IN_A_RULE if set(piece) <= _RULES else 0
        if count * period >= least:
            return Repeat(len(text) - count * period, period, piece)
    return None


def find_near_loop(text: str) -> int | None:
    """Character from which nearly the same comes again and again; None where it does not.

    Numbers count as they are, so that a table and a count are none, and what is mostly signs is a drawing. Of the
    four-word runs in the window at the end a third or less differ; the loop begins with the first such window.
    """
    words = [(match[0], match.start()) for match in _WORD.finditer(text)]
    begins = None
    for end in range(len(words), _WINDOW - 1, -_WINDOW // 4):
        window = words[end - _WINDOW : end]
        if sum(word[0].isalnum() for word, _ in window) < _WINDOW / 3:
            break
        runs = [tuple(word for word, _ in window[at : at + 4]) for at in range(_WINDOW - 3)]
        if len(set(runs)) > 0.34 * len(runs):
            break
        begins = window[0][1]
    return begins


def _shared_with_start(text: str) -> list[int]:
    """For each position, how many characters from there on are those that the text begins with (the Z function)."""
    found = [0] * len(text)
    left = right = 0
    for at in range(1, len(text)):
        count = min(right - at, found[at - left]) if at < right else 0
        while at + count < len(text) and text[count] == text[at + count]:
            count += 1
        found[at] = count
        if at + count > right:
            left, right = at, at + count
    return found
