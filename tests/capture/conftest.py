"""Certificates for loopback, and a capturing client that notes what it did."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from rawserver import self_signed

from auditor.capture.access import access_to
from auditor.capture.stream import CapturingTransport, Flight
from auditor.capture.striking import Striker
from auditor.capture.wirelog import WireWriter
from auditor.core.counting.evidence import Evidence, assemble
from auditor.core.wire.log import WireLog, read_wire


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A certificate for 127.0.0.1 that nobody signed, and the context of a server that shows it."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


@dataclass
class Captured:
    """What a capture left behind."""

    log: WireLog
    evidence: Evidence
    result: Any


@dataclass
class Capturing:
    """A capturing client in use."""

    client: httpx.AsyncClient
    transport: CapturingTransport
    log: WireWriter
    url: str

    async def post(self, body: dict[str, Any] | None = None, **flight: Any) -> httpx.Response:
        """POST the body to the server, with a flight of these settings, and read the answer to its end."""
        told = {"flight": Flight({"purpose": "measure"}, **flight)}
        return await self.client.post(f"{self.url}/v1/x", json=body or {"a": 1}, extensions=told)

    async def send(self, meta: dict[str, Any]) -> httpx.Response:
        """POST to the server as a request of a plan that this is written beside."""
        return await self.client.post(f"{self.url}/v1/x", json={}, extensions={"flight": Flight(meta)})


Capture = Callable[..., Captured]


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    """`capture(url, do)` runs `do(capturing)` over a capturing client and reads the log back."""

    def run(
        url: str,
        do: Callable[[Capturing], Awaitable[Any]],
        *,
        api_key: str | None = None,
        secrets: tuple[str, ...] = (),
    ) -> Captured:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.zst"

        async def go() -> Any:
            access = access_to(url, api_key=api_key)
            log = WireWriter(path, striker=Striker((*secrets, *access.secrets)))
            log.start()
            client, transport = access.capturing_client(log)
            try:
                async with client:
                    return await do(Capturing(client, transport, log, access.url))
            finally:
                await log.close()

        result = asyncio.run(go())
        log = read_wire(path)
        return Captured(log, assemble(log.records, log.damage), result)

    return run
