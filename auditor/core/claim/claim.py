"""A claim: who published which number, on what, under which conditions. YAML text in, a frozen record out.

A claim that says little is a valid claim; what it leaves open is asked by `auditor.core.claim.questions`.
"""

from decimal import Decimal
from typing import Any, TypeVar

import orjson
from pydantic import ValidationError

from auditor.core.claim.errors import MAX_ERRORS, claim_errors
from auditor.core.claim.parts import (
    Backends,
    Engine,
    Fork,
    Hardware,
    Model,
    Parallelism,
    Sampling,
    Server,
    Source,
    Speculation,
    Workload,
)
from auditor.core.claim.record import Case, Claim, Measurement
from auditor.core.claim.reported import Reported
from auditor.core.claim.text import Document, Path, load
from auditor.core.claim.types import MAX_RATE, AcceptanceDefinition, Basis, Counter, OutcomeStated, Part, Window
from auditor.errors import ClaimError

__all__ = [
    "AcceptanceDefinition",
    "Backends",
    "Basis",
    "Case",
    "Claim",
    "Counter",
    "Engine",
    "Fork",
    "Hardware",
    "Measurement",
    "Model",
    "OutcomeStated",
    "Parallelism",
    "Reported",
    "Sampling",
    "Server",
    "Source",
    "Speculation",
    "Window",
    "Workload",
    "claim_schema",
    "parse_claim",
    "problems_of",
    "validated",
]

P = TypeVar("P", bound=Part)


_EMPTY: dict[str, Any] = {"model_type": {}, "model_attributes_type": {}, "dict_type": {}, "tuple_type": []}


def parse_claim(text: str, where: str) -> Claim:
    """Read the text of a claim file; raises `ClaimError` with `where:line` for the first thing that is wrong."""
    read = _read(text, where)
    if isinstance(read, Claim):
        return read
    raise read[0]


def problems_of(text: str, where: str) -> list[ClaimError]:
    """What is wrong with a claim file, in its order, the first 20 things; empty for a valid one."""
    try:
        read = _read(text, where)
    except ClaimError as error:
        return [error]
    return [] if isinstance(read, Claim) else read


def claim_schema() -> dict[str, Any]:
    """JSON Schema of a claim file, for editors."""
    schema = Claim.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Claim file, schema 1"}


def _read(text: str, where: str) -> Claim | list[ClaimError]:
    document = load(text, where)
    _keep_written_places(document)
    try:
        claim = validated(document, Claim)
    except ValidationError as error:
        return claim_errors(error, Claim, document)
    seen: dict[str, int] = {}
    for index, row in enumerate(claim.measurements):
        path: Path = ("measurements", index, "id")
        if row.id in seen:
            return [document.error(f"measurement {row.id} is given twice, first on line {seen[row.id]}", path)]
        seen[row.id] = document.line_of(path)
    try:
        claim.cases()
    except ValidationError:
        return _case_errors(claim, document)
    return claim


def validated(document: Document, record: type[P]) -> P:
    """The record that a file holds, read with two courtesies; raises `pydantic.ValidationError`.

    A number or boolean where text is expected is taken as it was written (`version: 0.17`), and a heading with
    nothing under it is empty.
    """
    try:
        return _strictly(document, record)
    except ValidationError as error:
        for details in error.errors(include_url=False):
            path, kind = details["loc"], details["type"]
            if kind == "string_type" and document.written.get(path):
                _put(document.data, path, document.written[path])
            elif kind in _EMPTY and details["input"] is None:
                _put(document.data, path, _EMPTY[kind])
        return _strictly(document, record)


def _strictly(document: Document, record: type[P]) -> P:
    return record.model_validate_json(orjson.dumps(document.data), strict=True, by_alias=True, by_name=False)


def _put(data: Any, path: Path, value: Any) -> None:
    for part in path[:-1]:
        data = data[part]
    data[path[-1]] = value


def _case_errors(claim: Claim, document: Document) -> list[ClaimError]:
    found = []
    for index, row in enumerate(claim.measurements):
        try:
            claim.model_copy(update={"measurements": (row,)}).cases()
        except ValidationError as error:
            found += claim_errors(error, Case, document, ("measurements", index))
    return found[:MAX_ERRORS]


def _keep_written_places(document: Document) -> None:
    """Note the rounding of a number whose written places a float would lose: 50.50, 1.3e2."""
    for path in document.lines:
        reported = _at(document.data, path) if path[-1:] == ("reported",) else None
        if not isinstance(reported, dict) or "rounded_to" in reported:
            continue
        units = [
            (_unit(text), _unit(repr(_at(document.data, place))))
            for place, text in document.written.items()
            if place[: len(path) + 1] in ((*path, "value"), (*path, "range")) and _is_number(text)
        ]
        unit = max((written for written, _ in units), default=Decimal(0))
        if any(written != read for written, read in units) and 0 < float(unit) <= MAX_RATE:
            reported["rounded_to"] = float(unit)


def _is_number(text: str) -> bool:
    return any(digit in text for digit in "0123456789")


def _unit(text: str) -> Decimal:
    """The unit of the last written place of a number."""
    return Decimal(1).scaleb(int(Decimal(text).as_tuple().exponent))


def _at(data: Any, path: Path) -> Any:
    for part in path:
        data = data[part]
    return data
