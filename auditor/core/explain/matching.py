"""Explains a number: which counting rules turn what was measured into what was published.

Arithmetic shows what a number could count, never what it does count: with many rules one meets a random number by
chance. So every rule that meets the claim is named, with the chance that a random number would meet one, and `explained
by` is said only where a witness backs it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from auditor.core.bases import BasisValue
from auditor.core.claim.reported import Reported
from auditor.core.explain.aliases import SettingOf, aliases_of, ends_of
from auditor.core.explain.chance import RANGE, chance_of_match
from auditor.core.explain.record import Backward, Explanation, Reading, State, Witness
from auditor.core.record import six
from auditor.core.stats import Estimate
from auditor.core.wording import figure, listed, percent, span


@dataclass(frozen=True, slots=True)
class Number:
    """A published number with the interval that its rounding allows, tokens per second."""

    text: str
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """Half of the interval relative to its middle."""
        return (self.high - self.low) / (self.high + self.low)


def number_of(reported: Reported) -> Number | None:
    """The claimed number; None where none was stated."""
    interval = reported.interval()
    return None if interval is None else Number(reported.as_text(), *interval)


def reading_of(
    value: BasisValue,
    claim: Number,
    limit: float,
    *,
    definition: str | None = None,
    ends: tuple[float, float] | None = None,
) -> Reading:
    """A rule beside the claim; `limit` is the relative half-width above which an interval meets nothing."""
    estimate = value.estimate
    return Reading(
        id=value.id if definition is None else f"{value.id} @ {definition}",
        name=value.name,
        formula=value.formula,
        unit=value.unit,
        is_honest=value.is_honest,
        state=_state(estimate, claim, limit),
        estimate=estimate,
        factor=_factor(estimate, claim),
        definition=definition,
        ends=ends,
        reason=value.reason if estimate is None else estimate.reason,
    )


def _state(estimate: Estimate | None, claim: Number, limit: float) -> State:
    if estimate is None:
        return "not counted"
    low = estimate.value if estimate.low is None else estimate.low
    high = estimate.value if estimate.high is None else estimate.high
    if low > claim.high or high < claim.low or estimate.value <= 0:
        return "misses"
    if estimate.low is None or estimate.high is None:
        return "meets once"
    return "meets" if is_narrow(estimate, limit) else "too wide"


def is_narrow(estimate: Estimate, limit: float) -> bool:
    """Whether an interval can meet a number; a value without one is laid beside it by the claim's rounding alone."""
    return estimate.value > 0 and (estimate.half_width or 0.0) <= limit


def _factor(estimate: Estimate | None, claim: Number) -> tuple[float, float] | None:
    if estimate is None or estimate.value <= 0:
        return None
    low = estimate.low or estimate.value
    high = estimate.high or estimate.value
    return (six(claim.low / high), six(claim.high / low))


def explain(
    claim: Number,
    readings: Sequence[Reading],
    *,
    given: str,
    delivered: Estimate | None,
    delivered_id: str | None,
    limit: float,
    setting_of: SettingOf,
    backwards: Sequence[Backward] = (),
    witnesses: Sequence[Witness] = (),
) -> Explanation:
    """Lay every reading beside the claim. `delivered` is the rate that factors and chance rest on."""
    matches = [reading for reading in readings if reading.state == "meets"]
    once = [reading for reading in readings if reading.state == "meets once"]
    tried = [one for one in readings if one.estimate is not None and is_narrow(one.estimate, limit)]
    chance = None
    if delivered is not None and delivered.value > 0 and tried:
        chance = six(chance_of_match(delivered.value, [ends_of(one) for one in tried], (claim.low, claim.high)))
    backed = [(reading, witness) for reading in matches for witness in witnesses if backs(witness, reading, claim)]
    words = _words(claim, readings, backed, delivered, len(tried), limit)
    return Explanation(
        given=given,
        claim_text=claim.text,
        claim_low=claim.low,
        claim_high=claim.high,
        delivered=delivered,
        delivered_id=delivered_id,
        limit=limit,
        readings=tuple(readings),
        matches=tuple(reading.id for reading in matches),
        matches_once=tuple(reading.id for reading in once),
        tried=len(tried),
        chance=chance,
        chance_words=_chance_words(chance, delivered, len(tried)),
        aliases=aliases_of([*matches, *once], setting_of, claim.half_width),
        backwards=tuple(backwards),
        witnesses=tuple(witnesses),
        explained_by=tuple(dict.fromkeys(reading.id for reading, _ in backed)),
        words=tuple(words),
        caution=CAUTION,
    )


