"""What is wrong with a claim file, said to the person who wrote it: where, what, and what is allowed."""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from auditor.core.claim.text import Document, Path
from auditor.core.claim.types import SECRET
from auditor.errors import ClaimError

MAX_ERRORS = 20
"""Errors told of one file."""

_WHAT = {
    "missing": "is missing",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "tuple_type": "must be a list",
    "dict_type": "must be a mapping of fields",
    "model_type": "must be a mapping of fields",
    "model_attributes_type": "must be a mapping of fields",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_long": "is longer than {max_length} characters",
    "too_long": "has more than {max_length} entries",
    "string_pattern_mismatch": "must look like {example}",
}
_EXAMPLES = {"date": "2026-03-12, 2026-03 or 2026", "commit": "0a1b2c3: 7 to 64 of 0-9 and a-f"}


def claim_errors(error: ValidationError, model: type[BaseModel], document: Document, at: Path = ()) -> list[ClaimError]:
    """One error per field that is wrong, in the order of the file, at most `MAX_ERRORS`.

    `at` is where in the document the validated value stands.
    """
    found: dict[Path, ErrorDetails] = {}
    for details in error.errors(include_url=False):
        path = (*at, *details["loc"])
        # Below a field that holds no mapping or list, pydantic names its own alternatives.
        while path and path not in document.lines and details["type"] != "missing":
            path = path[:-1]
        found.setdefault(path, details)
    first = sorted(found, key=document.line_of)[:MAX_ERRORS]
    return [_one(found[path], model, document, path) for path in first]


def _one(details: ErrorDetails, model: type[BaseModel], document: Document, path: Path) -> ClaimError:
    kind, name = details["type"], path_text(path)
    if kind == "extra_forbidden":
        allowed = sorted(_fields_at(model, path[:-1]))
        near = get_close_matches(str(path[-1]), allowed, n=1, cutoff=0.5)
        remedy = f"did you mean {near[0]}?" if near else f"allowed: {', '.join(allowed)}"
        return document.error(f"unknown field {name}", path, remedy)
    context: dict[str, Any] = {**details.get("ctx", {}), "example": _EXAMPLES.get(str(path[-1]) if path else "", "")}
    if kind in ("enum", "literal_error"):
        allowed_values = str(context["expected"]).replace(" or ", ", ").replace("'", "")
        return document.error(f"{name} is {_short(details['input'])}", path, f"allowed: {allowed_values}")
    what = _WHAT[kind].format(**context) if kind in _WHAT else details["msg"]
    given = details["input"]
    if kind not in ("missing", SECRET) and isinstance(given, str | int | float | bool):
        what = f"{what}, not {_short(given)}"
    return document.error(f"{name} {what}" if name else f"the claim {what}", path)


def path_text(path: Path) -> str:
    """A place in a claim as people write it, as `measurements[0].reported.value`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.removeprefix(".")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _fields_at(model: type[BaseModel], path: Path) -> set[str]:
    """Names that the record at this place of a claim may have."""
    here: type[BaseModel] = model
    for part in path:
        if isinstance(part, str):
            field = next(
                (f for name, f in here.model_fields.items() if part in (name, f.alias)),
                None,
            )
            here = next(_records(field.annotation), here) if field else here
    return {field.alias or name for name, field in here.model_fields.items()}


def _records(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for inner in get_args(annotation):
        yield from _records(inner)
