"""Files as an enemy or a bad disk would leave them: seeded changes of real and documented result files."""

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from documented import DOCUMENTED

DATA = Path(__file__).resolve().parents[1] / "data" / "imports"
MARK = "<script>alert('x')</script>\u202e\x1b[31m\r\nfake: line"
"""A text that must never be shown as it is."""
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 0, 10**30, 1e300, 0.5, "inf", "-Infinity", "", MARK, "A" * 100_000, [], {}, [[[[]]]], [None], [MARK],
    {MARK: MARK}, [-1, 1e300], ["NaN"], {"value": "x"}, "\ud800", 2**63, -(2**70),
)  # fmt: skip
_BARE = ("NaN", "Infinity", "-Infinity", "1e999", "9" * 5000)


def samples() -> dict[str, bytes]:
    """Every small sample file by a name: the tools' own, and those in a documented shape."""
    real = {
        str(path.relative_to(DATA)): path.read_bytes()
        for path in sorted(DATA.rglob("*"))
        if path.is_file() and path.stat().st_size < 150_000 and "printed" not in path.name and path.suffix != ".md"
    }
    return {**DOCUMENTED, **real}


def mutated(data: bytes, rng: random.Random) -> bytes:
    """The bytes after one change."""
    return rng.choice(_CHANGES)(data, rng)


def _cut(data: bytes, rng: random.Random) -> bytes:
    return data[: rng.randrange(len(data))]


def _flip(data: bytes, rng: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(rng.randint(1, 30)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def _reorder(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    rng.shuffle(lines)
    return b"\n".join(lines)


def _repeat(data: bytes, rng: random.Random) -> bytes:
    return data * rng.randint(2, 3)


def _deep(data: bytes, rng: random.Random) -> bytes:
    depth = rng.choice((200, 5_000, 100_000))
    return rng.choice((b"[" * depth, b'{"a":' * depth, b"[" * depth + b"]" * depth)) + data[:100]


def _bare(data: bytes, rng: random.Random) -> bytes:
    """A number becomes what JSON has no words for."""
    text = data.decode("utf-8", "replace")
    places = [at for at in range(len(text) - 1) if text[at] in ":," and text[at + 1 :].lstrip()[:1].isdigit()]
    if not places:
        return _flip(data, rng)
    at = rng.choice(places[:5_000]) + 1
    rest = text[at:].lstrip().lstrip("0123456789.eE+-")
    return f"{text[:at]} {rng.choice(_BARE)}{rest}".encode()


def _twice(data: bytes, rng: random.Random) -> bytes:
    return data.replace(b"{", b'{"x": 1, "x": 2, ', 1)


def _swap(data: bytes, rng: random.Random) -> bytes:
    """A few values of the JSON become something else."""
    text = data.decode("utf-8", "replace")
    try:
        documents = [json.loads(text)]
    except ValueError:
        try:
            documents = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            return _flip(data, rng)
    for _ in range(rng.randint(1, 4)):
        documents[rng.randrange(len(documents))] = _with_change(rng.choice(documents), rng)
    return "\n".join(json.dumps(one) for one in documents).encode("utf-8", "replace")


def _with_change(value: Any, rng: random.Random) -> Any:
    changed = copy.deepcopy(value)
    here = changed
    while isinstance(here, dict | list) and here:
        key = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        if not isinstance(here[key], dict | list) or not here[key] or rng.random() < 0.3:
            if isinstance(here, dict) and rng.random() < 0.2:
                del here[key]
            else:
                here[key] = rng.choice(HOSTILE)
            return changed
        here = here[key]
    return rng.choice(HOSTILE)


_CHANGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut, _cut, _flip, _reorder, _repeat, _deep, _bare, _bare, _twice, _swap, _swap, _swap, _swap, _swap,
)  # fmt: skip
