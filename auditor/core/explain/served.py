"""What was delivered and how, and what the claim states of it: the two sides between which a claim is run backwards."""

from dataclasses import dataclass

from auditor.core.claim.record import Case
from auditor.core.claim.types import AcceptanceDefinition
from auditor.core.explain.acceptance import length_of
from auditor.core.wording import span

K_MAX = 32
"""Largest draft width that is tried."""


@dataclass(frozen=True, slots=True)
class Span:
    """An acceptance under one definition, lowest and highest, with the tokens per verify step that it means."""

    definition: AcceptanceDefinition
    low: float
    high: float

    def lengths(self, width: float) -> tuple[float, float] | None:
        """Shortest and longest acceptance length at a width; None where the definition does not allow it."""
        high = length_of(self.high, width, self.definition)
        if high is None:
            return None
        return (length_of(self.low, width, self.definition) or 1.0, high)


@dataclass(frozen=True, slots=True)
class Served:
    """What was measured."""

    value: float
    """Delivered tokens per second."""
    low: float
    high: float
    width: float | None = None
    """k: most tokens drafted per step; 0 without speculation, None where it is not known."""
    per_step: float | None = None
    """Drafted per step of the target; less than k where some steps had no draft."""
    lengths: tuple[tuple[float, float], ...] = ()
    """Tokens per step of the target, shortest and longest, under each definition; empty where not known."""
    spans: tuple[Span, ...] = ()
    """The acceptance under each definition that it may have."""
    acceptance_words: str | None = None
    """The acceptance as it was given or measured."""
    is_one_stream: bool = True
    """Whether it is the rate of one stream."""
    streams: int | None = None
    """Requests in flight when it was measured; None where that is not known."""
    gpus: int | None = None
    output_tokens: float | None = None
    """Delivered per request."""
    prompt_tokens: float | None = None
    reasoning: float | None = None
    """Share of the delivered tokens that were reasoning."""
    decode_s: float | None = None
    """Time of a request from its first to its last event."""
    may_be_events: bool = False
    """Whether it may have counted events: a number that no run stands behind."""

    def gives(self, need: tuple[float, float]) -> bool | None:
        """Whether so many tokens per step were given; None where it is not known."""
        return any(need[0] <= high and need[1] >= low for low, high in self.lengths) if self.lengths else None

    def length_words(self) -> str:
        """How many tokens a step gave."""
        if not self.lengths:
            return "how many tokens a step gives is not known"
        ends = (min(low for low, _ in self.lengths), max(high for _, high in self.lengths))
        return f"{self.acceptance_words} is {span(*ends, digits=3)} tokens per step"


@dataclass(frozen=True, slots=True)
class Stated:
    """What the claim states; None where it does not."""

    width: int | None = None
    is_off: bool = False
    """Whether it states that there was no speculation."""
    streams: int | None = None
    gpus: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None


def stated_of(case: Case) -> Stated:
    """What a case states of the quantities that are run backwards."""
    return Stated(
        width=case.speculation.draft_tokens,
        is_off=case.speculation.is_off,
        streams=case.reported.streams or case.workload.concurrency,
        gpus=case.hardware.count,
        prompt_tokens=case.workload.prompt_tokens,
        output_tokens=case.workload.output_tokens,
    )
