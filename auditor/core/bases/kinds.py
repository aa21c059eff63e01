"""What a counting rule is, what it is computed from, and what comes out."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from auditor.core.record import Record
from auditor.core.stats import Estimate

Clock = Literal["decode", "request", "system"]
"""First to last event of each stream; send to end of each stream; one window of all streams."""


class Counts(Protocol):
    """The counts of a round. A `Tally` has them; a made-up round may have fractions of a token."""

    @property
    def delivered(self) -> float | None: ...
    @property
    def first(self) -> float | None: ...
    @property
    def plain_steps(self) -> float | None: ...
    @property
    def verify_steps(self) -> float | None: ...
    @property
    def target_steps(self) -> float | None: ...
    @property
    def drafted(self) -> float | None: ...
    @property
    def accepted(self) -> float | None: ...
    @property
    def rejected(self) -> float | None: ...
    @property
    def draft_width(self) -> float | None: ...
    @property
    def events(self) -> float | None: ...
    @property
    def prompt_tokens(self) -> float | None: ...
    @property
    def requested(self) -> float | None: ...
    @property
    def reasoning(self) -> float | None: ...
    @property
    def requests(self) -> float: ...


@dataclass(frozen=True, slots=True)
class One:
    """One complete request of a round."""

    delivered: float | None
    decode_tokens: float | None
    """Tokens after the first event."""
    decode_ns: float | None
    e2e_ns: float | None


@dataclass(frozen=True, slots=True)
class Recounted:
    """The text of a round in other tokens; None where nothing could count them."""

    whole: float | None = None
    """Whole texts by the model's own tokenizer."""
    by_event: float | None = None
    """Each event by itself by the model's own tokenizer."""
    other: float | None = None
    """Whole texts by another tokenizer."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A round, as the rules see it: counts, clocks and what else a number can be made of."""

    counts: Counts
    first_tokens: float | None = None
    """Tokens of the first events, which are outside the decode clock."""
    decode_ns: float | None = None
    e2e_ns: float | None = None
    window_ns: float | None = None
    span_ns: float | None = None
    """First token of any stream to the last token of any."""
    each: tuple[One, ...] = ()
    peak_tokens: float | None = None
    peak_total: float | None = None
    peak_events: float | None = None
    recounted: Recounted = Recounted()
    log_rates: tuple[float, ...] = ()
    """Generation throughput of the engine's log lines within the round, tokens per second."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a rule needs to know beside the counts."""

    streams: int
    gpus: int | None = None


@dataclass(frozen=True, slots=True)
class Extras:
    """Counts that are not in the ledger; all may stay empty."""

    recounted: Mapping[int, Recounted] = field(default_factory=dict)
    """By exchange."""
    log_rates: Mapping[int, Sequence[float]] = field(default_factory=dict)
    """Tokens per second of the engine's log lines within a round, by repeat."""


Rate = Callable[[Sample, Load], float | None]


@dataclass(frozen=True, slots=True)
class Basis:
    """One counting rule."""

    id: str
    name: str
    formula: str
    rate: Rate
    is_honest: bool
    """Whether it counts delivered tokens under a label that people use for them."""
    needs: str
    """What must have been counted."""
    unit: str = "tokens/s"
    """What is counted; a claim calls all of them tokens."""
    is_best: bool = False
    """Whether it is the best round instead of their mean."""


class BasisValue(Record):
    """A basis, measured."""

    id: str
    name: str
    formula: str
    unit: str = "tokens/s"
    is_honest: bool
    estimate: Estimate | None = None
    reason: str | None = None
    """Why there is no value."""


def plus(*terms: float | None) -> float | None:
    """The sum; None where a term is."""
    return None if None in terms else sum(term or 0 for term in terms)


def minus(left: float | None, right: float | None) -> float | None:
    """The difference; None where a term is."""
    return None if left is None or right is None else left - right


def per_second(count: float | None, ns: float | None) -> float | None:
    """Count per second; None without a count or a time."""
    return None if count is None or not ns else count * 1e9 / ns
