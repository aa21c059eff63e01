"""`audit` in a process of its own, and answers to give it."""

import json
import multiprocessing
import multiprocessing.context
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import zstandard
from rawserver import LAST_CHUNK, STREAM_HEAD, Asked, Peer, chunked, delta, event, last, plain

from auditor.cli import main

Forked = multiprocessing.context.ForkServerProcess
Answer = Callable[[Peer, Asked], Awaitable[object]]
TRIAL_TOKENS, WARMUP_TOKENS, TOKENS = 4, 48, 60
"""Lengths by which the server tells the requests apart: field negotiation, warm-up, measured."""
CLAIM = "schema: 1\nid: small\ntitle: A small claim\nreported: {value: 100, basis: decode, streams: 1}\n"
MODELS = plain(json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode())
NOT_FOUND = plain(b'{"detail":"Not Found"}', "404 Not Found")


def words(count: int) -> list[bytes]:
    """The events of a good answer, without its end."""
    return [event(delta(f"word{index} ")) for index in range(count)]


async def good(peer: Peer, asked: Asked) -> None:
    """An answer of the length that was asked for."""
    count = asked.json["max_tokens"]
    await peer.send(STREAM_HEAD, *chunked(*words(count), event(last(tokens=count)), event(b"[DONE]")), LAST_CHUNK)


def answer(*pieces: bytes, pause_s: float = 0.0, close: bool = True) -> Answer:
    """An answer of these bytes, after which the connection is closed."""

    async def send(peer: Peer, asked: Asked) -> None:
        await peer.send(*pieces, pause_s=pause_s)
        if close:
            peer.writer.close()

    return send


FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["auditor.cli.run", "auditor.index", "auditor.report.page", "auditor.report.text", "luck"])
ENDS_WITHIN_S = 90


def _as_audit(
    arguments: Sequence[str], cwd: Path, env: dict[str, str], said: Sequence[Path], limit: int | None
) -> None:
    """Be `audit`."""
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    for number, path in enumerate(said, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
    sys.argv = ["audit", *arguments]
    # Whatever a background job inherits, Ctrl-C is to arrive.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if limit is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    main()


@dataclass
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str
    cwd: Path

    @property
    def folders(self) -> list[Path]:
        """All run folders."""
        return sorted(path for path in self.cwd.glob("reports/*/*") if path.is_dir())

    @property
    def folder(self) -> Path:
        """The one run folder."""
        (folder,) = self.folders
        return folder

    def document(self, name: str) -> Any:
        """A JSON file of the run folder."""
        return json.loads((self.folder / name).read_bytes())

    def line(self, code: int) -> str:
        """The one line of an expected end with this code; fails when more was said."""
        assert "Traceback" not in self.err
        assert self.code == code, (self.code, self.out, self.err)
        (line,) = self.err.splitlines()
        assert line.startswith("audit: ")
        return line.removeprefix("audit: ")

    def everything(self) -> bytes:
        """All bytes that the command left or said, the wire log decompressed."""
        parts = [self.out.encode(), self.err.encode()]
        for path in self.cwd.rglob("*"):
            if path.is_file() and path.name != "prompts.jsonl":
                data = path.read_bytes()
                parts += [str(path).encode(), data]
                if path.name == "wire.zst":
                    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
                    parts.append(reader.read())
        return b"\n".join(parts)


@dataclass
class Tool:
    """Runs `audit` in a folder of its own."""

    cwd: Path
    env: dict[str, str]
    started: list["Forked"] = field(default_factory=list)

    def arguments(self, url: str, *more: str, tokens: int = TOKENS) -> list[str]:
        """A short run of one prompt against the server."""
        few = ["--tokens", str(tokens), "--repeats", "1", "--prompts", "prompts.jsonl", "--no-suite", "--no-canaries"]
        return ["run", "claim.yaml", "--server", url, *few, *more]

    def prompts(self, *names: str) -> None:
        """The prompts to measure: the name that the server looks for, within a sentence."""
        lines = [json.dumps({"prompt": f"Tell me about <{name}> at length."}) for name in names]
        (self.cwd / "prompts.jsonl").write_text("\n".join(lines))

    def __call__(self, *arguments: str, **more: Any) -> Ran:
        """Run `audit` to its end."""
        return self.end(self.start(*arguments, **more))

    def start(self, *arguments: str, env: dict[str, str] | None = None, limit: int | None = None) -> "Forked":
        """Start `audit`, forked from a process that has imported it already; `limit` is for the size of files."""
        said = (self.cwd.parent / "out", self.cwd.parent / "err")
        process = FORKS.Process(target=_as_audit, args=(arguments, self.cwd, {**self.env, **(env or {})}, said, limit))
        process.start()
        self.started.append(process)
        return process

    def end(self, process: "Forked") -> Ran:
        """Wait for its end."""
        process.join(ENDS_WITHIN_S)
        assert process.exitcode is not None, "it does not end"
        return Ran(process.exitcode, *((self.cwd.parent / name).read_text() for name in ("out", "err")), self.cwd)

    def run(self, *command: str, env: dict[str, str] | None = None) -> Ran:
        """Run any command to its end; `$AUDIT` is the tool."""
        settings = {**self.env, "AUDIT": f"{sys.executable} -m auditor", **(env or {})}
        ran = subprocess.run(
            command, cwd=self.cwd, env=settings, capture_output=True, text=True, timeout=ENDS_WITHIN_S, check=False
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr, self.cwd)

    def run_code(self, code: str, *arguments: str, env: dict[str, str] | None = None) -> Ran:
        """Run Python with this code to its end."""
        return self.run(sys.executable, "-c", code, *arguments, env=env)

    def close(self) -> None:
        """End what a test that failed left running."""
        for process in self.started:
            process.kill()
            process.join()
            process.close()
