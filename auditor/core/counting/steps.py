"""The steps of the target model behind the events of a stream; where a server merged some it shows none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from auditor.core.adapter import Details


@dataclass(frozen=True, slots=True)
class Delivery:
    """One event that carried something to the client."""

    at_ns: int
    read: int
    text: str
    reasoning: str
    tool: str
    tokens: int | None
    """Tokens in it; None where nothing tells."""
    token_ids: tuple[int, ...] | None
    details: Details | None

    @property
    def is_visible(self) -> bool:
        """Whether a reader sees anything of it."""
        return bool(self.text or self.reasoning or self.tool)


@dataclass(frozen=True, slots=True)
class Step:
    """Tokens that came out of one step of the target model, or of several that cannot be told apart."""

    first: int
    """Index of its first delivery."""
    deliveries: int
    """Deliveries that carried it; 0 for a token that has no event of its own, as the end-of-sequence token."""
    tokens: int | None
    """Tokens delivered by it, visible or not."""
    drafted: int | None
    accepted: int | None
    phase: str | None
    """`first`, `plain` or `verify`; None where it cannot be told, or where steps are merged."""

    @property
    def is_single(self) -> bool:
        """Whether it is one step for certain."""
        return self.phase == "verify" or (self.tokens == 1 and self.accepted == 0)

    @property
    def overshoot(self) -> int | None:
        """Tokens past the end if it is the last: 1 + a - n of a verify step; None where it cannot be told."""
        if self.phase == "verify":
            return None if self.accepted is None or self.tokens is None else 1 + self.accepted - self.tokens
        return None if self.accepted else 0


def steps_of(deliveries: Sequence[Delivery], final: Details | None, *, event_is_step: bool) -> tuple[Step, ...] | None:
    """The steps in order; None where the server does not show them.

    `final` holds the last counts of the stream. `event_is_step` says that the server sends an event a step, as long as
    it merges none.
    """
    if not deliveries:
        return None
    if all(d.details is not None and d.details.step is not None for d in deliveries):
        return tuple(_marked_steps(deliveries, final))
    if event_is_step and all(d.tokens is not None for d in deliveries):
        return tuple(_event_steps(deliveries, final))
    return None


def _marked_steps(deliveries: Sequence[Delivery], final: Details | None) -> Iterator[Step]:
    """Steps where each event names its step and the counts of drafts so far (llama.cpp).

    Text that was held back comes with a later event, whose several tokens then belong to several steps. A token that
    has no event of its own, as the end-of-sequence token, is told by the last counts alone.
    """
    groups = list(_groups(deliveries, final))
    never_drafted = not any(group.drafted for group in groups)
    for position, group in enumerate(groups):
        own = deliveries[group.first : group.first + group.deliveries]
        following = groups[position + 1] if position + 1 < len(groups) else None
        is_held = following is not None and _begins_with_held(deliveries, following)
        yield replace(group, phase=_phase(group, own, is_first=position == 0, is_held=is_held, is_plain=never_drafted))


def _groups(deliveries: Sequence[Delivery], final: Details | None) -> Iterator[Step]:
    """Deliveries under one mark, with what was counted since the mark before."""
    marks = [(index + 1, delivery.details) for index, delivery in enumerate(deliveries)]
    if final is not None and final.step is not None:
        marks.append((len(deliveries), final))
    start, before = 0, (0, 0, 0)
    for position, (end, details) in enumerate(marks):
        following = marks[position + 1][1] if position + 1 < len(marks) else None
        if details is None or (following is not None and following.step == details.step):
            continue
        now = (details.tokens or 0, details.drafted or 0, details.accepted or 0)
        tokens, drafted, accepted = (after - earlier for after, earlier in zip(now, before, strict=True))
        if tokens or drafted:
            yield Step(start, end - start, tokens, drafted, accepted, None)
            start, before = end, now


def _begins_with_held(deliveries: Sequence[Delivery], group: Step) -> bool:
    tokens = deliveries[group.first].tokens if group.deliveries else group.tokens
    return tokens != 1


def _phase(group: Step, own: Sequence[Delivery], *, is_first: bool, is_held: bool, is_plain: bool) -> str | None:
    """What a group was, or None where it holds tokens of several steps or not all of its own.

    `is_held` says that the next event brings text that was held back, `is_plain` that nothing was drafted at all.
    """
    tokens, accepted = group.tokens or 0, group.accepted or 0
    if group.drafted:
        is_merged = is_first or any(delivery.tokens != 1 for delivery in own) or (not own and tokens > 1)
        return None if is_merged or (is_held and tokens <= accepted) else "verify"
    if tokens != 1 and (not is_plain or sum(1 for delivery in own if delivery.tokens) > 1):
        return None
    return "first" if is_first else "plain"


def _event_steps(deliveries: Sequence[Delivery], final: Details | None) -> Iterator[Step]:
    """Steps where each event is one unless the server merged some (vLLM, SGLang)."""
    bearing = [(index, delivery.tokens) for index, delivery in enumerate(deliveries) if delivery.tokens]
    tokens = [count or 0 for _, count in bearing]
    verified = verify_steps(tokens, final)
    accepted = (final.accepted_per_step if final else None) or ()
    drafted = (final.drafted_per_step if final else None) or ()
    for position, (index, count) in enumerate(bearing):
        step = verified[position] if verified is not None else None
        if verified is None:
            # Two tokens in the first event are the prefill's and another step's.
            yield Step(index, 1, count, None, None, "first" if position == 0 and count == 1 else None)
        elif step is None:
            yield Step(index, 1, count, None, 0, None)
        elif step == PLAIN:
            yield Step(index, 1, count, 0, 0, "first" if position == 0 else "plain")
        else:
            width = drafted[step] if drafted and len(drafted) == len(accepted) else None
            yield Step(index, 1, count, width, accepted[step] if accepted else None, "verify")


PLAIN = -1
"""In the answer of `verify_steps`: a step without a draft."""


def verify_steps(tokens: Sequence[int], final: Details | None) -> list[int | None] | None:
    """Which verify step each event is: its index, PLAIN, or None for one that may be either.

    `tokens` are those of each event that has any. None as a whole unless the server's own list of steps, or their
    number where every event after the first is one, shows that no events were merged: a verify step of a accepted
    drafts is an event of a + 1 tokens, except the last event, which may be cut, and a step without a draft is an event
    of one.
    """
    if not tokens or tokens[0] != 1 or final is None or final.verify_steps is None:
        return None
    rest = tokens[1:]
    accepted = () if final.verify_steps == 0 else final.accepted_per_step
    if accepted is None:
        return [PLAIN, *range(len(rest))] if len(rest) == final.verify_steps else None
    if len(accepted) != final.verify_steps:
        return None
    found = _aligned(rest, accepted)
    return None if found is None else [PLAIN, *found]


def _aligned(events: Sequence[int], accepted: Sequence[int]) -> list[int | None] | None:
    """Lay the list of accepted drafts along the events; None where they do not fit, and so some were merged."""
    if not events:
        return None if accepted else []
    several = [step for step, count in enumerate(accepted) if count]
    wide = [index for index, count in enumerate(events[:-1]) if count > 1]
    if len(several) == len(wide) + 1:
        wide.append(len(events) - 1)  # the last event, whole or cut
    if len(several) != len(wide):
        return None
    found: list[int | None] = [None] * len(events)
    bounds = [(-1, -1), *zip(wide, several, strict=True), (len(events), len(accepted))]
    for (event, step), (next_event, next_step) in pairwise(bounds):
        singles, zeros = range(event + 1, next_event), range(step + 1, next_step)
        if len(zeros) > len(singles) or any(events[index] != 1 for index in singles):
            return None
        if len(zeros) in (0, len(singles)):
            for index, single in enumerate(singles):
                found[single] = zeros[index] if zeros else PLAIN
        if next_event < len(events):
            missing = accepted[next_step] + 1 - events[next_event]
            if missing < 0 or (missing and next_event < len(events) - 1):
                return None
            found[next_event] = next_step
    return found
