"""Whether what was measured is possible at all."""

from auditor.core.checks.base import Answer, Context, fails, holds, not_available
from auditor.core.physics.observed import measured_ceiling
from auditor.core.wording import figure
from auditor.terms import Outcome


def below_bound(c: Context) -> Answer:
    """Is the measured rate of a stream below what the observed hardware can do?"""
    if c.plan.rehearsal:
        return Answer(Outcome.NOT_APPLICABLE, "a rehearsal runs on whatever this machine has, which no table bounds")
    rounds = c.subject.rounds if c.subject else ()
    rates = [one.decode_tokens / one.decode_ns * 1e9 for one in rounds if one.decode_tokens and one.decode_ns]
    if not rates:
        return not_available("no rate of a stream was measured", gravity="note")
    found = measured_ceiling(c.facts.servers[c.plan.subject.server], max(rates))
    if isinstance(found, str):
        return not_available(f"the measurement was not held against the hardware: {found}", gravity="note")
    words = f"{figure(max(rates))} tok/s of one stream"
    if found.hard is None:
        return not_available(f"nothing bounds {words}: all that a step reads fits into the caches", gravity="note")
    if found.outcome != "impossible":
        return holds(f"{words} is below the hard bound of {figure(found.hard)} tok/s")
    return fails(
        f"{words} is above the hard bound of {figure(found.hard)} tok/s: our tables, what was observed of the server, "
        "or the clock is wrong",
        "see `audit ceiling` with the observed hardware and model",
    )
