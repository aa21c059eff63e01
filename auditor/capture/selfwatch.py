"""Watches the client while it measures, so that a slow client is seen and not taken for a slow server.

Twice a second a mark of the log says how late the event loop was, how much processor time it used, and how many bytes
lay unread in the sockets. `auditor.core.counting.client` makes of it what a check can judge.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from auditor.capture.wirelog import WireWriter

TICK_S = 0.02
MARK_NS = 500_000_000
LATE_NS = 10_000_000
"""Lateness of the event loop from which it counts as lost time."""


class SelfWatch:
    """Ticks in the event loop that it watches: what holds the loop up holds up the next tick too."""

    def __init__(self, log: WireWriter, unread: Callable[[], int]) -> None:
        """`unread` tells the most bytes that lie unread in one socket."""
        self._log, self._unread = log, unread
        self._timer: asyncio.TimerHandle | None = None
        self._begin()

    def start(self) -> None:
        """Begin to watch the running loop."""
        self._begin()
        self._arm()

    def stop(self) -> None:
        """End, with a last mark."""
        if self._timer is not None:
            self._timer.cancel()
            self._mark(time.perf_counter_ns())

    def _begin(self) -> None:
        self._since_ns, self._loop_ns, self._cpu_ns = (
            time.perf_counter_ns(),
            time.thread_time_ns(),
            time.process_time_ns(),
        )
        self._most_ns = self._lost_ns = self._read_ahead = 0

    def _arm(self) -> None:
        self._due_ns = time.perf_counter_ns() + int(TICK_S * 1e9)
        self._timer = asyncio.get_running_loop().call_later(TICK_S, self._tick)

    def _tick(self) -> None:
        now_ns = time.perf_counter_ns()
        late_ns = max(0, now_ns - self._due_ns)
        self._most_ns = max(self._most_ns, late_ns)
        self._lost_ns += late_ns if late_ns > LATE_NS else 0
        self._read_ahead = max(self._read_ahead, self._unread())
        if now_ns - self._since_ns >= MARK_NS:
            self._mark(now_ns)
        self._arm()

    def _mark(self, now_ns: int) -> None:
        what: dict[str, Any] = {
            "span_ns": now_ns - self._since_ns,
            "loop_ns": time.thread_time_ns() - self._loop_ns,
            "cpu_ns": time.process_time_ns() - self._cpu_ns,
            "lag_ns": self._most_ns,
            "lost_ns": self._lost_ns,
            "read_ahead": self._read_ahead,
            "log_waits": self._log.waits,
        }
        self._log.mark(mark="client", **what)
        self._begin()
