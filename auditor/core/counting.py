"""Counts one stream: delivered tokens by every rung of the ladder, and the terms of the reconciliation."""

from dataclasses import dataclass

from auditor.core.evidence import Exchange
from auditor.core.ledger import ExchangeLedger
from auditor.core.reading import Step, Stream
from auditor.core.tally import Tally
from auditor.terms import Rung


@dataclass(frozen=True, slots=True)
class Counted:
    """A measured exchange with its stream: the ledger line and what the token log is made of."""

    line: ExchangeLedger
    stream: Stream
    exchange: Exchange


def counts_of(stream: Stream, recount: int | None) -> dict[Rung, int]:
    """Every count of delivered tokens that this exchange allows; the ladder is the order of `Rung`."""
    counts: dict[Rung, int] = {}
    if (ids := stream.id_count) is not None:
        counts[Rung.TOKEN_IDS] = ids
    # A running count is per choice; with several choices only the final usage sums them.
    if stream.running_tokens is not None and stream.choices == 1:
        counts[Rung.EVENT_USAGE] = stream.running_tokens
    usage = stream.usage
    if usage is not None and usage.completion is not None and stream.finish_reason is not None:
        counts[Rung.FINAL_USAGE] = usage.completion - (usage.rejected_prediction or 0)
    if recount is not None:
        counts[Rung.RETOKENISED] = recount
    if stream.deliveries:
        counts[Rung.EVENTS] = len(stream.deliveries)
    return counts


def rung_reason(rung: Rung | None, stream: Stream) -> str | None:
    """Why there is no count, or why no better rung could be had; None on the best rungs."""
    if rung is None:
        return "nothing was delivered"
    if rung is Rung.EVENTS:
        return "the server sent no ids and no usage, and no tokenizer was at hand; an event may hold several tokens"
    if rung is Rung.RETOKENISED:
        return "the server sent no ids and no usage; text may tokenise otherwise than it was generated"
    if rung is Rung.FINAL_USAGE and stream.choices == 1:
        return "the server sent no ids and no running count"
    return None


def tally_of(stream: Stream, delivered: int | None, *, requested: int, event_is_step: bool) -> Tally:
    """The terms of N = F + P + S + A - O that this stream shows; None for those it does not."""
    usage = stream.usage
    tally = Tally(
        delivered=delivered,
        events=len(stream.deliveries),
        prompt_tokens=usage.prompt if usage else None,
        cached_tokens=usage.cached if usage else None,
        reasoning=_reasoning(stream),
        requested=requested,
    )
    if not stream.deliveries:
        return tally
    details = stream.deliveries[0].details
    if stream.steps and details is not None and details.step is not None:
        return tally.model_copy(update=_from_marked_steps(stream, stream.steps))
    if event_is_step:
        return tally.model_copy(update=_from_event_steps(stream, delivered))
    final = stream.final
    drafts = {} if final is None else {"drafted": final.drafted, "accepted": final.accepted}
    return tally.model_copy(update=drafts)


def _reasoning(stream: Stream) -> int | None:
    """Reasoning tokens by the usage, else by the events that carry nothing else; None where nothing tells."""
    if stream.usage is not None and stream.usage.reasoning is not None:
        return stream.usage.reasoning
    events = [delivery for delivery in stream.deliveries if delivery.reasoning]
    if not events or any(delivery.text or delivery.tool or delivery.tokens is None for delivery in events):
        return None
    return sum(delivery.tokens or 0 for delivery in events)


def _from_marked_steps(stream: Stream, steps: tuple[Step, ...]) -> dict[str, int | None]:
    """Terms where every event names its step (llama.cpp): a step of n tokens, of which a were drafted, is n - a steps
    of the target model, and a last step that accepted more than it delivered shows the overshoot itself."""
    final = stream.final
    terms: dict[str, int | None] = {
        "drafted": (final.drafted or 0) if final else None,
        "accepted": (final.accepted or 0) if final else None,
        "draft_width": max((step.drafted or 0 for step in steps), default=0),
    }
    if steps[0].phase != "first" or any(step.tokens is None for step in steps):
        return terms
    overshoot = _overshoot(steps[-1])
    # The prefill emits one token; whatever else came with it was held back and is plain steps.
    target = sum((step.tokens or 0) - (step.accepted or 0) for step in steps) + overshoot - 1
    terms |= {"first": 1, "target_steps": target, "overshoot": overshoot}
    if all(step.phase is not None for step in steps):
        verify = sum(step.phase == "verify" for step in steps)
        terms |= {"verify_steps": verify, "plain_steps": target - verify}
    return terms


def _overshoot(last: Step) -> int:
    """O = 1 + a - n of the last step, when it verified a draft."""
    if last.phase != "verify":
        return 0
    return max(0, 1 + (last.accepted or 0) - (last.tokens or 0))


def _from_event_steps(stream: Stream, delivered: int | None) -> dict[str, int | None]:
    """Terms where each event is one step unless the server merged some (vLLM, SGLang) and a summary tells the drafts.

    The steps are taken from the events only if they are enough for the verify steps and leave an overshoot within its
    bounds; otherwise events were merged and the server's counters must tell.
    """
    final = stream.final
    terms: dict[str, int | None] = {"first": 1}
    if final is None or final.verify_steps is None or final.accepted is None or delivered is None:
        return terms
    steps = len(stream.deliveries) - 1
    width = max(final.drafted_per_step, default=0) if final.drafted_per_step else None
    terms |= {
        "verify_steps": final.verify_steps,
        "drafted": final.drafted,
        "accepted": final.accepted,
        "draft_width": width,
    }
    overshoot = 1 + steps + final.accepted - delivered
    if steps >= final.verify_steps and 0 <= overshoot <= (overshoot if width is None else width):
        terms |= {"target_steps": steps, "plain_steps": steps - final.verify_steps}
    return terms
