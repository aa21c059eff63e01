"""Whether drafts were accepted because the model would have said the same, and not by a switch."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.wording import figure
from auditor.terms import Outcome

FORCED = {
    "synthetic": "accepts drafts at random or by number: what it delivers is not what the model would say",
    "lossy": "accepts drafts that the model itself would not have chosen",
}
"""Modes of acceptance that fabricate speed, and what each does."""
FEWEST_STEPS = 30
"""Verify steps below which a shape says nothing."""
_NEAR = 0.02
"""Distance within which a share is one or nothing: the last draft of an answer may be cut short."""
_EASY = 0.9
"""Share of the last position above which drafts are just good."""


def honest_acceptance(c: Context) -> Answer:
    """Were drafts accepted by what the model would say?"""
    server = c.facts.servers[c.plan.subject.server]
    tally = c.subject.tally if c.subject else None
    said = [server.facts.get("acceptance_mode")]
    if c.timeline is not None and c.timeline.log.server == server.key:
        said.append(c.timeline.log.facts.get("acceptance_mode"))
    for fact in said:
        if fact is not None and fact.value in FORCED:
            words = f"acceptance is {fact.value} ({fact.source}): the server {FORCED[str(fact.value)]}"
            return fails(words, "switch it off; no speed that it gives is a speed of the model")
    if server.value("speculation") is False or (tally is not None and tally.drafted == 0):
        return Answer(Outcome.NOT_APPLICABLE, "nothing was drafted")
    if grave := _grave(c):
        return fails(grave, "ask what the setting does; without it, run again", "note")
    if shape := _shape(c):
        return fails(shape, "compare the texts with those of the server without speculation at temperature 0", "note")
    known = next((fact for fact in said if fact is not None and fact.value is not None), None)
    if known is not None:
        return holds(f"acceptance is {known.value} ({known.source})")
    why = said[0].reason if said[0] is not None and said[0].reason else "the server does not tell"
    return not_available(f"whether acceptance is forced is not known: {why}", "give the server's log with --server-log")


def _grave(c: Context) -> str | None:
    signs = c.timeline.log.signs if c.timeline is not None else ()
    grave = next((sign for sign in signs if sign.is_grave), None)
    return None if grave is None else f"server log line {grave.line}: {grave.kind}: {grave.text}"


def _shape(c: Context) -> str | None:
    """Forced acceptance to a mean length accepts the first positions always, one in part, and those after it never,
    whatever the prompt is; equally, every step accepts one of two adjacent numbers of drafts."""
    shapes = list(_shapes(c))
    if not shapes or not all(is_step(shares) for _, shares, _ in shapes):
        return None
    words = "; ".join(f"{name}: {', '.join(map(figure, shares))} of {steps:,} steps" for name, shares, steps in shapes)
    return (
        f"the share of steps that accept each position is a step ({words}), as acceptance forced to a mean length gives"
        "; real acceptance declines by position"
    )


def is_step(shares: Sequence[float]) -> bool:
    """Whether the shares are ones, then at most one other, then noughts.

    All accepted is what a model that drafts for itself shows, and nearly all an easy text: neither is a step.
    """
    ones = next((i for i, share in enumerate(shares) if share < 1 - _NEAR), len(shares))
    is_drop = len(shares) > 1 and shares[0] > _NEAR and shares[-1] < _EASY
    return is_drop and all(share <= _NEAR for share in shares[ones + 1 :])


def _shapes(c: Context) -> Iterator[tuple[str, list[float], int]]:
    """By kind of prompt where the streams show their steps, else of all by the server's counters: name, the share of
    steps that accepted each position, and the steps; empty where they are too few."""
    accepted: dict[str, list[int]] = defaultdict(list)
    width = c.subject.tally.draft_width if c.subject else None
    for item in c.account.counted:
        if item.line.cell == c.plan.subject.key and item.line.status == "complete":
            accepted[item.line.kind] += [
                step.accepted
                for step in item.stream.steps or ()
                if step.phase == "verify" and step.accepted is not None and step.drafted == width
            ]
    if width and any(accepted.values()):
        if min(map(len, accepted.values())) >= FEWEST_STEPS:
            for kind, counts in accepted.items():
                shares = [sum(count > position for count in counts) / len(counts) for position in range(width)]
                yield kind, shares, len(counts)
        return
    positions, steps = (c.subject.accepted_by_position, c.subject.tally.verify_steps) if c.subject else (None, None)
    if positions and steps and steps >= FEWEST_STEPS:
        yield "all prompts", [count / steps for count in positions], steps
