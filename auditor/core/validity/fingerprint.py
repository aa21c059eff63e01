"""Is it the same model? The log-probabilities of fixed prompts beside those of a reference run.

The same weights give the same numbers but for the order of sums, which batch shapes change. How much they do is
measured on each server: the same prompts alone and in a batch. More than that is another model, another quantisation
or another back end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from auditor.core.judging.textcheck import LEAST_NOISE
from auditor.core.validity.canaries import Canaries, Position, When

FEWEST_POSITIONS = 8
FEWEST_BEYOND = 2
"""Positions that must differ by more than noise."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Two runs, laid beside each other."""

    outcome: Literal["same", "differs", "unknown"]
    positions: int
    """Tokens compared."""
    beyond: int = 0
    """Of them, those that differ by more than noise."""
    worst: float = 0.0
    """Largest difference of a log-probability, nats."""
    noise: float | None = None
    """Largest difference between alone and in a batch on either server, nats; None where not measured."""
    why: str | None = None
    """Why nothing can be said."""


def compare(mine: Canaries, reference: Canaries) -> Fingerprint:
    """Lay the fingerprint of a run beside that of a reference."""
    noises = [noise for one in (mine, reference) if (noise := _noise(one)) is not None]
    gaps = _gaps(_positions(mine, "before"), _positions(reference, "before"))
    if len(gaps) < FEWEST_POSITIONS:
        why = f"only {len(gaps)} tokens of both have log-probabilities" if gaps else "no log-probabilities of both"
        return Fingerprint("unknown", len(gaps), why=why)
    if len(noises) < 2:
        return Fingerprint("unknown", len(gaps), why="how far batch shapes move them was not measured on both")
    limit = max(*noises, LEAST_NOISE)
    beyond = sum(gap > limit for gap in gaps)
    outcome: Literal["same", "differs"] = "differs" if beyond >= FEWEST_BEYOND else "same"
    return Fingerprint(outcome, len(gaps), beyond, max(gaps), max(noises))


def mean_logprob(canaries: Canaries) -> tuple[float | None, int, int]:
    """Mean log-probability of the greedy tokens of all answers, nats; how many had one, and how many had none beside
    others that did."""
    values = [one.logprob for answer in canaries.answers for one in answer.positions]
    known = [value for value in values if value is not None]
    return (sum(known) / len(known) if known else None), len(known), len(values) - len(known)


def _positions(canaries: Canaries, when: When) -> Mapping[str, tuple[Position, ...]]:
    ids = {canary.id for canary in canaries.asked if canary.kind == "fingerprint"}
    return {one.canary: one.positions for one in canaries.answers if one.when == when and one.canary in ids}


def _noise(canaries: Canaries) -> float | None:
    gaps = _gaps(_positions(canaries, "before"), _positions(canaries, "after"))
    return max(gaps) if gaps else None


def _gaps(one: Mapping[str, tuple[Position, ...]], other: Mapping[str, tuple[Position, ...]]) -> list[float]:
    """The largest difference at each position, to the first at which the texts part and with it."""
    found = []
    for name in sorted(one.keys() & other.keys()):
        for mine, theirs in zip(one[name], other[name], strict=False):
            shared = mine.top.keys() & theirs.top.keys()
            if shared:
                found.append(max(abs(mine.top[token] - theirs.top[token]) for token in shared))
            if mine.token != theirs.token:
                break
    return found
