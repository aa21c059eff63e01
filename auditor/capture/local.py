"""The embedded server: a small model on this machine's processor, for rehearsals.

A rehearsal proves the counting, never the hardware. The server is llama.cpp in a process of its own, started here,
watched and stopped; what it was started with is handed on in `LocalServer.launched`, because llama.cpp itself says
`speculative.types: none` on a server that speculates and never tells its draft width.
"""

import importlib.metadata
import importlib.util
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

from auditor.capture.gguf import file_sha256, find_gguf
from auditor.errors import ServerError, UsageError

Speculation = Literal["none", "ngram", "draft"]

DRAFT_TOKENS: Mapping[Speculation, int] = {"none": 0, "ngram": 8, "draft": 4}
"""Most tokens proposed per step, unless asked otherwise."""
NGRAM_SIZE = 3
"""Tokens that must repeat before the n-gram drafter proposes what followed them."""
METHODS: Mapping[Speculation, str] = {"none": "none", "ngram": "ngram-simple", "draft": "draft-simple"}
"""The names llama.cpp has for them."""
START_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 10.0


@dataclass(frozen=True, slots=True)
class LocalSettings:
    """What an embedded server is started with."""

    gguf: Path
    model: str
    """The name it answers to."""
    speculation: Speculation
    draft: Path | None
    """The draft model's GGUF; None without a draft model."""
    draft_tokens: int
    """Most tokens proposed per step; 0 without speculation."""
    context: int
    """Tokens per stream, prompt and answer together."""
    parallel: int
    """Streams served at once."""
    threads: int
    port: int
    """0 takes a free one."""
    synthetic_length: float | None = None
    """Mean length to which acceptance is forced, for tests of what finds it; the output is then not valid."""

    def launched(self) -> dict[str, Any]:
        """What no endpoint of the server tells, for the adapter: facts by name, threads and digests beside them."""
        return {
            "speculation": self.speculation != "none",
            "speculation_method": METHODS[self.speculation],
            "draft_tokens": self.draft_tokens,
            "acceptance_mode": "standard" if self.synthetic_length is None else "synthetic",
            "gpu": "none, this machine's processor",
            "gpu_count": 0,
            "threads": self.threads,
            "gguf": self.gguf.name,
            "gguf_sha256": file_sha256(self.gguf),
            "draft_gguf": self.draft.name if self.draft else None,
            "xllamacpp": importlib.metadata.version("xllamacpp"),
        }

    def child_json(self, *, attached: bool) -> str:
        """The argument of `auditor.capture.local_server`."""
        return json.dumps(
            {
                "gguf": str(self.gguf),
                "model": self.model,
                "speculation": self.speculation,
                "draft": str(self.draft) if self.draft else None,
                "draft_tokens": self.draft_tokens,
                "ngram_size": NGRAM_SIZE,
                "context": self.context,
                "parallel": self.parallel,
                "threads": self.threads,
                "port": self.port,
                "synthetic_length": self.synthetic_length,
                "attached": attached,
            },
            sort_keys=True,
        )


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A running embedded server; as a context manager it stops at the end of the block."""

    url: str
    pid: int
    settings: LocalSettings
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def model(self) -> str:
        """The name it answers to."""
        return self.settings.model

    @property
    def launched(self) -> dict[str, Any]:
        """What no endpoint of the server tells; see `LocalSettings.launched`."""
        return self.settings.launched()

    @property
    def is_running(self) -> bool:
        """Whether the process lives."""
        return self.process.poll() is None

    def stop(self) -> None:
        """End the process; harmless when it has ended."""
        if self.process.stdin:
            self.process.stdin.close()
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


def local_settings(
    *,
    speculation: Speculation = "none",
    gguf: str | os.PathLike[str] | None = None,
    draft: str | os.PathLike[str] | None = None,
    draft_tokens: int | None = None,
    context: int = 4096,
    parallel: int = 1,
    threads: int = 1,
    port: int = 0,
) -> LocalSettings:
    """Settings with every default filled in; raises UsageError for what cannot be served.

    Without `draft`, speculation by draft model takes the model as its own draft: nearly everything is accepted and
    it is slower than none, which is what a rehearsal of the counting needs. One thread, because two collapse on a
    busy machine.
    """
    model = find_gguf(gguf)
    for name, value, least in (("context", context, 64), ("parallel", parallel, 1), ("threads", threads, 1)):
        if value < least:
            raise UsageError(f"{name} is {value}", remedy=f"give {least} or more")
    if not 0 <= port <= 65535:
        raise UsageError(f"port is {port}", remedy="give 0 (any free port) to 65535")
    width = DRAFT_TOKENS[speculation] if draft_tokens is None else draft_tokens
    if speculation == "none":
        if draft is not None or draft_tokens is not None:
            raise UsageError("a draft without speculation", remedy="give --speculation draft or ngram as well")
    elif not 1 <= width <= 64:
        raise UsageError(f"draft tokens are {width}", remedy="give 1 to 64")
    drafter = (model if draft is None else find_gguf(draft)) if speculation == "draft" else None
    if draft is not None and drafter is None:
        raise UsageError("a draft model with n-gram speculation", remedy="give --speculation draft, or no draft model")
    return LocalSettings(
        gguf=model,
        model=model.stem,
        speculation=speculation,
        draft=drafter,
        draft_tokens=width,
        context=context,
        parallel=parallel,
        threads=threads,
        port=port,
    )


def start_local(
    settings: LocalSettings, *, log: Path, attached: bool = True, start_timeout_s: float = START_TIMEOUT_S
) -> LocalServer:
    """Start the server and wait until its model is loaded.

    `log` receives what llama.cpp says. Attached, the server ends with this process however that ends; otherwise it
    runs on. Raises UsageError where xllamacpp is missing and ServerError, with the log's words, where the start
    fails or takes longer than `start_timeout_s` seconds.
    """
    if importlib.util.find_spec("xllamacpp") is None:
        raise UsageError("the embedded server needs xllamacpp", remedy="run `pip install 'auditor[local]'`")
    command = [sys.executable, "-m", "auditor.capture.local_server", settings.child_json(attached=attached)]
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as sink:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE if attached else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=sink,
                start_new_session=True,
            )
    except OSError as error:
        raise ServerError(f"could not start the embedded server: {error}", where=str(log)) from None
    url = _ready_line(process, start_timeout_s)
    server = LocalServer(url=url, pid=process.pid, settings=settings, log=log, process=process)
    if not url:
        server.stop()
        raise ServerError(f"the embedded server did not start: {_cause(log)}", where=str(log))
    return server


def _ready_line(process: "subprocess.Popen[bytes]", timeout_s: float) -> str:
    """The address that the child prints; empty when it died. Raises ServerError when it takes too long."""
    assert process.stdout is not None
    stdout, lines = process.stdout, list[bytes]()
    reader = threading.Thread(target=lambda: lines.append(stdout.readline()), daemon=True)
    reader.start()
    try:
        reader.join(timeout_s)
    finally:
        is_late = reader.is_alive()
        if is_late:
            process.kill()
        reader.join()
        stdout.close()
    if is_late:
        process.communicate()
        raise ServerError(f"the embedded server was not ready after {timeout_s:g} s", remedy="try a smaller model")
    return lines[0].decode().strip()


def _cause(log: Path) -> str:
    """The first error of llama.cpp's log, else its last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line.split(" E ", 1)[1].strip() for line in lines if " E " in line]
    return (errors or lines[-1:] or ["it said nothing"])[0]


def as_document(server: LocalServer) -> dict[str, Any]:
    """The server as a JSON object: what `audit local` prints and keeps."""
    settings = server.settings
    return {
        "url": server.url,
        "pid": server.pid,
        "model": settings.model,
        "speculation": settings.speculation,
        "draft_tokens": settings.draft_tokens or None,
        "context": settings.context,
        "parallel": settings.parallel,
        "threads": settings.threads,
        "gguf": str(settings.gguf),
        "gguf_sha256": file_sha256(settings.gguf),
        "draft_gguf": str(settings.draft) if settings.draft else None,
        "log": str(server.log),
    }
