"""Writes the wire log: records are appended on the hot path and compressed to disk twice a second by a thread."""

import asyncio
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson

from auditor.core.wire import Kind, WireRecord, frame
from auditor.errors import AuditError

FLUSH_S = 0.5
"""Seconds between frames: a killed process loses no more than this."""
_CLOCK_SAMPLES = 50


class WireWriter:
    """An append-only wire log. One event loop adds; nothing is parsed and nothing is written while adding."""

    def __init__(self, path: Path, *, secrets: Iterable[str] = ()) -> None:
        self.path = path
        self.failure: AuditError | None = None
        """Why nothing is written any more; None while all is well."""
        self._secrets = [(word.encode(), b"*" * len(word.encode())) for word in secrets if word]
        self._pending: list[tuple[Kind, int, int, int, bytes]] = []
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
        self._pending.append((kind, exchange, t_ns, kernel_ns, payload))

    def add_json(self, kind: Kind, exchange: int, t_ns: int, value: dict[str, Any]) -> None:
        """Keep one record whose payload is JSON."""
        self.add(kind, exchange, t_ns, orjson.dumps(value))

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
        while True:
            await asyncio.sleep(FLUSH_S)
            self.clock()
            await asyncio.to_thread(self.flush)

    def flush(self) -> None:
        """Write what was kept, as one frame; a failure is remembered and stops all writing."""
        pending, self._pending = self._pending, []
        if not pending or self.failure:
            return
        records = [WireRecord(kind, exchange, t, k, self._struck(payload)) for kind, exchange, t, k, payload in pending]
        data = frame(records, first=self._size == 0)
        try:
            written = 0
            while written < len(data):
                written += os.write(self._file, data[written:])
            self._size += len(data)
        except OSError as error:
            os.ftruncate(self._file, self._size)
            self.failure = AuditError(
                f"the wire log can no longer be written ({error.strerror})",
                where=str(self.path),
                remedy="free some space; what was measured before is kept and `audit judge` reads it",
            )

    def _struck(self, payload: bytes) -> bytes:
        for secret, stars in self._secrets:
            if secret in payload:
                payload = payload.replace(secret, stars)
        return payload

    async def close(self) -> None:
        """Write the rest and close the file."""
        if self._flusher is not None:
            self._flusher.cancel()
            await asyncio.gather(self._flusher, return_exceptions=True)
        self.clock()
        await asyncio.to_thread(self.flush)
        os.close(self._file)
