"""Rates above what the claim's hardware can do with the claim's model."""

from pydantic import ValidationError

from auditor.core.bases import BasisValue
from auditor.core.claim.record import Case
from auditor.core.imports.claimed import bases_of_result
from auditor.core.imports.measured import Measured
from auditor.core.inspection.record import Checked, Misfit, Unchecked
from auditor.core.physics.laidbeside import ceiling_of
from auditor.core.wording import figure

_RULE = "delivered/system"


def is_possible(measured: Measured, case: Case | None) -> Checked:
    """Does what all streams got together lie below the hard bound of the hardware and the model that a claim states?"""
    if case is None:
        yield Unchecked("the hardware is not known; give what is claimed of it with --claim")
        return
    system = next((one for one in bases_of_result(measured) if one.id == _RULE and one.estimate), None)
    if system is None or system.estimate is None:
        yield Unchecked("the file gives no rate of all streams")
        return
    laid = _laid(case, measured, system)
    if laid is None:
        yield Unchecked("the claim and the file together say nothing that a bound can be worked out of")
        return
    found = ceiling_of(laid)
    if found.outcome == "unknown":
        yield Unchecked(found.sentence)
    elif found.outcome == "impossible":
        rate, hard = figure(system.estimate.value), figure(found.hard or 0)
        words = (f"{rate} tokens/s over {measured.load.streams} streams lie above the hard bound of {hard} for"
                 " the hardware and model of the claim: these figures, or what is said"
                 " of the hardware, the model or the file, are not so.")  # fmt: skip
        yield Misfit(id="above-bound", strength="contradiction", sentence=words)


def _laid(case: Case, measured: Measured, system: BasisValue) -> Case | None:
    """The claim's hardware and model with the file's rate and load."""
    assert system.estimate is not None
    data = case.model_dump(exclude_unset=True)
    data["reported"] = {"value": system.estimate.value, "streams": measured.load.streams, "basis": "output"}
    width = measured.drafts.draft_width
    if width and data.get("speculation", {}).get("method") != "none":
        data["speculation"] = {**data.get("speculation", {}), "draft_tokens": width}
    try:
        return Case.model_validate(data)
    except ValidationError:
        return None
