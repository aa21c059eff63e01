"""Known traps that the facts and the log of a measured server show, as findings of the run. They decide nothing."""

from collections.abc import Sequence

from auditor.core.facts import ServerFacts
from auditor.core.hardware import HostHardware
from auditor.core.judging.traps import TrapFinding, find_traps, known_of
from auditor.core.judging.verdict import Finding
from auditor.core.observed import FACT_NAMES
from auditor.core.runlog import RunLog
from auditor.core.wording import plural
from auditor.reference.traps import Rule, bundled_traps
from auditor.terms import Outcome


def trap_findings(server: ServerFacts, log: RunLog | None, hardware: HostHardware | None) -> tuple[Finding, ...]:
    """A finding for each trap that shows, or may; else one that says how many were looked for.

    `server` holds what its endpoints told and what its log told beside them.
    """
    rules = bundled_traps(FACT_NAMES).rules
    capability = hardware.capability if hardware else None
    known = known_of(server.facts, [server.kind], first=capability, last=log.capability if log else None)
    found = find_traps(rules, log.hits if log else {}, known)
    return tuple(map(_finding, found)) or (_none(rules, log),)


def _finding(trap: TrapFinding) -> Finding:
    shown = "; ".join(one.text if one.line is None else f"log line {one.line}: {one.text}" for one in trap.evidence)
    sure = f", if {' and '.join(trap.open)}" if trap.open else ""
    return Finding(
        id=f"trap-{trap.rule}",
        outcome=Outcome.NOT_AVAILABLE if trap.open else Outcome.FAILS,
        gravity="note",
        sentence=f"{trap.title}{sure} ({shown}). {trap.consequence.rstrip('.')}",
        remedy=trap.remedy.rstrip("."),
    )


def _none(rules: Sequence[Rule], log: RunLog | None) -> Finding:
    where = "in what the server says of itself" + (" and in its log" if log else "; its log was not given")
    sentence = f"none of {plural(len(rules), 'known trap')} shows {where}"
    return Finding(id="traps", outcome=Outcome.HOLDS, gravity="note", sentence=sentence)
