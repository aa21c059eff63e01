"""Whether the counts can be believed: they add up, they agree, and the text has as many tokens as were counted."""

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.terms import Outcome, Rung

RECOUNT_SLACK = 0.05
"""Text does not re-tokenise to exactly the tokens it was generated as; within this share it agrees."""
_SERVER_RUNGS = (Rung.TOKEN_IDS, Rung.EVENT_USAGE, Rung.FINAL_USAGE)


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
    exact = all(cell.identity.is_exact for cell in holding)
    how = "every term counted on its own" if exact else "overshoot as the remainder, within its bounds"
    return holds("; ".join(f"{cell.cell}: {cell.identity.sentence}" for cell in holding) + f" ({how})")


def counts_agree(c: Context) -> Answer:
    """Do the server's own counts of one answer agree?"""
    compared, differing = 0, []
    for line in c.account.ledger.exchanges:
        counts = {rung: line.counts[rung] for rung in _SERVER_RUNGS if rung in line.counts}
        if line.status == "complete" and len(counts) > 1:
            compared += 1
            if len(set(counts.values())) > 1:
                differing.append(", ".join(f"{rung} {count}" for rung, count in counts.items()))
    if not compared:
        return not_available("the server gives one count only; there is nothing to compare it with", gravity="note")
    if not differing:
        return holds(f"the server's counts agree in all {compared} answers")
    words = f"the server's own counts differ in {len(differing)} of {compared} answers: {differing[0]}"
    return fails(words, "read the wire log of these exchanges with `audit log`")


def counters_agree(c: Context) -> Answer:
    """Do the drafts seen in the streams equal those that the server's counters moved by?"""
    compared = 0
    for cell in c.account.ledger.cells:
        for one in cell.rounds:
            if one.counters is None or one.other_traffic != 0:
                continue
            for name in ("drafted", "accepted", "verify_steps"):
                ours, theirs = getattr(one.tally, name), getattr(one.counters, name)
                if ours is None or theirs is None:
                    continue
                compared += 1
                if ours != theirs:
                    words = f"{cell.cell}: {name} is {ours} in the streams and {theirs} in the server's counters"
                    return fails(words.replace("_", " "), "see that nobody else used the server")
    if not compared:
        return not_available("drafts are known from one side only, the streams or the counters", gravity="note")
    return holds("drafted, accepted and verify steps are the same in the streams and in the server's counters")


def recount(c: Context) -> Answer:
    """Does the delivered text, re-tokenised, have as many tokens as the server counted?"""
    pairs = [
        (line.counts[Rung.RETOKENISED], line.tally.delivered - (line.invisible_tokens or 0))
        for line in c.lines
        if Rung.RETOKENISED in line.counts and line.tally.delivered is not None and line.rung is not Rung.RETOKENISED
    ]
    if not pairs:
        words = "the text was not re-tokenised, so the counts are the server's own word"
        return not_available(words, "give the model's tokenizer with --tokenizer")
    ours, theirs = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    ratio = ours / theirs if theirs else 0.0
    words = f"re-tokenised, the text has {ours:,} tokens; the server counted {theirs:,} visible ones ({ratio:.3f})"
    if abs(ratio - 1) <= RECOUNT_SLACK:
        return holds(words)
    return fails(words, "see that --tokenizer is the model's own; if it is, the server's count is wrong")
