"""Rules that the evidence cannot tell apart, and the cheapest further measurement that would part them."""

from collections.abc import Callable, Sequence
from itertools import combinations

from auditor.core.explain.closedloop import Setting, changes, rate_at
from auditor.core.explain.record import Alias, Discriminator, Prediction, Reading
from auditor.core.record import six
from auditor.core.wording import listed

SettingOf = Callable[[Reading], Setting | None]
"""The server behind a reading: it may hang on how acceptance is defined."""


def aliases_of(matches: Sequence[Reading], setting_of: SettingOf, least_half_width: float) -> tuple[Alias, ...]:
    """The readings that meet one claim, which the claim therefore cannot tell apart; empty if there are not two.

    `least_half_width` is the relative half-width below which no two predictions are told apart: the claim's rounding.
    """
    return (_alias(matches, setting_of, least_half_width),) if len(matches) > 1 else ()


def ends_of(reading: Reading) -> tuple[float, float]:
    """The interval of a reading that has a value; without an interval, the value twice."""
    estimate = reading.estimate
    assert estimate is not None  # only readings with a value meet anything
    low = estimate.value if estimate.low is None else estimate.low
    return low, estimate.value if estimate.high is None else estimate.high


def _alias(group: Sequence[Reading], setting_of: SettingOf, least: float) -> Alias:
    found = cheapest(group, setting_of, least)
    words = f"{listed([reading.name for reading in group])} cannot be told apart from this evidence"
    if found is None:
        words = f"{words}; no other answer length, number of streams or draft width is known to part them"
    else:
        whom = "them" if found.parts_all else "some of them"
        words = f"{words}; {found.change} would part {whom}, if the claimed number were known there too"
    return Alias(rules=tuple(reading.id for reading in group), sentence=words, discriminator=found)


def cheapest(group: Sequence[Reading], setting_of: SettingOf, least: float) -> Discriminator | None:
    """The cheapest change that parts every pair; else the one that parts the most pairs; None where none parts any."""
    best: tuple[int, Discriminator] | None = None
    pairs = len(group) * (len(group) - 1) // 2
    settings = [(reading, now) for reading in group if (now := setting_of(reading)) is not None]
    moves = [(reading, now, dict(changes(now))) for reading, now in settings]
    for change in dict.fromkeys(change for _, _, others in moves for change in others):
        known = [
            prediction
            for reading, now, others in moves
            if change in others and (prediction := _prediction(reading, now, others[change], least)) is not None
        ]
        parted = sum(one.high < two.low or two.high < one.low for one, two in combinations(known, 2))
        if parted and (best is None or parted > best[0]):
            best = (parted, Discriminator(change=change, predictions=tuple(known), parts_all=parted == pairs))
        if parted == pairs:
            break
    return None if best is None else best[1]


def _prediction(reading: Reading, now: Setting, then: Setting, least: float) -> Prediction | None:
    """What was measured, moved as the model of the server moves, with the same relative interval."""
    basis = reading.id.split(" @ ")[0]
    before, after = rate_at(now, basis), rate_at(then, basis)
    if reading.estimate is None or before is None or after is None or before <= 0:
        return None
    value = reading.estimate.value * after / before
    half = max(reading.estimate.half_width or 0.0, least)
    return Prediction(rule=reading.id, value=six(value), low=six(value * (1 - half)), high=six(value * (1 + half)))
