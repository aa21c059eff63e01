"""How the run went: finished, complete, alone on the server, on prompts nobody knew."""

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.wording import plural

CACHED_SHARE = 0.1
"""Share of prompt tokens that may come from a cache: chat templates begin alike."""


def real_server(c: Context) -> Answer:
    """Was it a full run on the server that is meant?"""
    if c.plan.rehearsal:
        words = "a rehearsal on the embedded server: the counting is real, the hardware is not the claim's"
        return fails(words, "give the server with --server URL", "note")
    if c.plan.quick:
        return fails("a quick look: too few repeats to judge", "run without --quick")
    return holds("measured in full on the server that was given")


def finished(c: Context) -> Answer:
    """Was everything measured that was planned?"""
    ledger = c.account.ledger
    done, planned = len(ledger.exchanges), ledger.planned_requests
    if not ledger.is_partial:
        return holds(f"{plural(planned, 'planned request was', 'planned requests were')} sent")
    why = f"; {ledger.damage}" if ledger.damage else ""
    return fails(f"partial: {done} of {planned} planned requests are in the evidence{why}", "run it again to its end")


def answers_complete(c: Context) -> Answer:
    """Did every answer come to its end?"""
    if not c.lines:
        return fails("no measured answer came", "see that the server answers")
    broken = [line for line in c.lines if line.status != "complete"]
    if not broken:
        return holds(f"{plural(len(c.lines), 'answer came to its end', 'answers came to their end')}")
    stopped = plural(len(c.lines), "answer did not come to its end", "answers did not come to their end")
    words = f"{len(broken)} of {stopped}; the first: {broken[0].problem}"
    return fails(words, "mend what the server says and run again")


def alone(c: Context) -> Answer:
    """Did the server serve nobody else?"""
    rounds = c.subject.rounds if c.subject else ()
    known = [one.other_traffic for one in rounds if one.other_traffic is not None]
    others = [extra for extra in known if extra]
    if others:
        words = f"the server's counter moved by {others[0]:+,} tokens beside what this client received"
        if len(others) > 1:
            words += f", and in {plural(len(others) - 1, 'more round')} by other numbers"
        return fails(words, "keep the server to yourself while it is measured")
    if not known or len(known) < len(rounds):
        why = next((one.counters_reason for one in rounds if one.counters_reason), "it has no counters")
        return not_available(f"whether the server served others is not known: {why}")
    return holds("the server's counter moved by exactly what was received")


def fresh_prompts(c: Context) -> Answer:
    """Was it measured on prompts that the claimant could not know?"""
    used = {prompt.id: prompt.origin for prompt in c.plan.prompts}
    origins = {used[identifier] for identifier in c.plan.subject.prompts}
    if "reviewer" in origins:
        return holds("prompts of the reviewer's own were among those measured")
    which = "the claim's own prompts" if origins == {"claim"} else "the public suite of prompts"
    return fails(f"measured on {which} only", "add prompts of your own with --prompts FILE")


def cache_unused(c: Context) -> Answer:
    """Did no prompt come from a cache?"""
    tally = c.subject.tally if c.subject else None
    if tally is None or tally.cached_tokens is None or not tally.prompt_tokens:
        return not_available("the server does not say how much of a prompt came from its cache")
    words = f"{tally.cached_tokens:,} of {tally.prompt_tokens:,} prompt tokens came from a cache"
    is_little = tally.cached_tokens <= CACHED_SHARE * tally.prompt_tokens
    return holds(words) if is_little else fails(words, "turn the prefix cache off")


def fields_accepted(c: Context) -> Answer:
    """Did the server take every request field?"""
    dropped = c.facts.servers[c.plan.subject.server].dropped_fields
    if not dropped:
        return holds("the server took every request field")
    words = "; ".join(f"{name} ({why})" for name, why in sorted(dropped.items()))
    return fails(
        f"the server refused request fields, which were then left out: {words}", "a newer server may take them"
    )
