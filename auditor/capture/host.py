"""The machine that runs the client."""

import os
import platform
import sys
from importlib.metadata import version

from auditor.core.facts import HostFacts


def host_facts() -> HostFacts:
    """What it is, without its name or its user's."""
    return HostFacts(
        platform=platform.platform(),
        python=sys.version.split()[0],
        cpus=os.cpu_count() or 1,
        machine=platform.machine(),
        packages={name: version(name) for name in ("httpx", "orjson", "pydantic", "zstandard")},
    )
