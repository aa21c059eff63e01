"""Reads the Prometheus text format: what `/metrics` of every engine speaks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class Sample:
    """One line: a name, its labels and a value."""

    name: str
    labels: dict[str, str]
    value: float


def samples(text: str, prefix: str = "") -> Iterator[Sample]:
    """The samples whose name begins with `prefix`; comments and empty lines are passed over.

    Raises ValueError for a line that is no sample.
    """
    for line in text.split("\n"):
        if not line.startswith(prefix) or not line.strip() or line.startswith("#"):
            continue
        match = _SAMPLE.fullmatch(line.strip())
        if match is None:
            raise ValueError(f"not a metrics line: {line[:80]!r}")
        name, labels, value = match.groups()
        yield Sample(name, dict(_labels(labels or "")), float(value))


def _labels(text: str) -> Iterator[tuple[str, str]]:
    for match in _LABEL.finditer(text):
        yield match[1], _ESCAPE.sub(lambda escape: "\n" if escape[1] == "n" else escape[1], match[2])
