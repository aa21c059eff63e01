"""Counts that cannot be so together: drafts and steps, usage and events, text and tokens."""

from collections.abc import Callable
from itertools import pairwise

from auditor.core.imports.measured import Measured
from auditor.core.imports.record import Drafts, Request
from auditor.core.inspection.record import Checked, Misfit, Unchecked
from auditor.core.wording import figure, plural
from auditor.terms import Rung

_SERVER = (Rung.TOKEN_IDS, Rung.EVENT_USAGE, Rung.FINAL_USAGE)
_LEAST_TEXT = 16
"""Tokens of an answer below which its text is not laid beside its count."""
_TEXT_APART = 0.1
_LEAST_TEXTS = 3


def steps_hold_them(measured: Measured) -> Checked:
    """Does no step give more than k + 1 tokens, and no position accept more than the one before it?"""
    drafts = measured.drafts
    if drafts.verify_steps is None and not drafts.accepted_by_position and drafts.draft_width is None:
        yield Unchecked("the file tells neither steps nor draft width")
        return
    steps, accepted, width = drafts.verify_steps, drafts.accepted, drafts.draft_width
    if steps is not None and accepted is not None and width and accepted > steps * width:
        words = f"{accepted:,} drafts were accepted in {steps:,} steps of at most {width}: above k + 1 a step."
        yield Misfit(id="step-above-width", strength="contradiction", sentence=words)
    yield from _positions(drafts)
    yield from _events(measured, width)


def _positions(drafts: Drafts) -> Checked:
    shares = drafts.accepted_by_position or ()
    if any(not 0 <= share <= 1 for share in shares):
        words = f"A share accepted at a position is not between 0 and 1: {', '.join(map(figure, shares))}."
        yield Misfit(id="positions-impossible", strength="contradiction", sentence=words)
    elif any(later > earlier + 1e-4 for earlier, later in pairwise(shares)):
        words = (f"A later position accepts more than an earlier one ({', '.join(map(figure, shares))}): in a chain of "
                 "drafts none is accepted after a rejected one.")  # fmt: skip
        yield Misfit(id="positions-rise", strength="odd", sentence=words, seen_in_honest="tree drafts may do so")
    if shares and drafts.verify_steps and drafts.accepted is not None:
        total, mean = sum(shares), drafts.accepted / drafts.verify_steps
        if abs(total - mean) > 0.01 * max(1, mean):
            words = (f"The shares by position add up to {figure(total)} accepted a step; {drafts.accepted:,} accepted "
                     f"in {drafts.verify_steps:,} steps are {figure(mean)}.")  # fmt: skip
            yield Misfit(id="positions-against-sum", strength="contradiction", sentence=words)


def _events(measured: Measured, width: int | None) -> Checked:
    most = max((max(one.event_tokens) for one in measured.done if one.event_tokens), default=0)
    if width and most > width + 1:
        words = (f"An event holds {most:,} tokens where a step gives at most k + 1 = {width + 1}: the server put steps "
                 "together, or the draft width is another.")  # fmt: skip
        yield Misfit(id="event-above-step", strength="note", sentence=words, seen_in_honest="servers under load do so")


def usage_fits_events(measured: Measured) -> Checked:
    """Do the counts that the server sends agree for each answer, and with its events?"""
    looked = differ = below = 0
    for one in measured.done:
        known = {rung: one.counts[rung] for rung in _SERVER if rung in one.counts}
        if one.event_tokens is not None and one.output_tokens is not None:
            known.setdefault(Rung.EVENT_USAGE, sum(one.event_tokens))
        looked += bool(known)
        differ += len(set(known.values())) > 1
        below += _is_below_events(one)
    if not looked:
        yield Unchecked("the file has no count by the server beside another of the same answer")
    if differ:
        words = f"In {plural(differ, 'answer')} of {looked:,} the server's own counts of the same answer differ."
        yield Misfit(id="usage-differs", strength="odd", sentence=words, seen_in_honest="0 of 53 results")
    if below:
        words = f"{plural(below, 'answer')} came in more events with text than it has tokens by its count."
        yield Misfit(id="usage-below-events", strength="odd", sentence=words, seen_in_honest="0 of 53 results")


def _is_below_events(one: Request) -> bool:
    """Whether events with text are more than tokens; each event that carries text takes a token at least."""
    if one.events_ns is None or one.output_tokens is None or one.rung in (Rung.EVENTS, Rung.RETOKENISED):
        return False
    return one.output_tokens < len(one.events_ns) - 1


def text_tokenises(measured: Measured, count: Callable[[str], int] | None, name: str) -> Checked:
    """Does the text tokenise to as many tokens as were counted? The whole text of each answer, never pieces of it."""
    texts = [one for one in measured.done if one.text and (one.output_tokens or 0) >= _LEAST_TEXT]
    if count is None or not texts:
        have = "the file has no text beside its counts" if not texts else "give the model's with --tokenizer"
        yield Unchecked(have if not texts else f"without a tokenizer the text cannot be counted; {have}")
        return
    pairs = [(count(one.text or ""), one.output_tokens or 0) for one in texts]
    bad = [(again, said) for again, said in pairs if abs(again - said) > max(3, _TEXT_APART * said)]
    if bad:
        again, said = max(bad, key=lambda pair: abs(pair[0] - pair[1]))
        is_odd = len(bad) >= _LEAST_TEXTS and 2 * len(bad) > len(pairs)
        words = (f"{plural(len(bad), 'text')} of {len(pairs):,} do not tokenise to their count by {name}; the furthest"
                 f" has {said:,} by its count and {again:,} by its text.")  # fmt: skip
        yield Misfit(id="text-against-count", strength="odd" if is_odd else "note", sentence=words,
                     seen_in_honest="8 of 46 results had such texts, none in most of 3 or more; hidden reasoning, tool "
                     "calls and broken characters make them")  # fmt: skip


def texts_are_own(measured: Measured) -> Checked:
    """Is each answer a text of its own?"""
    texts: dict[str, set[int | None]] = {}
    known = [one for one in measured.done if one.text and len(one.text) >= 64]
    if len(known) < 2:
        yield Unchecked("the file has not the text of two answers")
        return
    for one in known:
        texts.setdefault(one.text or "", set()).add(one.output_tokens)
    same = len(known) - len(texts)
    if several := sum(len(counts) > 1 for counts in texts.values()):
        words = f"{plural(several, 'text')} occurs in several answers with different counts of its tokens."
        yield Misfit(id="text-counted-twice", strength="odd", sentence=words,
                     seen_in_honest="two ways to tokenise one text may do so by a token")  # fmt: skip
    if same:
        words = f"{plural(same, 'answer')} of {len(known):,} repeats the text of another: the same prompt, or a copy."
        yield Misfit(id="text-repeated", strength="note", sentence=words,
                     seen_in_honest="at temperature 0 the same prompt gives it")  # fmt: skip
