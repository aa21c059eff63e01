"""Ctrl-C and SIGTERM while requests are in flight: the first ends the replay, the second ends the tool."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def interruptible(first: Callable[[], object], then: Callable[[], object]) -> Iterator[None]:
    """Call `first` in the running loop at the first signal, and `then` at every later one.

    Outside the main thread, where no signal arrives, nothing is done.
    """
    loop = asyncio.get_running_loop()
    calls = [then, first]

    def on_signal(number: int, frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(calls.pop() if len(calls) > 1 else calls[0])

    before: dict[signal.Signals, Any] = {}
    try:
        for one in _SIGNALS:
            before[one] = signal.signal(one, on_signal)
    except ValueError:
        pass
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
