"""Where two documents differ, as paths a reader can look up."""

from collections.abc import Iterator
from typing import Any

_SHOWN = 60
"""Letters of a value that are shown."""


def differences(found: Any, wanted: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Path, value and wanted value of every leaf in which two JSON values differ, in the order of the second."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for key in [*wanted, *(key for key in found if key not in wanted)]:
            yield from differences(found.get(key), wanted.get(key), f"{path}.{key}" if path else str(key))
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        for index, (one, other) in enumerate(zip(found, wanted, strict=True)):
            yield from differences(one, other, f"{path}[{index}]")
    elif found != wanted or type(found) is not type(wanted):
        yield path or "the whole", shown(found), shown(wanted)


def shown(value: Any) -> str:
    """A value in a few letters, none of them a control character."""
    text = f"a list of {len(value):,}" if isinstance(value, list) else "absent" if value is None else repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 2]} …"
