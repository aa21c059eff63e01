"""The answers of a run, looked at: which are broken, where that begins, and what is a caveat only.

A server that is told to go on past the end of an answer (`ignore_eos`) must write something there. What is found in
that tail is no fault of its own: with `ignore_eos` only the head of an answer is held against it, since where the
answer would have ended is not known.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from auditor.core.counting.exchange import Counted
from auditor.core.validity.answer import CERTAIN, DOUBTFUL, Fault, Validity, validity_of

HEAD_SHARE, HEAD_CHARACTERS = 1 / 3, 800
"""What of an answer is taken to lie before its end: the larger of the two."""
DOUBTFUL_SHARE, DOUBTFUL_FEWEST = 0.2, 2
"""Answers that must be in doubt together for a run to be invalid: at false alarms of 2 % of answers, two of up to ten
are wrong in 1.6 % of runs, and a fifth of more in fewer."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer, and what was found."""

    item: Counted
    validity: Validity
    """Of the whole."""
    head: Validity
    """Of what lies before any tail; the whole where answers end by themselves."""

    @property
    def certain(self) -> Fault | None:
        """What no model writes."""
        return self.head.fault(CERTAIN)

    @property
    def doubtful(self) -> Fault | None:
        """What statistics tell, and a run of one token in a tail."""
        return self.head.fault(DOUBTFUL) or self.validity.fault(CERTAIN)

    @property
    def loop(self) -> Fault | None:
        """A loop in any part."""
        return self.validity.fault(frozenset({"loop", "token-run"}))

    @property
    def broken_off(self) -> Fault | None:
        """Said to be finished, and not."""
        return self.validity.fault(frozenset({"broken-off"}))


def look_at(items: Sequence[tuple[Counted, str]], *, ignore_eos: bool) -> tuple[Seen, ...]:
    """Look at answers, each with its prompt."""
    found = []
    for item, prompt in items:
        text, finish = item.stream.text, item.line.finish_reason
        whole = validity_of(text, prompt=prompt, finish=finish)
        length = max(HEAD_CHARACTERS, round(HEAD_SHARE * len(text)))
        has_tail = ignore_eos and len(text) > length
        head = validity_of(text[:length], prompt=prompt, finish="length") if has_tail else whole
        found.append(Seen(item, whole, head))
    return tuple(found)


def enough_in_doubt(doubtful: int, answers: int) -> bool:
    """Whether so many answers in doubt are more than the statistics' own errors."""
    return doubtful >= max(DOUBTFUL_FEWEST, DOUBTFUL_SHARE * answers)


def place_of(item: Counted, character: int) -> str:
    """Token and time of a character of an answer, in words; the time is from sending the request."""
    before = tokens = 0
    is_known = True
    for delivery in item.stream.deliveries:
        length = len(delivery.reasoning + delivery.text + delivery.tool)
        if before + length > character:
            since_ns = delivery.at_ns - (item.line.times.send_ns or delivery.at_ns)
            token = f"token {tokens:,}" if is_known else f"character {character:,}"
            return f"{token}, {since_ns / 1e9:.3g} s after it was asked"
        before += length
        is_known = is_known and delivery.tokens is not None
        tokens += delivery.tokens or 0
    return "its end"
