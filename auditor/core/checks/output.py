"""Whether the output is output: readable, in order, not in a loop, whole, as long as asked for."""

from collections.abc import Callable, Sequence

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.validity.answer import Fault
from auditor.core.validity.run import Seen, enough_in_doubt, look_at, place_of
from auditor.core.wording import plural, span
from auditor.terms import Outcome

EARLY_STOP = 0.95
"""Delivered by requested tokens, below which answers stopped early."""
MOSTLY = 0.5
"""Share of the answers from which loops are what was measured."""


def valid_output(c: Context) -> Answer:
    """Is the text readable, in order, and in a language that was asked for?"""
    seen = _seen(c)
    if not seen:
        return not_available("there is no complete answer to look at", gravity="note")
    broken = [one for one in seen if one.certain is not None]
    doubtful = [one for one in seen if one.doubtful is not None and one.certain is None]
    is_invalid = bool(broken) or enough_in_doubt(len(doubtful), len(seen))
    if broken or doubtful:
        found = [*broken, *doubtful] if is_invalid else doubtful
        words = _first(found, len(seen), "is not readable", "are not readable", lambda one: one.certain or one.doubtful)
        if is_invalid:
            return fails(words, "the speed of invalid output is no throughput: mend the back end first")
        return fails(f"{words}; so few may be a model's own slip, or this check's", "read these answers", "note")
    nan = sum("NaN" in note for line in c.lines for note in line.notes)
    if nan:
        return fails(f"{plural(nan, 'stream')} held NaN or Infinity beside readable text", "look at the logits", "note")
    ratios = [one.validity.compression for one in seen if one.validity.compression is not None]
    spread = f"; compressed, {span(min(ratios), max(ratios))} times smaller" if ratios else ""
    return holds(f"no broken characters, no disorder and no stray language in {plural(len(seen), 'answer')}{spread}")


def no_loops(c: Context) -> Answer:
    """Did no answer run into a loop?"""
    seen = _seen(c)
    looping = [one for one in seen if one.loop is not None]
    if not looping:
        return holds("no answer runs into a loop")
    words = _first(looping, len(seen), "runs into a loop", "run into a loop", lambda one: one.loop)
    if c.plan.ignore_eos:
        words += "; with ignore_eos a model must go on past its end, so this is a caveat and not a fault"
        return fails(words, "repetition is easy to draft: compare with a run without ignore_eos")
    remedy = "repetition is easy to draft, so its speed stands for no other text: measure other prompts or sampling"
    return fails(words, remedy, "thin" if len(looping) > MOSTLY * len(seen) else None)


def whole_answers(c: Context) -> Answer:
    """Is what is said to be finished finished?"""
    ended = [one for one in _seen(c) if one.item.line.finish_reason == "stop"]
    if not ended:
        return Answer(Outcome.NOT_APPLICABLE, "no answer ended by itself")
    broken = [one for one in ended if one.broken_off is not None]
    if not broken:
        return holds(
            f"{plural(len(ended), 'answer that ended by itself seems', 'answers that ended by themselves seem')} whole"
        )
    words = _first(broken, len(ended), "breaks off", "break off", lambda one: one.broken_off)
    return fails(words, "see which stop token or stop text the server took; a length made of requests is too high")


def full_length(c: Context) -> Answer:
    """Did the answers reach the requested length, and were they cut only there?"""
    tally = c.subject.tally if c.subject else None
    if tally is None or tally.delivered is None or not tally.requested:
        return not_available("lengths could not be compared")
    cut = [
        line
        for line in c.lines
        if line.status == "complete"
        and line.finish_reason == "length"
        and line.tally.delivered is not None
        and line.tally.delivered < EARLY_STOP * c.plan.subject.max_tokens
    ]
    words = f"{tally.delivered:,} of {tally.requested:,} requested tokens were delivered"
    if cut:
        were = plural(len(cut), "answer was", "answers were")
        short = f"{words}; {were} cut for its length before that, as exchange {cut[0].exchange}"
        return fails(short, "see the server's context and its own cap on an answer's length")
    if tally.delivered >= EARLY_STOP * tally.requested:
        return holds(words)
    return fails(words, "answers ended early; a figure made of the requested length would be too high")


def _seen(c: Context) -> tuple[Seen, ...]:
    prompts = {prompt.id: " ".join(message.content for message in prompt.messages) for prompt in c.plan.prompts}
    subject = c.plan.subject.key
    items = [item for item in c.account.counted if item.line.cell == subject and item.line.status == "complete"]
    return look_at([(item, prompts.get(item.line.prompt, "")) for item in items], ignore_eos=c.plan.ignore_eos)


def _first(found: Sequence[Seen], of: int, is_: str, are: str, fault: Callable[[Seen], Fault | None]) -> str:
    """How many, and the first of them with where it begins."""
    one = found[0]
    what = fault(one)
    where = "" if what is None else f"{what.words}, at {place_of(one.item, what.begins)}"
    verb = is_ if len(found) == 1 else are
    return f"{len(found)} of {plural(of, 'answer')} {verb}; exchange {one.item.line.exchange}: {where}"
