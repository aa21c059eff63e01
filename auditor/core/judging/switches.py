"""Switches that force or relax the acceptance of drafts, in the launch command and environment that a claim states.

They are those of the table of traps, which the logs of servers are searched by too. A claim that states one speaks of
tokens that the model did not choose; it says nothing of the server that is measured.
"""

from collections.abc import Iterator

from auditor.core.claim.claim import Case
from auditor.core.judging.traps import Known, TrapReader, find_traps
from auditor.core.judging.verdict import Finding
from auditor.core.observed import FACT_NAMES
from auditor.reference.traps import bundled_traps
from auditor.terms import Outcome

ACCEPTANCE = ("forced-acceptance", "lossy-acceptance", "unlisted-acceptance-variable")
"""Rules of the table whose signs are such switches."""


def stated_switches(case: Case) -> tuple[str, ...]:
    """A sentence for each rule that the claim's own argv or env shows, the gravest first."""
    rules = [rule for rule in bundled_traps(FACT_NAMES).rules if rule.id in ACCEPTANCE]
    reader, places = TrapReader(rules), dict(enumerate(_stated(case)))
    for number, (_, line) in places.items():
        reader.add(number, line.encode())
    found = find_traps(rules, reader.hits, Known(engines=frozenset(case.engine.kinds())))
    return tuple(
        f"the claim states {' and '.join(f'{one.text} ({places[one.line or 0][0]})' for one in trap.evidence)}: "
        f"{trap.title[:1].lower()}{trap.title[1:]}. {trap.consequence.rstrip('.')}"
        for trap in found
    )


def switches_finding(case: Case) -> Finding:
    """The same as a check of a run; a note, for it is the claim's server that has the switch."""
    name, words = "stated-acceptance", stated_switches(case)
    if words:
        remedy = "ask for the number without it; this run says nothing of tokens accepted so"
        return Finding(id=name, outcome=Outcome.FAILS, gravity="note", sentence="; ".join(words), remedy=remedy)
    outcome, sentence = Outcome.NOT_APPLICABLE, "the claim states no launch command and no environment"
    if case.engine.argv or case.engine.env:
        outcome = Outcome.HOLDS
        sentence = "the launch that the claim states has no switch for the acceptance of drafts"
    return Finding(id=name, outcome=outcome, gravity="note", sentence=sentence)


def _stated(case: Case) -> Iterator[tuple[str, str]]:
    """Where it stands in the claim, and the line that a shell would show."""
    yield "engine.argv", " ".join(case.engine.argv)
    for name, value in case.engine.env.items():
        yield f"engine.env.{name}", f"{name}={value}"
