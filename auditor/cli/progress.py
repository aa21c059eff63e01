"""The progress of a replay on a terminal: delivered tok/s, accepted and rejected, time left. Quiet elsewhere."""

import sys
import time
from typing import TYPE_CHECKING, Any, Self

import orjson

if TYPE_CHECKING:
    from auditor.capture.replay import Monitor


class Display:
    """A line that is rewritten twice a second while requests are in flight."""

    def __init__(self) -> None:
        self._live: Any = None

    def __enter__(self) -> Self:
        if sys.stderr.isatty():
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
            self._live.__enter__()
        return self

    def __exit__(self, *details: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*details)

    def watch(self, monitor: "Monitor") -> None:
        """Show how it goes now."""
        if self._live is not None:
            self._live.update(progress_line(monitor, time.perf_counter_ns()))


def progress_line(monitor: "Monitor", now_ns: int) -> str:
    """The line; rough while it runs, since events are not taken apart until afterwards."""
    tokens = drafted = accepted = 0
    for flight in list(monitor.flights.values()):
        counts = _counts(flight.last)
        tokens += counts.get("tokens") or flight.events
        drafted += counts.get("drafted", 0)
        accepted += counts.get("accepted", 0)
    elapsed_s = max(1e-9, (now_ns - monitor.started_ns) / 1e9)
    done = monitor.finished_tokens + tokens
    left = max(0, monitor.planned_tokens - done)
    rate = done / elapsed_s
    parts = [
        f"{monitor.cell}: {monitor.finished_requests} of {monitor.planned_requests} answers",
        f"{rate:.1f} tok/s delivered",
    ]
    if drafted:
        parts.append(f"{accepted} drafts accepted, {drafted - accepted} rejected")
    if rate > 0:
        parts.append(f"about {left / rate:.0f} s left")
    return " · ".join(parts)


def _counts(piece: bytes) -> dict[str, int]:
    """Running counts in the last event of a read, where it has any."""
    line = piece.rpartition(b"data: ")[2].split(b"\n", 1)[0]
    try:
        event = orjson.loads(line)
    except orjson.JSONDecodeError:
        return {}
    timings, usage = (event.get(name) if isinstance(event, dict) else None for name in ("timings", "usage"))
    if isinstance(timings, dict):
        names = {"tokens": "predicted_n", "drafted": "draft_n", "accepted": "draft_n_accepted"}
        return {name: int(timings[key]) for name, key in names.items() if isinstance(timings.get(key), int)}
    if isinstance(usage, dict) and isinstance(usage.get("completion_tokens"), int):
        return {"tokens": int(usage["completion_tokens"])}
    return {}
