"""Small helpers for adapters: from what a server said to facts, and nothing private on the way.

An adapter picks each fact by name out of an answer; no answer is ever copied whole, because server descriptions carry
keys, environments and paths.
"""

import re
from collections.abc import Mapping
from typing import Any, get_args

from auditor.core.facts import Fact, FactName, known, unknown

FACT_NAMES: tuple[FactName, ...] = get_args(FactName)
_MAX_COUNT = 1 << 53
_MAX_FIGURE = 1e300
_LIMIT = 200
"""Longest text of a fact, in characters."""
_HUB_FOLDER = re.compile(r"models--([^/]+?)--([^/]+)")
_USERINFO = re.compile(r"//[^/@\s]+@")
_UNRESOLVED = ("", "auto", "none", "null", "undefined")


def dig(document: Any, *keys: str) -> Any:
    """What lies under `keys` in nested JSON objects; None where the path breaks."""
    for key in keys:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def told(value: Any, source: str, reason: str) -> Fact:
    """A fact where `value` is a number, a truth or a text; otherwise the reason why there is none."""
    if isinstance(value, str):
        value = _USERINFO.sub("//", "".join(c for c in value if c.isprintable()))[:_LIMIT].strip() or None
    if isinstance(value, bool | int | float | str):
        return known(value, source)
    return unknown(reason)


def resolved(value: Any, source: str, reason: str) -> Fact:
    """As `told`, but `auto`, `none` and the like are no answer: the engine chose and did not say what."""
    if isinstance(value, str) and value.lower() in _UNRESOLVED:
        return unknown(f"{source} is {value or 'empty'}: {reason}")
    return told(value, source, reason)


def whole(value: Any) -> int | None:
    """A count: a whole number that is not negative; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < _MAX_COUNT:
        return None
    return int(value) if value == int(value) else None


def figures(values: Mapping[str, Any]) -> dict[str, float]:
    """The finite numbers among the values, as the server gave them."""
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MAX_FIGURE
    }


def public_path(path: Any) -> Any:
    """A model's path without the folders of the machine it lies on; names of a model hub stay whole."""
    if not isinstance(path, str):
        return None
    hub = _HUB_FOLDER.search(path)
    if hub:
        return f"{hub[1]}/{hub[2]}"
    is_local = path.startswith(("/", "\\", "~", ".")) or ":\\" in path
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] if is_local else path


def launch_facts(launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """The facts known from the launch; keys that are no facts are passed over."""
    return {
        name: known(launched[name], "launch") for name in FACT_NAMES if isinstance(launched.get(name), bool | int | str)
    }


def complete(facts: Mapping[FactName, Fact], reason: str) -> dict[FactName, Fact]:
    """Every question answered: those without a fact carry `reason`."""
    return {name: facts.get(name) or unknown(reason) for name in FACT_NAMES}
