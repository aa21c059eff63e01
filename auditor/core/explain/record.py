"""What was found about a number: which rules meet it, by what chance, and what would have to be true."""

from typing import Literal

from auditor.core.record import Record
from auditor.core.stats import Estimate

State = Literal["meets", "meets once", "misses", "too wide", "not counted"]
"""`meets` and `misses` the claim's interval; `meets once` does so with a value that has no interval, which decides
nothing; `too wide` reaches it with an interval that can match nothing."""


class Reading(Record):
    """One counting rule beside the claim."""

    id: str
    """Id of the basis; with ` @ ` and the definition of acceptance where that matters."""
    name: str
    formula: str
    unit: str
    is_honest: bool
    state: State
    estimate: Estimate | None = None
    factor: tuple[float, float] | None = None
    """Claim by this rule: the least and the most that the intervals allow."""
    definition: str | None = None
    """What the acceptance is taken to be, where one was given and the rule depends on it."""
    ends: tuple[float, float] | None = None
    """The value at the lowest and the highest acceptance given."""
    reason: str | None = None
    """Why it was not counted, or has no interval."""


class Prediction(Record):
    """What a rule would show at another setting."""

    rule: str
    value: float
    low: float
    high: float


class Discriminator(Record):
    """A further measurement under which rules that agree here would part.

    It parts the readings of a claim only if the number that is claimed is known at that setting too.
    """

    change: str
    """What is measured otherwise, as `answers half as long` or `k = 1 instead of 2`."""
    predictions: tuple[Prediction, ...]
    parts_all: bool
    """Whether every pair of the rules would part."""


class Alias(Record):
    """Rules that this evidence cannot tell apart."""

    rules: tuple[str, ...]
    sentence: str
    discriminator: Discriminator | None = None
    """The cheapest that parts them; None where none does."""


class Backward(Record):
    """What would have to be true for the claim to come from what was delivered."""

    id: str
    sentence: str
    is_possible: bool | None
    """None where it hangs on something that is not known."""
    why: str


class WitnessFigure(Record):
    """A figure parsed from an artefact, with the interval that its rounding allows."""

    text: str
    low: float
    high: float
    setting: str | None = None
    """The setting at which it was printed, where that is told."""
    predicted: Estimate | None = None
    """What the rule gives at that setting."""


class Witness(Record):
    """A stored artefact that speaks for a rule."""

    rule: str
    """Id of the basis; or what it counts, as `drafted`, where the artefact does not tell over which clock."""
    kind: Literal["claimant", "printed"]
    """The claimant's own log or file, which holds the claimed number; or what the fork itself prints, which follows
    the rule at two settings."""
    artefact_sha256: str
    origin: str
    """Where it comes from."""
    at: str
    """When it was written or taken, ISO 8601."""
    figures: tuple[WitnessFigure, ...]


class Explanation(Record):
    """Of one claim and one thing that was measured."""

    given: str
    """What the figures rest on, in words."""
    claim_text: str
    claim_low: float
    claim_high: float
    delivered: Estimate | None
    """The delivered rate that the factors rest on."""
    delivered_id: str | None
    limit: float
    """Relative half-width above which an interval meets nothing."""
    readings: tuple[Reading, ...]
    matches: tuple[str, ...]
    """Ids of the readings that meet the claim."""
    matches_once: tuple[str, ...] = ()
    """Ids of the readings that meet it with a value without an interval."""
    tried: int
    """Readings narrow enough to meet a number."""
    chance: float | None
    """Chance that a number drawn log-uniformly from 0.2 to 5 times delivered meets at least one of them."""
    chance_words: str
    aliases: tuple[Alias, ...] = ()
    backwards: tuple[Backward, ...] = ()
    witnesses: tuple[Witness, ...] = ()
    explained_by: tuple[str, ...] = ()
    """Matches that a witness backs."""
    words: tuple[str, ...]
    """What may be said, in sentences."""
    caution: str
