"""One adapter a file or folder: a table of names and small functions that read what one kind of server sends.

Adapters are found by the entry point group `auditor.servers`, so that another package can bring its own: an object of
`auditor.core.adapter.Adapter` under the adapter's name.
"""

import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points

from auditor.core.adapter import Adapter

GROUP = "auditor.servers"
GENERIC = "generic"
"""The adapter that takes what no other knows."""


def load_adapters(warn: Callable[[str], None] | None = None) -> dict[str, Adapter]:
    """All adapters by name: ours first, then those of other packages, the generic one last.

    `warn` is told, in one line each, which of another package could not be used; by default on standard error.
    """
    say = warn or _warn
    found: dict[str, Adapter] = {}
    for entry in sorted(entry_points(group=GROUP), key=_order):
        if entry.name in found:
            say(f"adapter {entry.name} of {_package(entry)} is passed over: the name is taken")
            continue
        try:
            adapter = entry.load()
        except Exception as error:  # noqa: BLE001 - another package's fault must not stop an audit
            say(f"adapter {entry.name} of {_package(entry)} cannot be loaded: {error}")
            continue
        if not isinstance(adapter, Adapter) or adapter.name != entry.name:
            say(f"adapter {entry.name} of {_package(entry)} is passed over: not an Adapter of that name")
            continue
        found[entry.name] = adapter
    if GENERIC in found:
        found[GENERIC] = found.pop(GENERIC)
    return found


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist else "an unknown package"


def _order(entry: EntryPoint) -> tuple[bool, str]:
    return (not entry.value.startswith("auditor."), entry.name)


def _warn(line: str) -> None:
    sys.stderr.write(f"audit: {line}\n")
