"""What `system_fingerprint` tells, which vLLM sends with its answers from 0.22 on.

It is `vllm-VERSION[-tpN][-ppN][-dpN][-ep]-HASH`.
"""

import re
from collections.abc import Iterable
from typing import Any

from auditor.core.facts import Fact, FactName, known

_SHAPE = re.compile(r"vllm-(?P<version>.+?)(?P<sizes>(?:-(?:[tpd]p\d+|ep))*)-(?:[0-9a-f]{8}|nohash)")
_SIZES: dict[str, FactName] = {"tp": "tensor_parallel", "pp": "pipeline_parallel", "dp": "data_parallel"}


def seen(events: Iterable[dict[str, Any]]) -> dict[FactName, Fact]:
    """Version and parallel sizes.

    Sizes of one are left out, and with `--fingerprint-mode hash` all of them: where none is named, none is known.
    """
    texts = (event.get("system_fingerprint") for event in events)
    text = next((text for text in texts if isinstance(text, str) and text.startswith("vllm-")), "")
    match = _SHAPE.fullmatch(text)
    if match is None:
        return {}
    found: dict[FactName, Fact] = {"version": known(match["version"], "system_fingerprint")}
    parts = match["sizes"].strip("-").split("-") if match["sizes"] else []
    if parts:
        sizes = {part[:2]: int(part[2:]) for part in parts if part != "ep"}
        found |= {name: known(sizes.get(short, 1), "system_fingerprint") for short, name in _SIZES.items()}
    return found
