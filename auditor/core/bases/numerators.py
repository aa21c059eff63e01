"""What can be counted: the numerators of the counting rules, each over three clocks."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from auditor.core.bases.kinds import Basis, Clock, Load, Rate, Sample, minus, per_second, plus

_DRAFTS = "drafts counted by the server"


@dataclass(frozen=True, slots=True)
class Numerator:
    """One thing that a number may have counted."""

    id: str
    name: str
    formula: str
    count: Callable[[Sample], float | None]
    in_first_event: Literal["tokens", "one", "nothing"]
    """What of it came with the first event of each stream, which is outside the decode clock."""
    is_honest: bool = False
    needs: str = _DRAFTS
    unit: str = "tokens/s"
    clocks: tuple[Clock, ...] = ("decode", "request", "system")
    is_of_drafts: bool = False
    """Whether it is the delivered tokens, or nothing, where nothing is drafted."""


def _full(sample: Sample) -> float | None:
    t = sample.counts
    if t.verify_steps is None or t.plain_steps is None or t.draft_width is None or t.first is None:
        return None
    return t.first + t.plain_steps + t.verify_steps * (t.draft_width + 1)


def _twice_drafted(sample: Sample) -> float | None:
    return plus(sample.counts.drafted, sample.counts.rejected)


NUMERATORS: tuple[Numerator, ...] = (
    Numerator("delivered", "delivered", "N", lambda s: s.counts.delivered, "tokens", True, "delivered tokens counted"),
    Numerator("total", "prompt + delivered", "I + N", lambda s: plus(s.counts.prompt_tokens, s.counts.delivered),
              "tokens", True, "prompt tokens counted", clocks=("request", "system")),
    Numerator("drafted", "drafted", "D", lambda s: s.counts.drafted, "nothing", is_of_drafts=True),
    Numerator("accepted", "accepted, without the bonus token", "A", lambda s: s.counts.accepted, "nothing",
              is_of_drafts=True),
    Numerator("verified", "verified positions", "F + P + S + D",
              lambda s: plus(s.counts.first, s.counts.target_steps, s.counts.drafted), "tokens",
              needs="steps and drafts", unit="positions/s", is_of_drafts=True),
    Numerator("delivered+rejected", "delivered + rejected", "N + R",
              lambda s: plus(s.counts.delivered, s.counts.rejected), "tokens", is_of_drafts=True),
    Numerator("delivered+drafted", "delivered + drafted", "N + D",
              lambda s: plus(s.counts.delivered, s.counts.drafted), "tokens", is_of_drafts=True),
    Numerator("drafted+rejected", "proposed + rejected", "D + R", _twice_drafted, "nothing", is_of_drafts=True),
    Numerator("events", "events of the stream", "E", lambda s: s.counts.events, "one", needs="a stream",
              unit="events/s"),
    Numerator("steps", "steps of the target", "F + P + S", lambda s: plus(s.counts.first, s.counts.target_steps),
              "one", needs="steps", unit="steps/s"),
    Numerator("full", "steps as if all were accepted", "F + P + S x (k + 1)", _full, "tokens",
              needs="steps and draft width", unit="positions/s", is_of_drafts=True),
    Numerator("requested", "requested length", "max_tokens", lambda s: s.counts.requested, "tokens",
              needs="a request"),
    Numerator("retokenised", "whole text tokenised again", "N'", lambda s: s.recounted.whole, "tokens",
              needs="a recount with the model's tokenizer"),
    Numerator("retokenised-events", "each event tokenised by itself", "sum N'(event)",
              lambda s: s.recounted.by_event, "tokens", needs="a recount by event with the model's tokenizer"),
    Numerator("other-tokenizer", "text in another tokenizer's tokens", "N''", lambda s: s.recounted.other, "tokens",
              needs="a recount with another tokenizer"),
    Numerator("reasoning-dropped", "delivered without reasoning", "N - reasoning",
              lambda s: minus(s.counts.delivered, s.counts.reasoning), "tokens",
              needs="reasoning tokens told apart by the server"),
    Numerator("reasoning-twice", "delivered, reasoning counted twice", "N + reasoning",
              lambda s: plus(s.counts.delivered, s.counts.reasoning), "tokens",
              needs="reasoning tokens told apart by the server"),
)  # fmt: skip
"""All numerators, the delivered tokens first."""


def over_decode(numerator: Numerator) -> Rate:
    """The rate from first to last event of each stream; what came with the first events is left out."""

    def rate(sample: Sample, load: Load) -> float | None:
        firsts = {"tokens": sample.first_tokens, "one": sample.counts.requests, "nothing": 0}
        return per_second(minus(numerator.count(sample), firsts[numerator.in_first_event]), sample.decode_ns)

    return rate


def over_requests(numerator: Numerator) -> Rate:
    """The rate from send to end of each stream."""
    return lambda sample, load: per_second(numerator.count(sample), sample.e2e_ns)


def over_window(numerator: Numerator) -> Rate:
    """The rate of all streams together, first send to last token."""
    return lambda sample, load: per_second(numerator.count(sample), sample.window_ns)


CLOCKS: dict[Clock, tuple[str, Callable[[Numerator], Rate]]] = {
    "decode": ("first to last event", over_decode),
    "request": ("over the request", over_requests),
    "system": ("all streams, one window", over_window),
}
"""Each clock in words, and the rate over it."""


def numerator_bases() -> Iterator[Basis]:
    """Every numerator over each of its clocks."""
    for numerator in NUMERATORS:
        for clock in numerator.clocks:
            label, rate = CLOCKS[clock]
            yield Basis(
                id=f"{numerator.id}/{clock}",
                name=f"{numerator.name}, {label}",
                formula=f"{numerator.formula} per s of {clock}",
                rate=rate(numerator),
                is_honest=numerator.is_honest,
                needs=numerator.needs,
                unit=numerator.unit,
            )
