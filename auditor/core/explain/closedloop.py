"""A server in a few numbers, and what every counting rule would show of it: for numbers without a run, and for the
settings at which rules that agree here would part."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from auditor.core.bases import BASES, Load, Sample
from auditor.core.counting.ledger import CellLedger

HALF_LENGTH, TWICE_STREAMS = "answers half as long", "twice the streams"
"""What a client can change."""
_RATES = {basis.id: basis.rate for basis in BASES}


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected counts, with fractions of a token; the fields are those of `Tally`."""

    delivered: float
    first: float | None
    plain_steps: float | None
    verify_steps: float | None
    target_steps: float | None
    drafted: float | None
    accepted: float | None
    draft_width: float | None
    events: float | None
    prompt_tokens: float | None
    requested: float | None
    reasoning: float | None
    requests: float

    @property
    def rejected(self) -> float | None:
        """R = D - A."""
        return None if self.drafted is None or self.accepted is None else self.drafted - self.accepted


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to run a server, and the means of what it shows there."""

    streams: int
    output_tokens: float
    """Delivered per request."""
    token_ns: float
    """Time per token of one stream while decoding."""
    gpus: int | None = None
    first_tokens: float = 1
    """Tokens of the first event; 0 leaves the start of a request out of sight."""
    wait_ns: float | None = None
    """Time of a request outside its decoding."""
    prompt_tokens: float | None = None
    requested: float | None = None
    width: float | None = None
    """k; None where it is not known, 0 without speculation."""
    drafted: float | None = None
    """D / S: drafted per verify step."""
    reached: tuple[float, ...] | None = None
    """Share of verify steps that accepted at least one, two, ... drafts; they add up to A / S."""
    verify_share: float = 1
    """S / (P + S)."""
    events_are: Literal["steps", "tokens"] | None = "steps"
    reasoning: float | None = None
    """Share of the delivered tokens."""

    @property
    def per_step(self) -> float | None:
        """Tokens per step of the target; None where the drafts are not known."""
        return None if self.reached is None else 1 + self.verify_share * sum(self.reached)


def setting_of(cell: CellLedger, load: Load) -> Setting | None:
    """The means of a measured cell; None where no rate was counted."""
    rounds = [one for one in cell.rounds if one.complete]
    tally, requests = cell.tally, cell.tally.requests
    if not rounds or tally.delivered is None or not all(one.decode_tokens and one.decode_ns for one in rounds):
        return None
    tokens = sum(one.decode_tokens or 0 for one in rounds)
    decode_ns = sum(one.decode_ns or 0 for one in rounds)
    waits = [None if one.e2e_ns is None else one.e2e_ns - (one.decode_ns or 0) for one in rounds]
    target, verify = tally.target_steps, tally.verify_steps
    return Setting(
        streams=load.streams,
        gpus=load.gpus,
        output_tokens=tally.delivered / requests,
        token_ns=decode_ns / tokens,
        first_tokens=(tally.delivered - tokens) / requests,
        wait_ns=None if None in waits else sum(wait or 0 for wait in waits) / requests,
        prompt_tokens=None if tally.prompt_tokens is None else tally.prompt_tokens / requests,
        requested=None if tally.requested is None else tally.requested / requests,
        width=tally.draft_width,
        drafted=tally.drafted / verify if tally.drafted is not None and verify else None,
        reached=_reached(cell),
        verify_share=verify / target if verify is not None and target else 1,
        events_are=None if tally.events is None else "tokens" if tally.events == tally.delivered else "steps",
        reasoning=None if tally.reasoning is None or not tally.delivered else tally.reasoning / tally.delivered,
    )


def _reached(cell: CellLedger) -> tuple[float, ...] | None:
    """By position where the server tells; else the geometric series that accepts as many."""
    tally = cell.tally
    if tally.verify_steps == 0 or tally.drafted == 0:
        return ()
    if tally.accepted is None or not tally.verify_steps or not tally.draft_width:
        return None
    if cell.accepted_by_position is not None:
        return tuple(count / tally.verify_steps for count in cell.accepted_by_position)
    return geometric(tally.accepted / tally.verify_steps, tally.draft_width)


def geometric(accepted: float, width: int) -> tuple[float, ...]:
    """Shares a, a^2, ... a^k that add up to the accepted per verify step."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum(middle**i for i in range(1, width + 1)) < accepted else (low, middle)
    return tuple(low**i for i in range(1, width + 1))


def sample_at(setting: Setting) -> Sample:
    """What a round of one request a stream would show, every stream alike."""
    streams, tokens = setting.streams, setting.output_tokens * setting.streams
    firsts = setting.first_tokens * streams
    begun = streams if setting.first_tokens else 0
    decode_ns = (tokens - firsts) * setting.token_ns
    e2e_ns = None if setting.wait_ns is None else decode_ns + setting.wait_ns * streams
    steps = None if setting.per_step is None else (tokens - begun) / setting.per_step
    verify = None if steps is None or setting.reached is None else steps * setting.verify_share
    drafted = 0.0 if setting.width == 0 else None if setting.drafted is None else setting.drafted
    events = tokens if setting.events_are == "tokens" else None if steps is None else begun + steps
    counts = Expected(
        delivered=tokens,
        first=begun,
        plain_steps=None if steps is None or verify is None else steps - verify,
        verify_steps=verify,
        target_steps=steps,
        drafted=None if verify is None or drafted is None else verify * drafted,
        accepted=None if verify is None or setting.reached is None else verify * sum(setting.reached),
        draft_width=setting.width,
        events=None if setting.events_are is None else events,
        prompt_tokens=None if setting.prompt_tokens is None else setting.prompt_tokens * streams,
        requested=None if setting.requested is None else setting.requested * streams,
        reasoning=None if setting.reasoning is None else setting.reasoning * tokens,
        requests=begun,
    )
    return Sample(
        counts=counts,
        first_tokens=firsts,
        decode_ns=decode_ns,
        e2e_ns=e2e_ns,
        window_ns=None if e2e_ns is None else e2e_ns / streams,
        span_ns=decode_ns / streams,
    )


def rate_at(setting: Setting, basis: str) -> float | None:
    """What a rule would show, per second; None where the setting does not tell."""
    rate = _RATES.get(basis)
    return None if rate is None else rate(sample_at(setting), Load(setting.streams, setting.gpus))


def changes(setting: Setting) -> Iterator[tuple[str, Setting]]:
    """Other settings that can be measured, the cheapest first; the time of a step is taken to stay."""
    half = setting.output_tokens / 2
    if half > 2 * setting.first_tokens:
        asked = None if setting.requested is None else setting.requested / 2
        yield HALF_LENGTH, replace(setting, output_tokens=half, requested=asked)
    yield TWICE_STREAMS, replace(setting, streams=setting.streams * 2)
    if setting.width and setting.reached is not None and setting.per_step is not None:
        yield f"k = {setting.width - 1:g} instead of {setting.width:g}", _one_draft_less(setting)
    if setting.gpus and setting.gpus % 2 == 0:
        yield "half the GPUs", replace(setting, gpus=setting.gpus // 2)


def _one_draft_less(setting: Setting) -> Setting:
    width = (setting.width or 1) - 1
    reached = (setting.reached or ())[: int(width)]
    drafted = None if setting.drafted is None else min(setting.drafted, width)
    fewer = replace(setting, width=width, reached=reached, drafted=drafted)
    return replace(fewer, token_ns=setting.token_ns * (setting.per_step or 1) / (fewer.per_step or 1))
