"""A client that is too slow says so, and one that is not says that too: measured on real sockets and a real event loop."""

import asyncio
import time
from contextlib import suppress

import pytest
from rawserver import LAST_CHUNK, STREAM_HEAD, Peer, chunked, delta, event, last, raw_server

from auditor.capture.selfwatch import SelfWatch
from auditor.core.checks.client import slow
from auditor.core.counting.client import client_loads

TOKENS = 60


async def answer(peer: Peer) -> None:
    """Some tokens over a second and a half."""
    await peer.asked()
    await peer.send(STREAM_HEAD)
    for index in range(TOKENS):
        await peer.send(*chunked(event(delta(f"t{index} "))))
        await asyncio.sleep(1.5 / TOKENS)
    await peer.send(*chunked(event(last(tokens=TOKENS)), event(b"[DONE]")), LAST_CHUNK)


@pytest.mark.parametrize("stall_s", [0.0, 0.2], ids=["quick", "stalled"])
def test_a_stalled_event_loop_is_seen(stall_s, capture):
    async def stall() -> None:
        while True:
            time.sleep(stall_s)  # holds the loop up, as a busy client does
            await asyncio.sleep(0.05)

    async def measure(c) -> None:
        watch = SelfWatch(c.log, c.transport.unread)
        stalling = asyncio.ensure_future(stall()) if stall_s else None
        watch.start()
        told = {"purpose": "measure", "cell": "subject", "repeat": 0, "due_ns": time.perf_counter_ns()}
        await c.send(told)
        watch.stop()
        if stalling:
            stalling.cancel()
            with suppress(asyncio.CancelledError):
                await stalling

    with raw_server(answer) as server:
        found = capture(server.url, measure)
    (load,) = client_loads(found.evidence, ["subject"])
    assert load.span_ns > 10**9
    assert load.queue_p99_ns is not None
    why = slow(load, is_open=False)
    if stall_s:
        assert load.lag_ns > 100_000_000
        assert why is not None
        assert "was late by more than 10 ms" in why
    else:
        assert why is None, load
    (exchange,) = found.evidence.exchanges
    assert exchange.how == "complete", "a slow client loses nothing"