CAUTION = (
    "A rule that meets the claim is arithmetic, not proof: with many rules one meets a random number by chance. What a "
    "claimant counted needs a witness, such as a log or a result file."
)


def backs(witness: Witness, reading: Reading, claim: Number) -> bool:
    """Whether a witness makes `explained by` of a match.

    The claimant's own artefact must hold a figure that is the claimed number; what a fork prints must follow the rule
    at two settings.
    """
    if witness.rule not in (reading.id, reading.id.split("/")[0]) or not (
        witness.artefact_sha256 and witness.origin and witness.at
    ):
        return False
    if witness.kind == "claimant":
        return any(figure.low <= claim.high and figure.high >= claim.low for figure in witness.figures)
    followed = {
        figure.setting
        for figure in witness.figures
        if figure.predicted is not None
        and figure.low <= (figure.predicted.high or figure.predicted.value)
        and figure.high >= (figure.predicted.low or figure.predicted.value)
    }
    return len(followed - {None}) >= 2


def _words(
    claim: Number,
    readings: Sequence[Reading],
    backed: Sequence[tuple[Reading, Witness]],
    delivered: Estimate | None,
    tried: int,
    limit: float,
) -> list[str]:
    words = []
    for reading, witness in backed:
        words.append(
            f"{claim.text} is explained by {shown(reading, claim)}, as {witness.origin} shows "
            f"({witness.at}, SHA-256 {witness.artefact_sha256[:12]})."
        )
    explained = {reading.id for reading, _ in backed}
    others = [one for one in readings if one.state == "meets" and one.id not in explained]
    once = [one for one in readings if one.state == "meets once"]
    wide = [one for one in readings if one.state == "too wide"]
    delivered_as = [one.name for one in others if one.id.startswith("delivered/") and one.is_honest]
    if delivered_as:
        words.append(f"So much was delivered: {listed(delivered_as)}.")
    if others:
        words.append(f"{claim.text} matches {_shown(others, claim)}; not proven without a witness.")
    if once:
        how = f"By its value alone, without an interval, {claim.text} matches {_shown(once, claim)}"
        words.append(f"{how}; not proven without a witness.")
    if not (backed or others or once):
        words.append(_without_match(claim, readings, tried, limit))
    if wide:
        names = _shown(wide, claim)
        words.append(f"Within reach, but wider than {percent(limit)} to either side, which matches nothing: {names}.")
    if delivered is not None and (delivered.low or delivered.value) > claim.high:
        words.append("More was delivered than is claimed.")
    return words


def _without_match(claim: Number, readings: Sequence[Reading], tried: int, limit: float) -> str:
    laid = sum(1 for reading in readings if reading.estimate is not None)
    if not laid:
        return "No rule could be tried: nothing was counted."
    words = f"{claim.text} matches none of {laid} readings; what it counts is not known."
    if tried == laid:
        return words
    return f"{words} {laid - tried} of them are too wide to match a number (more than {percent(limit)} to either side)."


def _shown(readings: Sequence[Reading], claim: Number) -> str:
    return listed([shown(reading, claim) for reading in readings])


def shown(reading: Reading, claim: Number) -> str:
    """A reading with its value: `drafted, over the request (93.8 tokens/s)`."""
    estimate = reading.estimate
    how = f", acceptance {reading.definition.replace('_', ' ')}" if reading.definition else ""
    if estimate is None:
        return f"{reading.name}{how}"
    return f"{reading.name}{how} ({span(*ends_of(reading), (claim.low, claim.high))} {reading.unit})"


def _chance_words(chance: float | None, delivered: Estimate | None, tried: int) -> str:
    if chance is None or delivered is None:
        return "No chance can be given: there is no delivered rate, or no rule could be tried."
    low, high = (figure(delivered.value * end) for end in RANGE)
    rules = "the one rule" if tried == 1 else f"at least one of the {tried} rules"
    return (
        f"A number drawn at random from {low} to {high} tok/s (log-uniform, {RANGE[0]:g} to {RANGE[1]:g} times "
        f"delivered) would match {rules} tried in {percent(chance)} of draws."
    )
