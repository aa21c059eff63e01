"""Whether the counts can be believed: they add up, they agree, and the text has as many tokens as were counted."""

from collections.abc import Iterator

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.counting.counters import Counters
from auditor.core.counting.ledger import ExchangeLedger
from auditor.core.counting.rounds import COUNTED_BY_SERVER
from auditor.core.counting.tally import Tally, add
from auditor.core.wording import plural
from auditor.terms import Outcome, Rung

RECOUNT_SLACK = 0.05
"""Text does not re-tokenise to exactly the tokens it was generated as; within this share it agrees."""
INVISIBLE_SHARE = 0.05
"""Share of tokens that may come without text: characters of several tokens, the end of sequence."""


def reconciled(c: Context) -> Answer:
    """Does N = F + P + S + A - O hold?"""
    ledger = c.account.ledger
    identities = [cell.identity for cell in ledger.cells] + [line.identity for line in ledger.exchanges]
    failing = next((identity for identity in identities if identity.outcome is Outcome.FAILS), None)
    if failing:
        remedy = "look for other traffic, a stream interval above 1, or an engine that counts otherwise"
        return fails(f"the counts do not add up: {failing.sentence}", remedy)
    holding = [cell for cell in ledger.cells if cell.identity.outcome is Outcome.HOLDS]
    if not holding:
        why = ledger.cells[0].identity.sentence if ledger.cells else "nothing was measured"
        remedy = "turn on the server's metrics and its counts of speculation per request"
        return not_available(f"drafts cannot be reconciled with what was delivered: {why}", remedy, "note")
    how = "every term counted on its own"
    if any(cell.tally.merged_steps for cell in holding):
        how = "the steps behind tokens that came together by the law itself"
    elif not all(cell.identity.is_exact for cell in holding):
        how = "overshoot as the remainder, within its bounds"
    return holds("; ".join(f"{cell.cell}: {cell.identity.sentence}" for cell in holding) + f" ({how})")


def counted(c: Context) -> Answer:
    """Were tokens counted, and not events?"""
    complete = [line for line in c.lines if line.status == "complete"]
    if not complete:
        return not_available("there is no complete answer to count", gravity="note")
    uncounted = [line for line in complete if line.rung in (None, Rung.EVENTS)]
    if not uncounted:
        rungs = ", ".join(sorted({str(line.rung).replace("_", " ") for line in complete}))
        return holds(f"every token was counted in {plural(len(complete), 'answer')}, by {rungs}")
    have = plural(len(complete), "answer has", "answers have")
    words = f"{len(uncounted)} of {have} no count of tokens, only of events"
    return fails(words, "give the model's tokenizer with --tokenizer, or a server that sends usage")


def counts_agree(c: Context) -> Answer:
    """Do the server's own counts of one answer agree?"""
    compared, differing = 0, []
    for line in c.account.ledger.exchanges:
        counts = {rung: line.counts[rung] for rung in COUNTED_BY_SERVER if rung in line.counts}
        if line.status == "complete" and len(counts) > 1:
            compared += 1
            if len(set(counts.values())) > 1:
                differing.append(", ".join(f"{rung} {count}" for rung, count in counts.items()))
    if not compared:
        return not_available("the server gives one count only; there is nothing to compare it with", gravity="note")
    if not differing:
        return holds(f"the server's counts agree in {plural(compared, 'answer')}")
    words = f"the server's own counts differ in {len(differing)} of {plural(compared, 'answer')}: {differing[0]}"
    return fails(words, "read the wire log of these exchanges with `audit log`")


def counters_agree(c: Context) -> Answer:
    """Do the drafts and steps seen in the streams equal those that the server's counters moved by?"""
    compared: set[str] = set()
    for cell in c.account.ledger.cells:
        for one in cell.rounds:
            if one.counters is None or one.other_traffic != 0:
                continue
            seen = add(line.tally for line in c.account.ledger.exchanges if line.exchange in one.exchanges)
            for name, ours, theirs in _pairs(seen, one.counters):
                if ours is None or theirs is None:
                    continue
                compared.add(name)
                if ours != theirs:
                    words = f"{cell.cell}: {name} {ours:,} in the streams and {theirs:,} in the server's counters"
                    return fails(words, "see that nobody else used the server")
    if not compared:
        words = "drafts and steps are known from one side only, the streams or the counters"
        return not_available(words, gravity="note")
    return holds(f"the same in the streams and in the server's counters: {', '.join(sorted(compared))}")


def _pairs(seen: Tally, counters: Counters) -> Iterator[tuple[str, int | None, int | None]]:
    """What both sides count, under one name."""
    yield "drafted", seen.drafted, counters.drafted
    yield "accepted", seen.accepted, counters.accepted
    yield "verify steps", seen.verify_steps, counters.verify_steps
    if seen.first is not None and seen.target_steps is not None:
        yield "steps", seen.first + seen.target_steps, counters.steps


def visible_text(c: Context) -> Answer:
    """Did every counted token come with text?"""
    known = [line for line in c.lines if line.invisible_tokens is not None and line.tally.delivered is not None]
    if not known or len(known) < len(c.lines):
        return not_available("the server does not tell how many tokens each event holds", gravity="note")
    invisible, tokens = (sum(values) for values in zip(*map(_visibility, known), strict=True))
    if not invisible:
        return holds("every counted token came with text")
    words = (
        f"{invisible:,} of {tokens:,} tokens were counted and are not visible as text: end of sequence, stop text or "
        "held characters"
    )
    if invisible <= INVISIBLE_SHARE * tokens:
        return holds(words)
    return fails(words, "re-tokenise the text with --tokenizer, to see that it holds as many tokens as were counted")


def _visibility(line: ExchangeLedger) -> tuple[int, int]:
    return line.invisible_tokens or 0, line.tally.delivered or 0


def recount(c: Context) -> Answer:
    """Does the delivered text, re-tokenised, have as many tokens as the server counted?"""
    remedy = "give the model's tokenizer with --tokenizer"
    ledger = c.account.ledger
    if any(line.rung is Rung.RETOKENISED for line in c.lines):
        words = f"the server counted nothing; the tokens are those of the text by {ledger.recounted_by}"
        return holds(words) if ledger.is_recount_independent else not_available(words, remedy)
    pairs = [
        (line.counts[Rung.RETOKENISED], line.tally.delivered)
        for line in c.lines
        if Rung.RETOKENISED in line.counts and line.tally.delivered is not None
    ]
    if not pairs:
        return not_available("the text was not re-tokenised, so the counts are the server's own word", remedy)
    ours, theirs = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    ratio = ours / theirs if theirs else 0.0
    words = (
        f"re-tokenised by {ledger.recounted_by}, the text has {ours:,} tokens; the server counted {theirs:,} "
        f"({ratio:.3f})"
    )
    if abs(ratio - 1) > RECOUNT_SLACK:
        return fails(words, "see that --tokenizer is the model's own; if it is, the server's count is wrong", "thin")
    if not ledger.is_recount_independent:
        return not_available(f"{words}, but that is the measured server's own word twice", remedy)
    return holds(words)
