"""Sends the plan: round by round, with so many streams in flight, between two scrapes of the server's counters."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httpx

from auditor.capture.asking import Target, body_of, error_words
from auditor.capture.stream import Flight
from auditor.capture.wirelog import WireWriter
from auditor.core.counters import Counters
from auditor.core.plan import Plan, Request, Round, schedule

MAX_ATTEMPTS = 5
"""How often a request that the server puts off (429, 503) is sent."""
LONGEST_WAIT_S = 60.0
GIVE_UP_AFTER = 3
"""Requests that fail one after the other before the run is given up."""
DRAIN_TRIES = 50
DRAIN_PAUSE_S = 0.1
_PUT_OFF = (429, 503)


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
    last_failure: str = ""


class StoppedError(Exception):
    """The replay ended before the plan did; the words say why."""


async def replay(plan: Plan, targets: Mapping[str, Target], log: WireWriter, monitor: Monitor) -> str | None:
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
                await _round(one, plan, targets[one.cell.server], log, monitor)
        log.mark(mark="end")
    except StoppedError as why:
        stopped = str(why)
    except TimeoutError:
        stopped = f"the time limit of {limit_s:.0f} s was reached"
    except asyncio.CancelledError:
        stopped = "interrupted"
    if stopped:
        log.mark(mark="stopped", why=stopped)
    return stopped


@asynccontextmanager
async def _quiet_collector() -> AsyncIterator[None]:
    """No garbage collection while tokens arrive."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


async def _round(one: Round, plan: Plan, target: Target, log: WireWriter, monitor: Monitor) -> None:
    monitor.cell = one.cell.key
    await target.transport.open_ahead(httpx.URL(target.url), one.cell.streams)
    await _scrape(target, one, "before")
    waiting = iter(one.requests)

    async def stream() -> None:
        # One coroutine per stream: the next request goes out when the last has ended (closed loop).
        for request in waiting:
            await _send(request, plan, target, log, monitor)

    try:
        async with asyncio.TaskGroup() as streams:
            for _ in range(min(one.cell.streams, len(one.requests))):
                streams.create_task(stream())
    except* StoppedError as group:
        raise group.exceptions[0] from None
    finally:
        await asyncio.shield(_drain(target, one))
    gc.collect()


async def _send(request: Request, plan: Plan, target: Target, log: WireWriter, monitor: Monitor) -> None:
    """Send one request, again while the server puts it off; raises StoppedError when too many fail in a row."""
    problem = "the server put it off too often"
    for attempt in range(MAX_ATTEMPTS):
        if log.failure:
            raise StoppedError(str(log.failure))
        status, words, wait_s = await _once(request, attempt, plan, target, monitor)
        if status == 200 and words is None:
            monitor.failures_in_a_row = 0
            break
        problem = words or f"HTTP {status}"
        if status not in _PUT_OFF:
            _note_failure(monitor, problem)
            break
        await asyncio.sleep(min(LONGEST_WAIT_S, wait_s if wait_s is not None else 2.0**attempt))
    else:
        _note_failure(monitor, problem)
    monitor.finished_requests += 1
    monitor.finished_tokens += request.max_tokens


def _note_failure(monitor: Monitor, problem: str) -> None:
    monitor.failures_in_a_row += 1
    monitor.last_failure = problem
    if monitor.failures_in_a_row >= GIVE_UP_AFTER:
        raise StoppedError(f"{GIVE_UP_AFTER} requests failed in a row; the last: {problem}")


async def _once(
    request: Request, attempt: int, plan: Plan, target: Target, monitor: Monitor
) -> tuple[int | None, str | None, float | None]:
    """Status, what went wrong, and how long the server asks to wait."""
    cell = plan.cell(request.cell)
    flight = Flight(
        {
            "purpose": "warmup" if cell.role == "warmup" else "measure",
            "cell": request.cell,
            "repeat": request.repeat,
            "index": request.index,
            "prompt": request.prompt.id,
            "attempt": attempt,
        },
        first_token_ns=plan.stop.first_token_ns,
        stall_ns=plan.stop.stall_ns,
    )
    body = body_of(request, plan, target.facts)
    outgoing = target.client.build_request("POST", target.url, json=body, extensions={"flight": flight})
    monitor.flights[id(flight)] = flight
    try:
        response = await target.client.send(outgoing, stream=True)
        try:
            data = await response.aread()
        finally:
            await response.aclose()
    except httpx.TransportError as error:
        return None, str(error) or type(error).__name__, None
    finally:
        del monitor.flights[id(flight)]
    if response.status_code != 200:
        return response.status_code, error_words(data), _retry_after_s(response)
    return 200, None, None


def _retry_after_s(response: httpx.Response) -> float | None:
    """Retry-After in seconds; a date there is not worth a parser."""
    value = response.headers.get("retry-after", "")
    return float(value) if value.isdigit() else None


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
    except (httpx.TransportError, ValueError):
        return None


async def _drain(target: Target, one: Round) -> None:
    """Scrape until nothing is running: some servers count a request only when it ends."""
    for _ in range(DRAIN_TRIES):
        counters = await _scrape(target, one, "after")
        if counters is None or not counters.running:
            return
        await asyncio.sleep(DRAIN_PAUSE_S)
