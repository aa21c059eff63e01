"""Lays sides of equal load beside each other: matched requests, a value per repeat, the difference, its family."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from auditor import __version__
from auditor.core.comparing import words
from auditor.core.comparing.conditions import conditions_of, differing, same_requests
from auditor.core.comparing.effect import ALPHA, Effect, effect_of, holm
from auditor.core.comparing.power import repeats_needed, smallest_shown
from auditor.core.comparing.quantities import BY_ID, QUANTITIES, Quantity, Samples, Slot, by_repeat, matched
from auditor.core.comparing.record import Comparison, Difference, Outcome, Pair, Reach
from auditor.core.comparing.side import Load, Run, Side, load_words, side_summary, sides_of
from auditor.core.record import six
from auditor.core.stats import Estimate, estimate, ratio_estimate
from auditor.errors import UsageError

REACHED = {"10 %": 1.10, "5 %": 1.05}
"""Differences for which the repeats are told that would show them."""


@dataclass(frozen=True, slots=True)
class Raw:
    """One quantity on two sides, before it is held to its family."""

    quantity: Quantity
    ones: tuple[float, ...]
    others: tuple[float, ...]
    """The values of the repeats that have one on both sides."""
    is_paired: bool
    effect: Effect | str
    """The effect, or why there is none."""


def raw_of(
    quantity: Quantity,
    sides: tuple[Samples, Samples],
    slots: Mapping[int, Sequence[Slot]],
    per_repeat: int,
    *,
    is_paired: bool,
) -> Raw | None:
    """One quantity on two sides; None where no repeat has a value on both."""
    one, other = (by_repeat(quantity, samples, slots, per_repeat) for samples in sides)
    repeats = sorted(one.keys() & other.keys())
    if not repeats:
        return None
    ones, others = (tuple(side[repeat] for repeat in repeats) for side in (one, other))
    return Raw(quantity, ones, others, is_paired, effect_of(ones, others, is_paired=is_paired))


def outcome_of(raw: Raw, adjusted: float | None, floor: float | None) -> Outcome:
    """What was shown: the chance must hold in its family, and runs apart must differ by more than each by itself."""
    if isinstance(raw.effect, str) or adjusted is None:
        return "no interval"
    if adjusted > ALPHA or (floor is not None and abs(raw.effect.mean) <= math.log(floor)):
        return "none shown"
    return "faster" if (raw.effect.mean > 0) == raw.quantity.is_rate else "slower"


@dataclass(frozen=True, slots=True)
class _Paired:
    """Two sides and what was measured on both."""

    one: Side
    other: Side
    slots: Mapping[int, Sequence[Slot]]
    is_interleaved: bool
    raws: tuple[Raw, ...]
    """The headline quantity first, where it has a value."""


def compare(
    runs: Sequence[Run], *, headline: str = "decode-rate", compared: Collection[str] = (), margin: float | None = None
) -> Comparison:
    """Compare the servers of one run, or the judged servers of several, each with the first under the same load.

    Raises UsageError where no load was measured on two sides.
    """
    if len({run.verdict.run.run for run in runs}) < len(runs):
        raise UsageError("the same run is given twice", remedy="give each once")
    sides = sides_of(runs)
    loads: dict[Load, list[Side]] = {}
    for side in sides:
        loads.setdefault(side.load, []).append(side)
    paired = [_paired(own[0], other, headline) for own in loads.values() for other in own[1:]]
    if not paired:
        raise UsageError(
            "no load was measured on two servers: " + "; ".join(f"{s.letter} {load_words(s.load)}" for s in sides),
            remedy="give runs with the same --streams and --tokens, or a run with a second server",
        )
    held = _held(paired, headline)
    return Comparison(
        tool_version=__version__,
        headline=headline,
        margin=margin,
        sides=tuple(side_summary(side) for side in {side.letter: side for side in reversed(sides)}.values())[::-1],
        pairs=tuple(
            _pair(one, chances, compared, margin, len(paired)) for one, chances in zip(paired, held, strict=True)
        ),
        alone=tuple(f"{load_words(load)}, on {own[0].letter}" for load, own in loads.items() if len(own) == 1),
    )


def _paired(one: Side, other: Side, headline: str) -> _Paired:
    slots = matched(one.samples, other.samples, one.cell.requests)
    is_interleaved = one.run is other.run
    is_paired = is_interleaved or same_requests(one, other, list(slots))
    ordered = sorted(QUANTITIES, key=lambda quantity: quantity.id != headline)
    sides = (one.samples, other.samples)
    raws = [raw_of(quantity, sides, slots, one.cell.requests, is_paired=is_paired) for quantity in ordered]
    return _Paired(one, other, slots, is_interleaved, tuple(raw for raw in raws if raw is not None))


def _held(paired: Sequence[_Paired], headline: str) -> list[list[float | None]]:
    """The adjusted chance of every quantity of every pair: the headline's are one family, all others another."""
    held: list[list[float | None]] = [[None] * len(one.raws) for one in paired]
    for is_headline in (True, False):
        members = [
            (row, column, raw.effect.p)
            for row, one in enumerate(paired)
            for column, raw in enumerate(one.raws)
            if (raw.quantity.id == headline) == is_headline and not isinstance(raw.effect, str)
        ]
        for (row, column, _), chance in zip(members, holm([p for *_, p in members]), strict=True):
            held[row][column] = chance
    return held


