"""A measured cell of a run folder, with its counting rules."""

from dataclasses import dataclass
from pathlib import Path

from auditor.core.bases import BasisValue, Extras, Load, bases_of
from auditor.core.claim.claim import Case
from auditor.core.counting.ledger import CellLedger, Ledger
from auditor.core.folder import LEDGER, RunFolder
from auditor.errors import UsageError


@dataclass(frozen=True, slots=True)
class MeasuredCell:
    """One cell, and what a rule needs to know of it."""

    cell: CellLedger
    load: Load
    bases: tuple[BasisValue, ...]
    limit: float
    """Relative half-width above which an interval matches nothing."""
    is_rehearsal: bool
    """Whether the server was the embedded one."""


def measured_cell(path: Path, key: str | None, case: Case, gpus: int | None = None) -> MeasuredCell:
    """The cell of that key, the judged one without; raises UsageError or EvidenceError.

    The number of GPUs is the one given, else the one that the server told, else the one that the claim states.
    """
    folder = RunFolder(path)
    if not (path / LEDGER).exists():
        raise UsageError("the run was not judged yet", where=str(path), remedy="`audit judge` makes its ledger")
    plan, facts, ledger = folder.plan(), folder.facts(), folder.record(LEDGER, Ledger)
    wanted = plan.subject.key if key is None else key
    cell = ledger.cell(wanted)
    if cell is None:
        cells = ", ".join(one.cell for one in ledger.cells)
        raise UsageError(f"the run has no cell {wanted}", where=str(path), remedy=f"choose one of: {cells}")
    told = facts.servers[cell.server].value("gpu_count")
    observed = told if isinstance(told, int) and not isinstance(told, bool) else None
    load = Load(cell.streams, gpus or observed or case.hardware.count)
    lines = [line for line in ledger.exchanges if line.cell == wanted]
    timeline, recount = folder.timeline(), folder.recount()
    extras = Extras(
        recounted=recount.recounted() if recount else {}, log_rates=timeline.rates(cell) if timeline else {}
    )
    return MeasuredCell(cell, load, bases_of(cell, load, lines, extras), plan.tolerance.max_half_width, plan.rehearsal)
