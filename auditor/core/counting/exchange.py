"""Counts one stream: delivered tokens by every rung of the ladder, and the terms of the reconciliation."""

from dataclasses import dataclass
from itertools import takewhile

from auditor.core.counting.evidence import Exchange
from auditor.core.counting.ledger import ExchangeLedger
from auditor.core.counting.reading import Stream
from auditor.core.counting.steps import Step, verify_steps
from auditor.core.counting.tally import Tally
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
    if stream.running_tokens is not None:
        counts[Rung.EVENT_USAGE] = stream.running_tokens
    usage = stream.usage
    if usage is not None and usage.completion is not None and stream.is_usage_final:
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
    if rung is Rung.FINAL_USAGE:
        return "the server sent no ids and no running count; the first event is taken to hold one token"
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
    if stream.steps and stream.deliveries.is_marked:
        return tally.model_copy(update=_from_marked_steps(stream, stream.steps))
    if event_is_step:
        return tally.model_copy(update=_from_event_steps(stream))
    final = stream.final
    names = ("drafted", "accepted", "ignored", "verify_steps", "draft_width")
    return tally if final is None else tally.model_copy(update={name: getattr(final, name) for name in names})


def _reasoning(stream: Stream) -> int | None:
    """Reasoning tokens by the usage, else by the events that carry nothing else; None where nothing tells."""
    if stream.usage is not None and stream.usage.reasoning is not None:
        return stream.usage.reasoning
    if not stream.deliveries.reasoning:
        return None
    events = [delivery for delivery in stream.deliveries if delivery.reasoning]
    if not events or any(delivery.text or delivery.tool or delivery.tokens is None for delivery in events):
        return None
    return sum(delivery.tokens or 0 for delivery in events)


def _from_marked_steps(stream: Stream, steps: tuple[Step, ...]) -> dict[str, int | None]:
    """Terms where every event names its step (llama.cpp).

    A verify step is one step, however many tokens it gave. Tokens that were held back and came together are as many
    steps as the law says, tokens less accepted drafts; those steps are counted apart in `merged_steps`.
    """
    if any(not step.drafted and not step.accepted and step.phase is None and step.deliveries > 1 for step in steps):
        return {}  # a step gave several tokens and no draft was counted: this server does not count its drafts
    final = stream.final
    terms: dict[str, int | None] = {
        "drafted": (final.drafted or 0) if final else None,
        "accepted": (final.accepted or 0) if final else None,
        "draft_width": max((step.drafted or 0 for step in steps if step.phase == "verify"), default=0),
    }
    overshoot = _overshoot(steps)
    if overshoot is None:
        return terms
    merged = sum(_target_steps(step) for step in steps if not step.is_single)
    target = sum(map(_target_steps, steps)) - 1
    terms |= {"first": 1, "target_steps": target, "merged_steps": merged, "overshoot": overshoot}
    if all(step.phase is not None for step in steps):
        verify = sum(step.phase == "verify" for step in steps)
        terms |= {"verify_steps": verify, "plain_steps": target - verify}
    return terms


def _overshoot(steps: tuple[Step, ...]) -> int | None:
    """O of the last step; None where it accepted drafts and what it delivered came together with other steps."""
    trailing = list(takewhile(lambda step: step.phase is None, reversed(steps)))
    if not trailing:
        return steps[-1].overshoot
    return None if any(step.accepted for step in trailing) else 0


def _target_steps(step: Step) -> int:
    """Steps of the target model behind it, the prefill included."""
    return 1 if step.is_single else (step.tokens or 0) - (step.accepted or 0)


def _from_event_steps(stream: Stream) -> dict[str, int | None]:
    """Terms where each event is one step unless the server merged some (vLLM, SGLang) and a summary tells the drafts.

    The steps are taken from the events only where it is shown that none were merged; otherwise the server's counters
    must tell.
    """
    final, steps = stream.final, stream.steps
    terms: dict[str, int | None] = {"first": 1}
    if final is None or final.verify_steps is None:
        return terms
    widths = final.drafted_per_step
    terms |= {"verify_steps": final.verify_steps, "drafted": final.drafted, "accepted": final.accepted}
    terms |= {"draft_width": max(widths, default=0) if widths is not None else final.draft_width}
    tokens = [step.tokens or 0 for step in steps or ()]
    if not steps or verify_steps(tokens, final) is None:
        return terms
    target = len(steps) - 1
    return terms | {
        "target_steps": target,
        "plain_steps": target - final.verify_steps,
        "merged_steps": 0,
        "overshoot": steps[-1].overshoot,
    }
