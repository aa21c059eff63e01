"""JSON from strangers: no NaN, no duplicate names, no deep nesting, no numbers that no program could mean.

A bare `Infinity`, which Python writes for a rate without a limit, becomes the text `inf`: a field that must be a number
refuses it by name.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from auditor.core.claim.text import UNSAFE

MAX_NAME_SHOWN = 60
_CONSTANT = re.compile(r"(?<=[:,\[\s])NaN(?=[,\]}\s])")
_NAME_BEFORE = re.compile(r'"([^"\\]{1,80})"\s*:\s*\[?[\s\d.,eE+-]*$')
_BEFORE = 300


class JsonError(ValueError):
    """Why a text is no JSON that can be taken in, in words without a line end."""


def clean(text: str, limit: int = 200) -> str:
    """Foreign text for one line: no control characters, no direction overrides, no line ends, at most `limit` long."""
    shown = " ".join(UNSAFE.sub(" ", text[: 4 * limit]).split())
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def parse(text: str) -> Any:
    """The value of one JSON text; raises JsonError with the line."""
    try:
        return json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except _ConstantError:
        raise JsonError(_where_constant(text)) from None
    except JsonError:
        raise
    except json.JSONDecodeError as error:
        raise JsonError(f"line {error.lineno}: {error.msg[0].lower()}{error.msg[1:]}") from None
    except RecursionError:
        raise JsonError("is nested too deep") from None
    except ValueError:
        raise JsonError("holds an integer of thousands of digits") from None


def parse_lines(text: str) -> Iterator[tuple[int, Any]]:
    """Number and value of each line that is not empty; raises JsonError with the line."""
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield number, parse(line)
        except JsonError as error:
            raise JsonError(f"line {number}: {str(error).removeprefix('line 1: ')}") from None


class _ConstantError(ValueError):
    pass


def _constant(name: str) -> str:
    if name == "NaN":
        raise _ConstantError(name)
    return name.replace("Infinity", "inf")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise JsonError(f"names {clean(twice, MAX_NAME_SHOWN)!r} twice in one object")
    return found


def _where_constant(text: str) -> str:
    found = _CONSTANT.search(text)
    if found is None:
        return "holds NaN, which is no number"
    at = found.start()
    named = _NAME_BEFORE.search(text[max(0, at - _BEFORE) : at])
    name = f" in {clean(named[1], MAX_NAME_SHOWN)!r}" if named else ""
    return f"line {text.count(chr(10), 0, at) + 1}: {found[0]}{name} is no number"
