"""Sends the plan: round by round, with so many streams in flight, between two scrapes of the server's counters."""

import asyncio
import gc
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import httpx

from auditor.capture.asking import Target, body_of
from auditor.capture.selfwatch import SelfWatch
from auditor.capture.sending import Reply, patiently, prepared, send_prepared
from auditor.capture.stream import LIMIT_BYTES, Flight
from auditor.capture.wirelog import WireWriter
from auditor.core.counting.counters import Counters
from auditor.core.plan.plan import Plan, Request, Round, due_ns, schedule

GIVE_UP_AFTER = 3
"""Requests that fail one after the other before the run is given up."""
DRAIN_TRIES = 50
DRAIN_PAUSE_S = 0.1
STARTS = 2
"""Streams that are started before what came for the others is read."""
AHEAD_S = 0.25
"""Seconds after which a request that was taken is replaced by the next, built."""
SWITCH_S = 0.0005
"""Longest turn of another thread while the event loop has work."""
TOKEN_BYTES = 1 << 12
"""What a token may take on the wire; real ones take some 300 bytes."""


OnRound = Callable[[Round], None]
"""Called when a round is about to begin."""


@dataclass(slots=True)
class Monitor:
    """How the replay goes; for the progress display."""

    planned_tokens: int
    flights: dict[int, Flight] = field(default_factory=dict)
    """By exchange."""
    finished_requests: int = 0
    planned_requests: int = 0
    finished_tokens: int = 0
    """Requested tokens of the finished requests."""
    cell: str = ""
    started_ns: int = 0
    failures_in_a_row: int = 0
    last_failure: Reply | None = None


Send = Callable[["_Ready", int], Coroutine[Any, Any, None]]
"""Sends a built request that was due at that monotonic time, ns."""


class StoppedError(Exception):
    """The replay ended before the plan did; the words say why."""


async def replay(
    plan: Plan, targets: Mapping[str, Target], log: WireWriter, monitor: Monitor, on_round: OnRound | None = None
) -> str | None:
    """Send every round of the plan; returns why it ended early, None when it did not.

    Whatever was received until then is in the log.
    """
    rounds = schedule(plan)
    monitor.planned_requests = sum(len(one.requests) for one in rounds)
    monitor.started_ns = time.perf_counter_ns()
    limit_s = None if plan.stop.total_ns is None else plan.stop.total_ns / 1e9
    log.mark(mark="start")
    stopped = None
    try:
        async with asyncio.timeout(limit_s), _quiet_collector():
            for one in rounds:
                if on_round is not None:
                    on_round(one)
                await _round(one, plan, targets[one.cell.server], log, monitor)
        log.mark(mark="end")
    except StoppedError as why:
        stopped = str(why)
    except TimeoutError:
        stopped = f"the time limit of {limit_s:g} s was reached"
    except asyncio.CancelledError:
        stopped = "interrupted"
    if stopped:
        log.mark(mark="stopped", why=stopped)
    return stopped


@asynccontextmanager
async def _quiet_collector() -> AsyncIterator[None]:
    """No garbage collection while tokens arrive, and no long turn of the thread that writes the log."""
    was_on, before_s = gc.isenabled(), sys.getswitchinterval()
    gc.collect()
    gc.freeze()
    gc.disable()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)
        gc.unfreeze()
        if was_on:
            gc.enable()


async def _round(one: Round, plan: Plan, target: Target, log: WireWriter, monitor: Monitor) -> None:
    monitor.cell = one.cell.key
    await target.transport.open_ahead(httpx.URL(target.url), one.cell.streams)
    await _scrape(target, one, "before")
    waiting = _Ahead(one, plan, target)
    watch = SelfWatch(log, target.transport.unread)
    watch.start()

    async def send(ready: _Ready, due_ns: int) -> None:
        await _send(ready, due_ns, plan, target, log, monitor)

    try:
        async with asyncio.TaskGroup() as streams:
            if one.cell.rate is None:
                await _closed(one, waiting, send, streams)
            else:
                await _open(due_ns(plan, one.cell, one.repeat), waiting, send, streams)
    except* StoppedError as group:
        raise group.exceptions[0] from None
    finally:
        watch.stop()
        if not _is_cancelled():
            await _drain(target, one)
    gc.collect()


async def _closed(one: Round, waiting: "_Ahead", send: Send, streams: asyncio.TaskGroup) -> None:
    """A task for each stream: its next request is due when its last has ended."""

    async def stream() -> None:
        while (ready := waiting.take()) is not None:
            await send(ready, time.perf_counter_ns())

    count = min(one.cell.streams, len(one.requests))
    for start in range(0, count, STARTS):
        for _ in range(start, min(start + STARTS, count)):
            streams.create_task(stream())
        # What came meanwhile is read first: a read that waits long holds several tokens and one time.
        await asyncio.sleep(0)


