"""What a run did not look at, and why: told from its folder alone."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from auditor.core.counting.account import Account
from auditor.core.facts import ServerFacts
from auditor.core.folder import Recount
from auditor.core.hardware import HostHardware
from auditor.core.hardware.telemetry import Sample
from auditor.core.judging.textcheck import COMPARED
from auditor.core.judging.verdict import Finding, NotLookedAt
from auditor.core.plan.plan import Plan
from auditor.core.runlog import Timeline
from auditor.core.validity.canaries import Canaries
from auditor.terms import Outcome

Part = Literal[
    "hardware", "telemetry", "server log", "traps", "recount", "counters", "text", "plain server", "canaries"
]
"""Parts that a run notes when it is told, or not asked, to look at them."""
NAMES: Mapping[Part, str] = {
    "hardware": "GPUs of the server",
    "telemetry": "GPUs during the run",
    "server log": "the server's own log",
    "traps": "known traps",
    "recount": "the text, tokenised again by an independent tokenizer",
    "counters": "the server's counters",
    "text": "greedy text beside that of the same server without speculation",
    "plain server": "the same load without speculation",
    "canaries": "questions with known answers",
}
NOT_NOTED = "the run did not note why"
_BY_CHECK = {
    "below-bound": "the measured rate beside what its hardware can do",
    "valid-output": "the text of the answers",
}
"""Checks that look at a part by themselves."""


def not_looked_at(
    plan: Plan,
    server: ServerFacts,
    account: Account,
    findings: Sequence[Finding],
    left_out: Mapping[str, str],
    *,
    hardware: HostHardware | None,
    telemetry: Sequence[Sample] | None,
    timeline: Timeline | None,
    recount: Recount | None,
    canaries: Canaries | None,
) -> tuple[NotLookedAt, ...]:
    """Each part that the folder holds nothing of, with what the run noted or what the folder tells of the reason."""
    found: list[tuple[Part, str | None]] = []
    if hardware is None:
        found.append(("hardware", None))
    if not telemetry:
        found.append(("telemetry", None if telemetry is None else "nvidia-smi gave no sample"))
    if timeline is None or timeline.log.reason is not None:
        found.append(("server log", timeline.log.reason if timeline else None))
    if "traps" in left_out:
        found.append(("traps", None))
    if recount is None or not recount.is_independent:
        found.append(("recount", None if recount is None else f"{recount.tokenizer} alone counted it"))
    if (lacking := _counters(account, server)) is not None:
        found.append(("counters", lacking or None))
    keys = {cell.key for cell in plan.cells}
    if COMPARED not in keys:
        found.append(("text", None))
    if not any(cell.role == "reference" for cell in plan.cells):
        found.append(("plain server", None))
    if canaries is None:
        found.append(("canaries", "the run ended before they were answered" if plan.canaries else None))
    elif not canaries.passed("after")[1]:
        found.append(("canaries", "none was answered after the load"))
    named = [NotLookedAt(part=NAMES[part], why=why or left_out.get(part) or NOT_NOTED) for part, why in found]
    return (*named, *_by_check(findings), *_pcie(telemetry or ()))


def _counters(account: Account, server: ServerFacts) -> str | None:
    """Why there are no counters, empty where nothing tells it; None where there are some."""
    rounds = [one for cell in account.ledger.cells for one in cell.rounds]
    if any(one.counters is not None for one in rounds):
        return None
    told = next((one.counters_reason for one in rounds if one.counters_reason), "")
    return told if server.metrics else ""


def _by_check(findings: Sequence[Finding]) -> Iterator[NotLookedAt]:
    for finding in findings:
        if finding.id in _BY_CHECK and finding.outcome in (Outcome.NOT_AVAILABLE, Outcome.NOT_APPLICABLE):
            yield NotLookedAt(part=_BY_CHECK[finding.id], why=finding.sentence)


def _pcie(telemetry: Sequence[Sample]) -> Iterator[NotLookedAt]:
    """Telemetry without PCIe traffic says why it has none."""
    if telemetry and not any(one.pcie_rx_kbs is not None or one.pcie_tx_kbs is not None for one in telemetry):
        why = next((one.pcie_reason for one in telemetry if one.pcie_reason), NOT_NOTED)
        yield NotLookedAt(part="PCIe traffic during the run", why=why)
