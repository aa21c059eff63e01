"""The file door of inspections: what `audit import` reads, or a run folder by its wire log and its ledger."""

from dataclasses import replace
from pathlib import Path

from auditor.core.counting.ledger import Ledger
from auditor.core.counting.tally import check_identity
from auditor.core.folder import LEDGER, MANIFEST, WIRE, RunFolder, is_judgeable
from auditor.core.imports.record import Imported
from auditor.core.inspection.inspect import Known, inspect
from auditor.core.inspection.record import Inspection, Misfit
from auditor.core.wording import listed, plural
from auditor.errors import EvidenceError
from auditor.review.imports import take_in
from auditor.terms import Outcome


def inspect_path(path: str, known: Known) -> tuple[list[Inspection], list[str]]:
    """Inspect a file, `-`, a folder of results or a run folder; and what of a folder was passed over.

    Raises UsageError or EvidenceError, in one line, for what cannot be read.
    """
    folder = Path(path)
    if path != "-" and folder.is_dir() and is_judgeable(folder):
        return [_run(folder, known)], []
    taken, passed = take_in(path, None, known.now_ns)
    return [inspect(one.imported, replace(known, dated_ns=known.dated_ns or _dated(path, one.imported)))
            for one in taken], passed  # fmt: skip


def _dated(path: str, imported: Imported) -> int | None:
    """When the file was written last, as the file system has it."""
    if path == "-":
        return None
    try:
        whole = Path(path)
        return int((whole / imported.originals[0].name if whole.is_dir() else whole).stat().st_mtime_ns)
    except (OSError, ValueError):
        return None


def _run(path: Path, known: Known) -> Inspection:
    """A run folder: its wire log counted anew, laid beside its ledger, and every file beside its manifest."""
    folder = RunFolder(path)
    (taken,), _ = take_in(str(path / WIRE), None, known.now_ns)
    if known.case is None:
        known = replace(known, case=folder.claim()[1])
    found = [*_manifest(folder), *_ledger(folder, taken.imported)]
    return inspect(taken.imported, known, tuple(found)).model_copy(update={"name": path.name})


def _manifest(folder: RunFolder) -> list[Misfit]:
    if not (folder.path / MANIFEST).exists():
        return [Misfit(id="no-manifest", strength="note", sentence="The run has no manifest of digests yet.")]
    changed = []
    for name in folder.manifest():
        try:
            folder.check(name)
        except EvidenceError:
            changed.append(name)
    if not changed:
        return []
    words = f"{listed(changed)} {'is' if len(changed) == 1 else 'are'} not what the run's own manifest says."
    return [Misfit(id="changed-since", strength="contradiction", sentence=words)]


def _ledger(folder: RunFolder, imported: Imported) -> list[Misfit]:
    """The ledger beside the wire log, answer by answer, and its own sums."""
    if not (folder.path / LEDGER).exists():
        return []
    ledger = folder.record(LEDGER, Ledger)
    own = {one.exchange: one.tally.delivered for one in ledger.exchanges if one.status == "complete"}
    seen = {int(one.id or 0): one.output_tokens for result in imported.results for one in result.requests}
    differ = [number for number, count in own.items() if number in seen and seen[number] != count]
    found = []
    if differ:
        words = f"For {plural(len(differ), 'answer')} of {len(own):,} the ledger counts other than its wire log does."
        found.append(Misfit(id="ledger-against-wire", strength="contradiction", sentence=words))
    for cell in ledger.cells:
        made = check_identity(cell.tally, is_partial=ledger.is_partial)
        if Outcome.FAILS in (made.outcome, cell.identity.outcome):
            words = f"Cell {cell.cell}: N = F + P + S + A - O does not hold: {made.sentence}."
            found.append(Misfit(id="identity", strength="contradiction", sentence=words))
    return found
