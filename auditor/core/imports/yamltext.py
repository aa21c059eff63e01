"""YAML from strangers, as plain data: no anchors, aliases or tags, bounded in size and depth, one document.

Scalars are those of JSON: numbers, true, false and null where they are not in quotes; everything else is text.
"""

import re
from typing import Any

import yaml

MAX_BYTES = 32 * 1024 * 1024
"""Largest text that is read: some six seconds, thirty times as long as JSON takes."""
MAX_DEPTH = 60
_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_INT = re.compile(r"[-+]?[0-9]{1,18}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_WORDS: dict[str, Any] = {"": None, "~": None, "null": None, "true": True, "false": False}
_END = object()


class YamlError(ValueError):
    """Why a text is no YAML that can be taken in, in words without a line end."""


def parse_yaml(text: str) -> Any:
    """The value of one YAML document; raises YamlError with the line."""
    if len(text) > MAX_BYTES:
        raise YamlError(f"is YAML of more than {MAX_BYTES >> 20} MiB; give the tool's JSON")
    try:
        return _built(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise YamlError(f"line {mark.line + 1 if mark else 1}: {error.problem or 'is no YAML'}") from None
    except yaml.YAMLError:
        raise YamlError("holds characters that YAML does not allow") from None


def _built(text: str) -> Any:
    """Build the value while the events come: `open_` holds the collections that are not complete, and their keys."""
    open_: list[tuple[Any, Any]] = []
    result: Any = _END
    for event in yaml.parse(text, Loader=_LOADER):
        line = event.start_mark.line + 1 if event.start_mark else 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) or getattr(event, "tag", None):
            raise YamlError(f"line {line}: anchors, aliases and tags are not taken in")
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(open_) >= MAX_DEPTH:
                raise YamlError(f"line {line}: is nested too deep")
            open_.append(({} if isinstance(event, yaml.MappingStartEvent) else [], _END))
            continue
        if isinstance(event, yaml.ScalarEvent):
            value = _scalar(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            value = open_.pop()[0]
        else:
            continue
        if not open_:
            if result is not _END:
                raise YamlError(f"line {line}: begins a second document")
            result = value
        else:
            open_[-1] = _with(open_[-1], value, line)
    return None if result is _END else result


def _with(holder: tuple[Any, Any], value: Any, line: int) -> tuple[Any, Any]:
    collection, key = holder
    if isinstance(collection, list):
        collection.append(value)
        return collection, _END
    if key is not _END:
        collection[key] = value
        return collection, _END
    if isinstance(value, dict | list):
        raise YamlError(f"line {line}: a name must be text")
    if (name := str(value)) in collection:
        raise YamlError(f"line {line}: names a field twice in one object")
    return collection, name


def _scalar(event: yaml.ScalarEvent) -> Any:
    value = event.value
    if event.style:
        return value
    if value in _WORDS:
        return _WORDS[value]
    if _INT.fullmatch(value):
        return int(value)
    return float(value) if _FLOAT.fullmatch(value) else value
