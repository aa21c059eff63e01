"""The fields of a claim file as Markdown tables, made from the JSON Schema of the records."""

import ast
import inspect
from collections.abc import Iterator
from enum import StrEnum
from itertools import pairwise
from typing import Any

from auditor.core.claim.claim import claim_schema
from auditor.core.claim.types import AcceptanceDefinition, Basis, Counter, OutcomeStated, Window

_ENUMS: tuple[type[StrEnum], ...] = (Basis, Window, Counter, OutcomeStated, AcceptanceDefinition)
_FIRST = ("schema", "id", "title", "source", "reported_by", "disputed_by", "disputer_says")
_TYPES = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false"}


def field_tables() -> str:
    """Every field of a claim file, then every word that a field may hold."""
    schema = claim_schema()
    definitions = schema["$defs"]
    fields = list(_fields(schema, "", definitions))
    parts = ["| field | holds | meaning |", "|---|---|---|"]
    parts += [f"| `{path}` | {_holds(field, definitions)} | {field.get('description', '')} |" for path, field in fields]
    for enum in _ENUMS:
        path = next(path for path, field in fields if _enum_name(field) == enum.__name__)
        parts += ["", f"Values of `{path}`:", "", "| value | meaning |", "|---|---|"]
        parts += [f"| `{value}` | {text} |" for value, text in _members(enum)]
    return "\n".join(parts) + "\n"


def _fields(record: dict[str, Any], prefix: str, definitions: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and schema of every field that is not itself a record; of a measurement only what is its own."""
    names = list(record["properties"])
    names.sort(key=lambda name: _FIRST.index(name) if name in _FIRST else len(_FIRST))
    for name in names:
        field = record["properties"][name]
        below = definitions.get(_reference(field), {})
        row = definitions.get(_reference(field.get("items", {})), {})
        if "properties" in below:
            yield from _fields(below, f"{prefix}{name}.", definitions)
        elif "properties" in row:
            yield f"{prefix}{name}", field
            own = {key: row["properties"][key] for key in ("id", "title")}
            yield from _fields({"properties": own}, f"{prefix}{name}[].", definitions)
        else:
            yield f"{prefix}{name}", field


def _reference(field: dict[str, Any]) -> str:
    return str(field.get("$ref", "")).rpartition("/")[2]


def _choices(field: dict[str, Any]) -> list[dict[str, Any]]:
    return [choice for choice in field.get("anyOf", [field]) if choice.get("type") != "null"]


def _enum_name(field: dict[str, Any]) -> str:
    return _reference(_choices(field)[0])


def _holds(field: dict[str, Any], definitions: dict[str, Any]) -> str:
    """What a field holds, in words."""
    words = []
    for choice in _choices(field):
        if "const" in choice:
            words.append(f"`{choice['const']}`")
        elif _reference(choice):
            record = definitions[_reference(choice)]
            words.append("a word, see below" if "enum" in record else "fields")
        elif choice.get("type") == "array":
            pair = choice.get("maxItems") == 2
            words.append("[low, high]" if pair else "list" if _reference(choice["items"]) else "list of text")
        elif choice.get("type") == "object":
            words.append("mapping of text")
        else:
            words.append(_TYPES[choice["type"]])
    return " or ".join(dict.fromkeys(words))


def _members(enum: type[StrEnum]) -> list[tuple[str, str]]:
    """The values of an enumeration with the text that stands under each in the source."""
    body = ast.parse(inspect.getsource(enum)).body[0]
    statements = body.body if isinstance(body, ast.ClassDef) else []
    texts: dict[str, str] = {}
    for first, second in pairwise(statements):
        target = first.targets[0] if isinstance(first, ast.Assign) else None
        if isinstance(target, ast.Name) and isinstance(second, ast.Expr) and isinstance(second.value, ast.Constant):
            texts[target.id] = str(second.value.value)
    return [(str(member.value), texts[member.name]) for member in enum]
