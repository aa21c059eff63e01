"""Is it valid output? Loops and broken characters in the text that was delivered."""

import unicodedata

from auditor.core.record import Record

LOOP_SHARE = 0.25
"""Share of the text that a loop must fill to be one."""
_MIN_TEXT = 200
_ODD = ("Cc", "Co", "Cs")
_DEGENERATE_PERIOD = 4
"""A loop of so few characters that begins early is what NaN logits print: `!!!!!!`."""


class Validity(Record):
    """What was seen in one answer."""

    characters: int
    loop_begins: int | None = None
    """Character at which the text begins to repeat itself to its end; None without a loop."""
    loop_period: int | None = None
    """Characters of the repeated piece."""
    replacement_characters: int = 0
    """U+FFFD: bytes that were not UTF-8."""
    odd_characters: int = 0
    """Control and private-use characters."""

    @property
    def is_broken(self) -> bool:
        """Whether a reader would call it garbage, loops that set in late aside."""
        if not self.characters:
            return True
        odd = (self.replacement_characters + self.odd_characters) / self.characters
        begins = self.loop_begins
        early = begins is not None and begins < 0.05 * self.characters
        degenerate = early and (self.loop_period or 0) <= _DEGENERATE_PERIOD
        return odd > 0.01 or degenerate

    @property
    def words(self) -> str:
        """In a few words, what is wrong; empty when nothing is."""
        parts = []
        if not self.characters:
            parts.append("empty")
        if self.replacement_characters or self.odd_characters:
            parts.append(f"{self.replacement_characters + self.odd_characters} broken characters")
        if self.loop_begins is not None:
            share = self.loop_begins / self.characters
            parts.append(f"repeats {self.loop_period} characters from {share:.0%} of the text to its end")
        return ", ".join(parts)


def validity_of(text: str) -> Validity:
    """Look at one answer."""
    begins, period = find_loop(text)
    return Validity(
        characters=len(text),
        loop_begins=begins,
        loop_period=period,
        replacement_characters=text.count("\ufffd"),
        odd_characters=sum(1 for c in text if c not in "\t\n\r" and unicodedata.category(c) in _ODD),
    )


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
