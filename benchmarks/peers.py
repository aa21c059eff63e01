"""The field's own clients against the same server, where a venv of them is given."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.cases import Bench, Row

PEERS: tuple[str, ...] = ("aiperf", "genai-bench", "guidellm", "inference-perf", "sglang", "vllm")


def peer_rows(bench: "Bench", tools: Path | None) -> "list[Row]":
    """A row for each peer."""
    return []
