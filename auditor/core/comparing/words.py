"""What a comparison says, in sentences."""

from collections.abc import Iterator, Mapping, Sequence

from auditor.core.comparing.conditions import Condition, differing, unknown
from auditor.core.comparing.effect import ALPHA
from auditor.core.comparing.power import MOST_REPEATS
from auditor.core.comparing.quantities import Slot
from auditor.core.comparing.record import Comparison, Difference, Pair, Reach
from auditor.core.comparing.side import Side
from auditor.core.wording import figure, listed, percent, plural

DRIFT = (
    "{one} and {other} were measured one after the other: what the machine did otherwise in between is part of the "
    "difference and cannot be told from it. `audit run --beside` measures both in turns."
)

_NOT_KNOWN = "not known"


def difference(found: Difference, one: str, other: str, margin: float | None, *, is_rate: bool) -> str:
    """One quantity: what was shown, never that two are equal."""
    ratio = found.ratio
    times = f"the {found.label} of {other} is {_ratio(ratio.value)} times that of {one}"
    if ratio.low is None or ratio.high is None:
        return f"no conclusion about {one} and {other}: {times}; {ratio.reason}"
    times += f" (95 % interval {_ratio(ratio.low)} to {_ratio(ratio.high)}, {plural(ratio.n, 'repeat')})"
    if found.outcome in ("faster", "slower"):
        return f"{other} is {found.outcome} than {one}: {times}{_near(found, margin)}"
    why = ""
    if found.p is not None and found.p <= ALPHA:
        is_family = found.adjusted is not None and found.adjusted > ALPHA
        why = "; its own interval leaves out 1, but " + (
            f"not among so many comparisons (Holm: p = {figure(found.adjusted or 1.0, (ALPHA,), 2)})"
            if is_family
            else f"repeats of one run went {percent((found.floor or 1) - 1)} apart by themselves"
        )
    return f"no difference shown between {one} and {other}: {times}{why}{_near(found, margin)}"


def _near(found: Difference, margin: float | None) -> str:
    if margin is None or found.is_within_margin is None:
        return ""
    inside = "lies within" if found.is_within_margin else "does not lie within"
    return f"; the interval {inside} the {percent(margin)} asked for"


def _ratio(value: float) -> str:
    return figure(value, (1,), 3)


def reach(found: Reach) -> str:
    """What these repeats could have shown, and how many would show less."""
    needs = [f"{name} takes {_repeats(number, found.sure_repeats[name])}" for name, number in found.repeats.items()]
    return (
        f"Nine times in ten these repeats show a difference of {percent(found.smallest - 1)} or more, by the noise as "
        f"measured. {'; '.join(needs)}."
    )


def _repeats(number: int | None, sure: int | None) -> str:
    if number is None:
        return f"more than {MOST_REPEATS:,} repeats"
    enough = f"more than {MOST_REPEATS:,}" if sure is None else f"{sure:,}"
    return plural(number, "repeat") + (f", {enough} to be sure of the noise" if sure != number else "")


def refusals(one: Side, other: Side, decisive: Sequence[Condition], requests: int) -> Iterator[str]:
    """Why two sides may not be compared."""
    if not requests:
        yield "no repeat has enough requests that completed on both sides"
    for row in decisive:
        if row.field == "prompts":
            yield "the prompts are not the same"
        else:
            yield f"{row.field} differs: {one.letter} {row.one}, {other.letter} {row.other}"
    for side in (one, other):
        for finding in side.failed:
            if finding.gravity == "invalid":
                yield f"the output of {side.letter} is not valid: {finding.sentence}"


def notes(
    one: Side,
    other: Side,
    slots: Mapping[int, Sequence[Slot]],
    conditions: Sequence[Condition],
) -> Iterator[str]:
    """What must be known beside a difference."""
    about = [
        f"{row.field} ({row.one or _NOT_KNOWN}, {row.other or _NOT_KNOWN})" for row in differing(conditions, "compared")
    ]
    yield f"what differs: {listed(about)}" if about else "nothing that the servers tell of themselves differs"
    for row in differing(conditions, "minor"):
        if row.field == "nonces of the prompts":
            yield "the nonces differ, so the repeats were not paired: `--seed` gives two runs the same"
        else:
            yield f"{row.field} differs: {one.letter} {row.one}, {other.letter} {row.other}"
    if doubtful := [row.field for row in unknown(conditions)]:
        yield f"not known to be the same: {listed(doubtful)}"
    if one.run is not other.run:
        yield DRIFT.format(one=one.letter, other=other.letter)
    for side in (one, other):
        yield from _of_side(side)
    planned = min(one.cell.repeats, other.cell.repeats) * one.cell.requests
    done = sum(map(len, slots.values()))
    if done < planned:
        left = planned - done
        yield f"{left:,} of {plural(planned, 'request')} did not complete on both sides and count on neither"
    if one.cell.repeats != other.cell.repeats:
        have = f"{one.letter} has {plural(one.cell.repeats, 'repeat')}, {other.letter} {other.cell.repeats:,}"
        yield f"{have}: those beyond are left out"


def _of_side(side: Side) -> Iterator[str]:
    for finding in side.failed:
        if finding.gravity == "dirty":
            yield f"the evidence of {side.letter} is doubtful: {finding.sentence}"
    if side.run.verdict.run.rehearsal:
        yield f"{side.letter} is this tool's embedded server, a rehearsal"
    if side.run.verdict.run.partial:
        yield f"the run of {side.letter} did not reach its end"


def headline(comparison: Comparison, pair: Pair) -> str:
    """The first line of a pair: what stands against it, or what it showed."""
    if not pair.is_comparable:
        return f"not comparable: {'; '.join(pair.refusals)}"
    found = next((one for one in pair.differences if one.quantity == comparison.headline), None)
    if found is None:
        return f"no conclusion: {comparison.headline} was not measured on both sides"
    return found.sentence