def _pair(
    paired: _Paired, chances: Sequence[float | None], compared: Collection[str], margin: float | None, family: int
) -> Pair:
    one, other = paired.one, paired.other
    all_slots = list(chain.from_iterable(paired.slots.values()))
    conditions = conditions_of(one, other, all_slots, compared)
    differences = [
        _difference(raw, chance, paired, margin, family if index == 0 else None)
        for index, (raw, chance) in enumerate(zip(paired.raws, chances, strict=True))
    ]
    return Pair(
        load=load_words(one.load),
        one=one.letter,
        other=other.letter,
        is_interleaved=paired.is_interleaved,
        repeats=len(paired.slots),
        requests=len(all_slots),
        refusals=tuple(words.refusals(one, other, differing(conditions, "decisive"), len(all_slots))),
        notes=tuple(words.notes(one, other, paired.slots, conditions)),
        conditions=conditions,
        differences=tuple(differences),
        by_prompt=_by_prompt(paired),
        values={
            raw.quantity.id: tuple((six(a), six(b)) for a, b in zip(raw.ones, raw.others, strict=True))
            for raw in paired.raws
        },
    )


def _difference(
    raw: Raw, adjusted: float | None, paired: _Paired, margin: float | None, family: int | None
) -> Difference:
    """`family` is the number of pairs, for the headline quantity; None for the others."""
    floor = None
    if not paired.is_interleaved and len(raw.ones) > 1:
        floor = six(max(max(values) / min(values) for values in (raw.ones, raw.others)))
    is_within = None
    effect = raw.effect
    if margin is not None and isinstance(effect, Effect):
        low, high = effect.interval
        is_within = 1 / (1 + margin) <= low and high <= 1 + margin
    reach = _reach(effect, ALPHA / family) if family is not None and isinstance(effect, Effect) else None
    made = Difference(
        quantity=raw.quantity.id,
        label=raw.quantity.label,
        unit=raw.quantity.unit,
        one=estimate(raw.ones),
        other=estimate(raw.others),
        ratio=_ratio(raw),
        is_paired=raw.is_paired,
        p=six(effect.p) if isinstance(effect, Effect) else None,
        adjusted=None if adjusted is None else six(adjusted),
        floor=floor,
        outcome=outcome_of(raw, adjusted, floor),
        is_within_margin=is_within,
        reach=reach,
        sentence="",
    )
    sentence = words.difference(made, paired.one.letter, paired.other.letter, margin, is_rate=raw.quantity.is_rate)
    return made.model_copy(update={"sentence": sentence})


def _ratio(raw: Raw) -> Estimate:
    found = ratio_estimate([b / a for a, b in zip(raw.ones, raw.others, strict=True)])
    if isinstance(raw.effect, str):
        return Estimate(value=found.value, n=found.n, reason=raw.effect)
    low, high = raw.effect.interval
    return found.model_copy(update={"low": six(low), "high": six(high)})


def _reach(effect: Effect, alpha: float) -> Reach:
    return Reach(
        smallest=six(smallest_shown(effect, alpha)),
        repeats={name: repeats_needed(effect, ratio, is_sure=False, alpha=alpha) for name, ratio in REACHED.items()},
        sure_repeats={
            name: repeats_needed(effect, ratio, is_sure=True, alpha=alpha) for name, ratio in REACHED.items()
        },
    )


def _by_prompt(paired: _Paired) -> dict[str, Estimate]:
    """The ratio of decode rates of every prompt over the repeats."""
    names = dict.fromkeys(slot[2] for slots in paired.slots.values() for slot in slots)
    found = {}
    for name in names:
        own = {repeat: [slot for slot in slots if slot[2] == name] for repeat, slots in paired.slots.items()}
        sides = (paired.one.samples, paired.other.samples)
        raw = raw_of(BY_ID["decode-rate"], sides, {k: v for k, v in own.items() if v}, 1, is_paired=True)
        if raw is not None:
            found[name] = ratio_estimate([b / a for a, b in zip(raw.ones, raw.others, strict=True)])
    return found
