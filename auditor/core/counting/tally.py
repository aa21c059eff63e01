"""The terms of the reconciliation N = F + P + S + A - O, for one exchange or for many, and its check."""

from collections.abc import Iterable

from auditor.core.record import Record
from auditor.terms import Outcome


class Tally(Record):
    """Counts that add up; None where a term is not known. Symbols and formulas are in `auditor.terms`."""

    delivered: int | None = None
    first: int | None = None
    plain_steps: int | None = None
    verify_steps: int | None = None
    target_steps: int | None = None
    """P + S, which can be known when its parts are not."""
    merged_steps: int | None = None
    """Of P + S, those that were not seen one by one and follow from tokens that came together."""
    drafted: int | None = None
    accepted: int | None = None
    ignored: int | None = 0
    """Drafted tokens that were neither accepted nor rejected: none, but on LM Studio; None where that is not told."""
    overshoot: int | None = None
    """Counted at the last step where the server shows it; else None, and the identity yields it as a remainder."""
    draft_width: int | None = None
    """Most tokens drafted in one step."""
    events: int | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    reasoning: int | None = None
    """Delivered tokens that the server told apart as reasoning."""
    requested: int | None = None
    """Tokens asked for."""
    requests: int = 1

    @property
    def rejected(self) -> int | None:
        """R = D - A, less what was ignored."""
        if self.drafted is None or self.accepted is None or self.ignored is None:
            return None
        return self.drafted - self.accepted - self.ignored

    @property
    def overshoot_left(self) -> int | None:
        """O as the remainder F + P + S + A - N; None while a term is missing."""
        if self.first is None or self.target_steps is None or self.accepted is None or self.delivered is None:
            return None
        return self.first + self.target_steps + self.accepted - self.delivered

    @property
    def accepted_delivered(self) -> int | None:
        """Accepted tokens that reached the client: N - F - P - S."""
        if self.delivered is None or self.first is None or self.target_steps is None:
            return None
        return self.delivered - self.first - self.target_steps


_TERMS = tuple(name for name in Tally.model_fields if name not in ("draft_width", "requests"))


def add(tallies: Iterable[Tally]) -> Tally:
    """The sum; a term that one of them lacks is lacking in the sum."""
    parts = list(tallies)
    values: dict[str, int | None] = {}
    for name in _TERMS:
        terms = [getattr(part, name) for part in parts]
        values[name] = None if None in terms or not terms else sum(terms)
    widths = [part.draft_width for part in parts if part.draft_width is not None]
    return Tally(**values, draft_width=max(widths, default=None), requests=sum(part.requests for part in parts))


class Identity(Record):
    """Whether the terms add up."""

    outcome: Outcome
    sentence: str
    is_exact: bool = False
    """Whether every term was counted on its own; else steps were merged, or the overshoot is the remainder, checked
    against its bounds."""


def check_identity(tally: Tally, *, is_partial: bool = False) -> Identity:
    """Does N = F + P + S + A - O hold, with O within 0 and k tokens per request?

    A request cut short by the client has an overshoot too: tokens that the server counted and nobody read.
    """
    if impossible := _impossible(tally):
        return Identity(outcome=Outcome.FAILS, sentence=impossible)
    left = tally.overshoot_left
    if left is None:
        missing = [name for name in ("delivered", "first", "target_steps", "accepted") if getattr(tally, name) is None]
        words = " and ".join(missing).replace("_", " ")
        return Identity(outcome=Outcome.NOT_AVAILABLE, sentence=f"the server does not tell {words}")
    sums = (
        f"{tally.first} first + {tally.target_steps} steps + {tally.accepted} accepted"
        f" - {left} overshoot = {tally.delivered} delivered"
    )
    if left < 0:
        words = f"{-left} tokens were delivered that no step accounts for: {sums}"
        return Identity(outcome=Outcome.FAILS, sentence=words)
    if tally.overshoot is not None:
        holds = left == tally.overshoot
        words = sums if holds else f"{sums}, but the last steps show an overshoot of {tally.overshoot}"
        outcome = Outcome.HOLDS if holds else Outcome.FAILS
        return Identity(outcome=outcome, sentence=words, is_exact=holds and not tally.merged_steps)
    if left == 0:
        return Identity(outcome=Outcome.HOLDS, sentence=sums, is_exact=not tally.merged_steps)
    width = 0 if tally.drafted == 0 else tally.draft_width
    if width is None:
        words = f"{sums}; whether so many can lie past the end is not known without the draft width"
        return Identity(outcome=Outcome.NOT_AVAILABLE, sentence=words)
    bound = width * tally.requests
    if left > bound and not is_partial:
        words = f"{left} tokens past the end are more than {bound}, the draft width times the requests: {sums}"
        return Identity(outcome=Outcome.FAILS, sentence=words)
    return Identity(outcome=Outcome.HOLDS, sentence=sums)


def _impossible(tally: Tally) -> str | None:
    """What no engine can count, whatever the other terms are; None where nothing is."""
    drafted, accepted = tally.drafted, tally.accepted
    if drafted is not None and accepted is not None and accepted + (tally.ignored or 0) > drafted:
        words = f" and {tally.ignored} ignored" if tally.ignored else ""
        return f"{accepted} drafted tokens were accepted{words} of {drafted} that were drafted"
    if tally.target_steps is not None and tally.verify_steps is not None and tally.verify_steps > tally.target_steps:
        return f"{tally.verify_steps} steps verified a draft of {tally.target_steps} steps in all"
    return None
