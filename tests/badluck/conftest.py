"""The tool in an empty folder, and a scripted server that answers each prompt as its text asks."""

import os
import ssl
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "capture"))  # the server of bytes is shared with that room

from luck import CLAIM, MODELS, NOT_FOUND, TRIAL_TOKENS, WARMUP_TOKENS, Answer, Tool, good
from rawserver import Asked, Peer, RawServer, raw_server, self_signed


def _tool(folder: Path) -> Tool:
    cwd = folder / "work"
    cwd.mkdir()
    (cwd / "claim.yaml").write_text(CLAIM)
    dropped = ("AUDIT_", "SSL_CERT")
    tool = Tool(cwd, {name: value for name, value in os.environ.items() if not name.startswith(dropped)})
    tool.prompts("good")
    return tool


@pytest.fixture
def tool(tmp_path: Path) -> Iterator[Tool]:
    """The tool in an empty folder with a small claim and one prompt that is answered well."""
    with closing(_tool(tmp_path)) as tool:
        yield tool


@pytest.fixture(scope="module")
def module_tool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tool]:
    """The same for all tests of a module."""
    with closing(_tool(tmp_path_factory.mktemp("module"))) as tool:
        yield tool


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ssl.SSLContext]:
    """A certificate for 127.0.0.1 that nobody signed, and the context of a server that shows it."""
    return self_signed(tmp_path_factory.mktemp("certificate"))


Model = Callable[..., RawServer]


def _start(
    stack: ExitStack,
    get: Mapping[str, bytes] | None = None,
    trial: Answer = good,
    warmup: Answer = good,
    server: Mapping[str, Any] | None = None,
    **answers: Answer,
) -> RawServer:
    def choose(asked: Asked) -> Answer:
        length = asked.json.get("max_tokens")
        if length == TRIAL_TOKENS:
            return trial
        if length == WARMUP_TOKENS:
            return warmup
        text = asked.body.decode()
        return next((one for name, one in answers.items() if f"<{name}>" in text), good)

    async def handle(peer: Peer) -> None:
        while asked := await peer.asked():
            if asked.method == "GET" or "max_tokens" not in asked.json:
                said = {"/v1/models": MODELS, **(get or {})}.get(asked.target, NOT_FOUND)
                await peer.send(said)
                if b"\r\n\r\n" not in said:  # half a head
                    return
            else:
                await choose(asked)(peer, asked)
            if peer.writer.is_closing():
                return

    return stack.enter_context(raw_server(handle, **(server or {})))


@pytest.fixture
def model() -> Iterator[Model]:
    """`model(name=answer, ...)` starts a server that gives this answer to measured prompts of this name.

    `get` answers GETs by path, `trial` and `warmup` the requests before the measured ones; all others are good.
    `server` goes to `raw_server`.
    """
    with ExitStack() as stack:
        yield partial(_start, stack)


@pytest.fixture(scope="module")
def module_model() -> Iterator[Model]:
    """The same for all tests of a module."""
    with ExitStack() as stack:
        yield partial(_start, stack)
