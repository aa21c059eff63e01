"""Writes the wire log: records are appended on the hot path and compressed to disk twice a second by a thread."""

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from auditor.capture.striking import Striker
from auditor.core.wire.log import HEAD, Kind, frame_of
from auditor.errors import AuditError

FLUSH_S = 0.5
"""Most seconds between frames: a killed process loses no more than this."""
TURN_S = 0.05
"""Seconds between looks at what waits."""
SMALL_FRAME = 1 << 18
"""Bytes that are written before their time, so that no write is long."""
FRAME_BYTES = 8 << 20
"""About the most that one frame holds, uncompressed."""
MOST_HELD = 1 << 28
"""Bytes that may wait for the writer; beyond that the event loop waits for it, and the servers for the event loop."""
_CLOCK_SAMPLES = 50


class WireWriter:
    """An append-only wire log. One event loop adds; nothing is parsed and nothing is written while adding."""

    def __init__(self, path: Path, *, striker: Striker | None = None) -> None:
        self.path = path
        self.failure: AuditError | None = None
        """Why nothing is written any more; None while all is well."""
        self._striker = striker or Striker(())
        self.waits = 0
        """How often the event loop waited for the writer."""
        self._pending = bytearray()
        self._batches: deque[bytearray] = deque()
        self._writing = threading.Lock()
        self._executor = ThreadPoolExecutor(1, "wirelog", initializer=_give_way)
        self._exchanges = 0
        self._size = 0
        self._flusher: asyncio.Task[None] | None = None
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except OSError as error:
            raise AuditError(f"the wire log cannot be written ({error.strerror})", where=str(path)) from error
        self.clock()

    def new_exchange(self) -> int:
        """The id of the next exchange, from 1."""
        self._exchanges += 1
        return self._exchanges

    def add(self, kind: Kind, exchange: int, t_ns: int, payload: bytes = b"", kernel_ns: int = 0) -> None:
        """Keep one record for the next frame."""
        self._pending += HEAD.pack(kind, exchange, t_ns, kernel_ns, len(payload))
        self._pending += payload
        if len(self._pending) > FRAME_BYTES:
            self._hand_over()
            if len(self._batches) * FRAME_BYTES > MOST_HELD:
                self.waits += 1
                self._write_batches()

    def add_json(self, kind: Kind, exchange: int, t_ns: int, value: dict[str, Any]) -> None:
        """Keep one record whose payload is JSON."""
        self.add(kind, exchange, t_ns, orjson.dumps(value))

    def add_answer(self, exchange: int, reads: Sequence[tuple[int, int, bytes]]) -> None:
        """Keep the reads of an answer, or of its beginning: times and bytes. A secret may be cut by their borders."""
        struck = self._striker.in_answer([data for _, _, data in reads])
        for (t_ns, kernel_ns, _), data in zip(reads, struck, strict=True):
            self.add(Kind.READ, exchange, t_ns, data, kernel_ns)

    def mark(self, **what: Any) -> None:
        """Keep a moment of the run."""
        self.add_json(Kind.MARK, 0, time.perf_counter_ns(), what)

    def clock(self) -> None:
        """Relate the monotonic clock to the realtime clock of the kernel's stamps."""
        best = (1 << 62, 0, 0)
        for _ in range(_CLOCK_SAMPLES):
            before, realtime, after = time.perf_counter_ns(), time.time_ns(), time.perf_counter_ns()
            best = min(best, (after - before, (before + after) // 2, realtime))
        bracket, monotonic, realtime = best
        self.add(Kind.CLOCK, 0, monotonic, orjson.dumps({"error_ns": (bracket + 1) // 2}), realtime)

    def start(self) -> None:
        """Flush twice a second until `close`."""
        self._flusher = asyncio.get_running_loop().create_task(self._flush_for_ever())

    async def _flush_for_ever(self) -> None:
        last_s = time.monotonic()
        while True:
            await asyncio.sleep(min(TURN_S, FLUSH_S))
            now_s = time.monotonic()
            if now_s - last_s >= FLUSH_S:
                last_s = now_s
                self.clock()
                await self.flush()
            elif len(self._pending) > SMALL_FRAME:
                await self.flush()

    async def flush(self) -> None:
        """Write what was kept, as one frame; a failure is remembered and stops all writing."""
        self._hand_over()
        await asyncio.get_running_loop().run_in_executor(self._executor, self._write_batches)

    def _hand_over(self) -> None:
        """Give the writer what was kept. Runs in the event loop, so that nothing is added meanwhile."""
        if self._pending:
            self._batches.append(self._pending)
            self._pending = bytearray()

    def _write_batches(self) -> None:
        """Write all batches, whichever thread comes first: one whose wait was given up loses none."""
        with self._writing:
            while self._batches:
                batch = self._batches.popleft()
                if not self.failure:
                    self._write(batch)

    def _write(self, batch: bytearray) -> None:
        """Write one frame, or what fits of it in smaller ones."""
        try:
            self._write_frame(batch)
        except OSError as error:
            with suppress(OSError):  # a torn last frame is read as one
                os.ftruncate(self._file, self._size)
                os.lseek(self._file, self._size, os.SEEK_SET)
            starts = [at for at, _ in _payloads(batch)]
            middle = starts[len(starts) // 2] - HEAD.size
            for part in (batch[:middle], batch[middle:]) if middle else ():
                if not self.failure:
                    self._write(part)
            if not middle:
                self.failure = AuditError(
                    f"the wire log can no longer be written ({error.strerror})",
                    where=str(self.path),
                    remedy="free some space; what was measured before is kept and `audit judge` reads it",
                )

    def _write_frame(self, batch: bytearray) -> None:
        if self._striker.has_secrets:
            self._strike(batch)
        data = frame_of(batch, first=self._size == 0)
        written = 0
        while written < len(data):
            written += os.write(self._file, data[written:])
        self._size += len(data)

    def _strike(self, batch: bytearray) -> None:
        """Strike out secrets, a star for each byte, also where one spans two reads of an exchange."""
        reads: dict[int, list[tuple[int, int]]] = {}
        others: list[list[tuple[int, int]]] = []
        for start, end in _payloads(batch):
            kind, exchange, *_ = HEAD.unpack_from(batch, start - HEAD.size)
            if kind == Kind.READ:
                reads.setdefault(exchange, []).append((start, end))
            else:
                others.append([(start, end)])
        for group in (*reads.values(), *others):
            payloads = [bytes(batch[start:end]) for start, end in group]
            for (start, end), payload in zip(group, self._striker.in_reads(payloads), strict=True):
                batch[start:end] = payload

    async def close(self) -> None:
        """Write the rest and close the file."""
        if self._flusher is not None:
            self._flusher.cancel()
            await asyncio.gather(self._flusher, return_exceptions=True)
        self.clock()
        self._executor.shutdown()
        self._hand_over()
        self._write_batches()
        os.close(self._file)


def _payloads(batch: bytearray) -> Iterator[tuple[int, int]]:
    """Where the payload of each record begins and ends."""
    at = 0
    while at < len(batch):
        *_, length = HEAD.unpack_from(batch, at)
        start = at + HEAD.size
        at = start + length
        yield start, at


def _give_way() -> None:
    """Let the event loop go before the thread that writes, also on one core; where the system can."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 10)