async def _open(due: Sequence[int], waiting: "_Ahead", send: Send, streams: asyncio.TaskGroup) -> None:
    """A task for each request, when it is due: one that is late waits for no other, and others not for it."""
    begin_ns = time.perf_counter_ns()
    for offset_ns in due:
        left_ns = begin_ns + offset_ns - time.perf_counter_ns()
        if left_ns > 0:
            await asyncio.sleep(left_ns / 1e9)
        ready = waiting.take()
        if ready is not None:
            streams.create_task(send(ready, begin_ns + offset_ns))


@dataclass(frozen=True, slots=True)
class _Ready:
    """A planned request, built."""

    planned: Request
    built: httpx.Request


class _Ahead:
    """The requests of a round, built before their turn, so that it takes little to send one."""

    def __init__(self, one: Round, plan: Plan, target: Target) -> None:
        self._left, self._plan, self._target = iter(one.requests), plan, target
        self._ready: deque[_Ready] = deque()
        for _ in range(one.cell.streams):
            self._build()

    def take(self) -> _Ready | None:
        """The next; None when there is none left. Another is built in its place while tokens arrive."""
        if not self._ready:
            self._build()
        asyncio.get_running_loop().call_later(AHEAD_S, self._build)
        return self._ready.popleft() if self._ready else None

    def _build(self) -> None:
        planned = next(self._left, None)
        if planned is not None:
            body = body_of(planned, self._plan, self._target)
            self._ready.append(_Ready(planned, prepared(self._target.client, self._target.url, body)))


def _is_cancelled() -> bool:
    """Whether the replay was told to stop, and has no time to wait for the server."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


async def _send(ready: _Ready, due_ns: int, plan: Plan, target: Target, log: WireWriter, monitor: Monitor) -> None:
    """Send one request, again while the server puts it off; raises StoppedError when too many fail in a row."""
    if log.failure:
        raise StoppedError(str(log.failure))
    reply = await patiently(partial(_once, ready, due_ns, plan, target, monitor))
    if reply.problem is None:
        monitor.failures_in_a_row = 0
    else:
        monitor.failures_in_a_row += 1
        monitor.last_failure = reply
        if monitor.failures_in_a_row >= GIVE_UP_AFTER:
            raise StoppedError(f"{GIVE_UP_AFTER} requests failed in a row; the last: {reply.problem}")
    monitor.finished_requests += 1
    monitor.finished_tokens += ready.planned.max_tokens


async def _once(ready: _Ready, due_ns: int, plan: Plan, target: Target, monitor: Monitor, attempt: int) -> Reply:
    request = ready.planned
    cell = plan.cell(request.cell)
    flight = Flight(
        {
            "purpose": "warmup" if cell.role == "warmup" else "measure",
            "cell": request.cell,
            "repeat": request.repeat,
            "index": request.index,
            "prompt": request.prompt.id,
            "attempt": attempt,
            **({} if attempt else {"due_ns": due_ns}),
        },
        first_token_ns=plan.stop.first_token_ns,
        stall_ns=plan.stop.stall_ns,
        limit_bytes=LIMIT_BYTES + request.max_tokens * TOKEN_BYTES,
    )
    monitor.flights[id(flight)] = flight
    try:
        return await send_prepared(target.transport, ready.built, flight)
    finally:
        del monitor.flights[id(flight)]


async def _scrape(target: Target, one: Round, when: str) -> Counters | None:
    """Read the counters into the log; None where there are none to be read now."""
    url = target.metrics_url
    if url is None:
        return None
    flight = Flight(
        {"purpose": "scrape", "cell": one.cell.key, "repeat": one.repeat, "when": when}, first_token_ns=10 * 10**9
    )
    try:
        response = await target.client.get(url, extensions={"flight": flight})
        return target.adapter.counters(response.text) if response.status_code == 200 else None
    except (httpx.RequestError, ValueError):
        return None


async def _drain(target: Target, one: Round) -> None:
    """Scrape until nothing is running: some servers count a request only when it ends.

    Where such a server does not tell what is running, until two scrapes agree.
    """
    last = None
    for _ in range(DRAIN_TRIES):
        counters = await _scrape(target, one, "after")
        if counters is None or counters.running == 0:
            return
        may_lag = target.adapter.counts_at_end and not counters.is_since_last
        if counters.running is None and (not may_lag or counters == last):
            return
        last = counters
        await asyncio.sleep(DRAIN_PAUSE_S)
