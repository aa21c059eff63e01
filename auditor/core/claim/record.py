"""The record of a claim and of its cases.

A claim may hold several measurements; each, laid over the fields that they share, is a case, and a case is what a run
audits.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from auditor.core.claim.parts import Engine, Hardware, Model, Server, Source, Speculation, Workload
from auditor.core.claim.reported import NO_NUMBER, Reported
from auditor.core.claim.types import Identifier, Line, Part, Prose
from auditor.core.record import canonical_json
from auditor.errors import UsageError


class Conditions(Part):
    """What a claim and each of its measurements may state."""

    hardware: Hardware = Hardware()
    """What it ran on."""
    model: Model = Model()
    """What was served."""
    engine: Engine = Engine()
    """What served it."""
    speculation: Speculation = Speculation()
    """Speculative decoding."""
    reported: Reported = Reported()
    """The published number."""
    workload: Workload = Workload()
    """What was asked of it."""
    server: Server = Server()
    """Where it can be measured."""
    notes: Prose | None = None
    """What a reader needs to know beside."""


class Measurement(Conditions):
    """One row of a claim with several."""

    id: Identifier
    """Name of the row, unique within the claim."""
    title: Line | None = None
    """The row in words."""


class Case(Conditions):
    """One measurement with everything that holds for it: what a run audits."""

    claim_id: Identifier
    """The claim it belongs to."""
    id: Identifier
    """Id of the measurement; the claim's own where it has but one."""
    title: Line
    """The row in words; the claim's title where it has none."""


class Claim(Conditions):
    """A claim file."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(alias="schema")
    """Version of the claim file: 1."""
    id: Identifier
    """Name of the claim: small letters, digits, `-`, `_` and `.`."""
    title: Line
    """The claim in one line."""
    source: Source = Source()
    """Where it was published, and by whom."""
    reported_by: Line | None = None
    """Kind of person who passed it on, where that is not the claimant."""
    disputed_by: Line | None = None
    """Kind of person who disputes it."""
    disputer_says: tuple[Prose, ...] = ()
    """What only the disputer asserts."""
    measurements: Annotated[tuple[Measurement, ...], Field(max_length=1000)] = ()
    """Several measurements; each states what differs from the fields above."""

    def to_json(self) -> bytes:
        """The canonical JSON of what the claim states; unstated fields are left out, for `cases` tells them apart."""
        return canonical_json(self.model_dump(mode="json", exclude_unset=True))

    def cases(self) -> tuple[Case, ...]:
        """Every measurement laid over the common fields; one case with the claim's id where there are none.

        Mappings are merged field by field, lists are replaced, and a field that is null in a measurement is unstated
        there. A number replaces the common number in whatever form, and another speculation method drops what the
        common fields say of theirs.
        """
        common = self.model_dump(include=_CONDITIONS, exclude_unset=True)
        if not self.measurements:
            return (Case.model_validate({**common, "claim_id": self.id, "id": self.id, "title": self.title}),)
        rows = (row.model_dump(exclude_unset=True) for row in self.measurements)
        return tuple(
            Case.model_validate(
                {"title": self.title, **_laid_over(common, _without_null_title(row)), "claim_id": self.id}
            )
            for row in rows
        )

    def case(self, row: str | None) -> Case:
        """The case of that id, or the only one; raises UsageError that lists the rows."""
        cases = self.cases()
        if row is None and len(cases) == 1:
            return cases[0]
        for case in cases:
            if case.id == row:
                return case
        what = f"has no measurement {row!r}" if row is not None else f"has {len(cases)} measurements"
        raise UsageError(
            f"claim {self.id} {what}", remedy=f"choose one with --row: {', '.join(case.id for case in cases)}"
        )


_CONDITIONS = set(Conditions.model_fields)


def _without_null_title(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name != "title" or value is not None}


def _laid_over(common: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(common)
    for name, value in row.items():
        below = merged.get(name)
        if not isinstance(value, Mapping) or not isinstance(below, Mapping):
            merged[name] = value
            continue
        if name == "reported" and (value.keys() & {"value", "range"} or value.get("outcome") in NO_NUMBER):
            below = {k: v for k, v in below.items() if k not in ("value", "range", "rounded_to", "about")}
        if name == "speculation" and value.get("method", below.get("method")) != below.get("method"):
            below = {}
        merged[name] = _laid_over(below, value)
    return merged
