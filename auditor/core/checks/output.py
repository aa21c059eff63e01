"""Whether the output is output: readable, not in a loop, as long as asked for."""

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.judging.validity import validity_of
from auditor.core.wording import plural

EARLY_STOP = 0.95
"""Delivered by requested tokens, below which answers stopped early."""


def valid_output(c: Context) -> Answer:
    """Is the text readable?"""
    seen = [(line, validity_of(text)) for line, text in c.texts()]
    if not seen:
        return not_available("there is no complete answer to look at", gravity="note")
    broken = [(line, validity) for line, validity in seen if validity.is_broken]
    if broken:
        line, validity = broken[0]
        are = plural(len(seen), "answer is", "answers are")
        words = f"{len(broken)} of {are} not readable; exchange {line.exchange}: {validity.words}"
        return fails(words, "the speed of invalid output is no throughput: mend the back end first")
    nan = sum("NaN" in note for line in c.lines for note in line.notes)
    if nan:
        return fails(f"{plural(nan, 'stream')} held NaN or Infinity beside readable text", "look at the logits", "note")
    return holds(f"no broken characters in {plural(len(seen), 'answer')}")


def no_loops(c: Context) -> Answer:
    """Did no answer run into a loop?"""
    looping = [(line, v) for line, text in c.texts() if (v := validity_of(text)).loop_begins is not None]
    if not looping:
        return holds("no answer runs into a loop")
    line, validity = looping[0]
    ran = plural(len(looping), "answer runs", "answers run")
    words = f"{ran} into a loop; exchange {line.exchange} {validity.words}"
    if c.plan.ignore_eos:
        words += "; with ignore_eos a model must go on past its end, so this is a caveat and not a fault"
    return fails(words, "repetition is easy to draft: compare with a run without ignore_eos")


def full_length(c: Context) -> Answer:
    """Did the answers reach the requested length?"""
    tally = c.subject.tally if c.subject else None
    if tally is None or tally.delivered is None or not tally.requested:
        return not_available("lengths could not be compared")
    words = f"{tally.delivered:,} of {tally.requested:,} requested tokens were delivered"
    if tally.delivered >= EARLY_STOP * tally.requested:
        return holds(words)
    return fails(words, "answers ended early; a figure made of the requested length would be too high")
