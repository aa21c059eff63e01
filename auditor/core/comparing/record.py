"""A comparison, as it is written: every figure that a reader needs to hold it against the runs."""

from typing import Literal

from auditor.core.comparing.conditions import Condition
from auditor.core.comparing.side import SideSummary
from auditor.core.record import Record
from auditor.core.stats import Estimate

Outcome = Literal["faster", "slower", "none shown", "no interval"]
"""Whether the second side was shown to be faster or slower than the first."""


class Reach(Record):
    """What the comparison could have shown nine times in ten, at its own level of 5 %."""

    smallest: float
    """The least ratio above 1 that this many repeats would have shown, by the noise as measured."""
    repeats: dict[str, int | None]
    """Repeats that would show 10 % and 5 %, by the noise as measured; None above a thousand."""
    sure_repeats: dict[str, int | None]
    """The same with the noise at the upper limit that these repeats leave it."""


class Difference(Record):
    """One quantity on two sides."""

    quantity: str
    label: str
    unit: str
    one: Estimate
    other: Estimate
    ratio: Estimate
    """The second side by the first, with its own 95 % interval."""
    is_paired: bool
    p: float | None = None
    """The chance of a ratio this far from 1 between equal servers; None without an interval."""
    adjusted: float | None = None
    """The same, held to 5 % together with its family: the headline quantity over all pairs, or all others (Holm)."""
    floor: float | None = None
    """Of runs apart: the ratio by which the repeats of one side went apart, which is no difference of servers."""
    outcome: Outcome
    is_within_margin: bool | None = None
    """Whether the interval lies within the margin that was asked for; None where none was."""
    reach: Reach | None = None
    """Of the headline quantity."""
    sentence: str


class Pair(Record):
    """Two sides under one load."""

    load: str
    one: str
    """Letter of the side that the ratio is to."""
    other: str
    is_interleaved: bool
    """Whether both were measured in one run, repeat beside repeat."""
    repeats: int
    requests: int
    """Requests that completed on both sides and were compared."""
    refusals: tuple[str, ...]
    """Why the two may not be compared; the figures stand all the same."""
    notes: tuple[str, ...]
    """What must be known beside the difference."""
    conditions: tuple[Condition, ...]
    differences: tuple[Difference, ...]
    """The headline quantity first."""
    by_prompt: dict[str, Estimate]
    """Ratio of decode rates by prompt, each with an interval of its own, held to nothing together."""
    values: dict[str, tuple[tuple[float, float], ...]]
    """By quantity, the two sides' values of each repeat."""

    @property
    def is_comparable(self) -> bool:
        """Whether nothing forbids it."""
        return not self.refusals


class Comparison(Record):
    """The whole."""

    comparison_version: Literal[1] = 1
    tool_version: str
    headline: str
    """Id of the quantity that the conclusion is about."""
    margin: float | None
    """Asked for: within this share the servers count as near each other."""
    sides: tuple[SideSummary, ...]
    pairs: tuple[Pair, ...]
    alone: tuple[str, ...]
    """Loads that were measured on one side only."""

    @property
    def is_comparable(self) -> bool:
        """Whether every pair is."""
        return all(pair.is_comparable for pair in self.pairs)
