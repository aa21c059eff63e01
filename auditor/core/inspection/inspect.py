"""Every check on an imported result."""

from collections.abc import Callable
from dataclasses import dataclass

from auditor.core.claim.record import Case
from auditor.core.imports.measured import Measured, gaps
from auditor.core.imports.record import Imported, ImportFinding, Result
from auditor.core.inspection import counts, rates, times
from auditor.core.inspection.gaps import are_copied, are_even, are_multiples
from auditor.core.inspection.record import (
    Checked,
    Inspection,
    Misfit,
    NotChecked,
    ResultInspection,
    Unchecked,
    ordered,
)
from auditor.terms import Outcome


@dataclass(frozen=True, slots=True)
class Known:
    """What is known beside the file."""

    now_ns: int
    dated_ns: int | None = None
    """When the file was written, by the file system; ns since 1970."""
    case: Case | None = None
    """The claim whose hardware and model bound the rates."""
    count: Callable[[str], int] | None = None
    """Counts the tokens of a text."""
    tokenizer: str = "no tokenizer"


def inspect(imported: Imported, known: Known, found: tuple[Misfit, ...] = ()) -> Inspection:
    """Every result of a file; `found` is what was seen of the whole before."""
    first = imported.originals[0]
    return Inspection(
        name=first.name,
        format=imported.tool,
        sha256=first.sha256,
        found=ordered(list(found)),
        results=tuple(_result(one, known) for one in imported.results),
    )


def _result(result: Result, known: Known) -> ResultInspection:
    measured = Measured(result)
    found = [misfit for one in result.findings if (misfit := of_import(one)) is not None]
    skipped: list[NotChecked] = []
    for name, made in _checks(measured, known):
        for one in made:
            if isinstance(one, Unchecked):
                skipped.append(NotChecked(id=name, why=one.why))
            else:
                found.append(one)
    return ResultInspection(
        name=result.name,
        requests=len(result.requests),
        gaps=sum(len(gaps(one)) for one in measured.done),
        found=ordered(found),
        not_checked=tuple(skipped),
    )


def _checks(measured: Measured, known: Known) -> tuple[tuple[str, Checked], ...]:
    return (
        ("marks and events", times.marks_fit_events(measured)),
        ("clock", times.clock_runs_on(measured)),
        ("dates", times.is_of_the_past(measured, known.now_ns, known.dated_ns)),
        ("round gaps", are_multiples(measured)),
        ("even gaps", are_even(measured)),
        ("copied gaps", are_copied(measured)),
        ("tokens of a step", counts.steps_hold_them(measured)),
        ("usage and events", counts.usage_fits_events(measured)),
        ("text and tokens", counts.text_tokenises(measured, known.count, known.tokenizer)),
        ("copied text", counts.texts_are_own(measured)),
        ("hard bound", rates.is_possible(measured, known.case)),
    )


def of_import(finding: ImportFinding) -> Misfit | None:
    """What the import found already: what spoils a file is a contradiction, the rest a note; None for what holds."""
    if finding.outcome is not Outcome.FAILS:
        return None
    strength = "contradiction" if finding.gravity == "dirty" and finding.id not in _HAPPENS else "note"
    return Misfit.model_validate({"id": finding.id, "strength": strength, "sentence": finding.sentence})


_HAPPENS = ("empty-success", "loadgen-invalid")
"""Spoils a file, and happens to honest ones."""
