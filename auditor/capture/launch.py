"""Starts the server of a recipe, waits until it can be measured, and stops all of its processes.

A server runs in a session and a process group of its own, and its environment carries a mark; so its processes are
found again by mark, by group, and by number and time of start, whatever became of the tool that started them.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import psutil

from auditor.core.sweeping.matrix import Ready
from auditor.core.sweeping.result import RowOutcome, Started
from auditor.errors import ServerError

MARK = "AUDIT_SWEEP_SERVER"
"""Name of the variable that carries the mark."""
POLL_S = 0.2
KILL_S = 10.0
"""Seconds until a killed process must be gone."""
COMMAND_S = 120.0
"""Seconds for a command that stops a server."""
_SAME_START_NS = 10**9


class LaunchError(ServerError):
    """A server that cannot be measured; `outcome` says in which way."""

    def __init__(self, outcome: RowOutcome, what: str) -> None:
        super().__init__(what)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class Command:
    """What is started."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    """The whole environment but for the mark."""
    cwd: Path
    log: Path
    """Receives standard output and error."""


def free_port() -> int:
    """A port of 127.0.0.1 that nothing uses now."""
    with closing(socket.socket()) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def refuse_taken(url: str) -> None:
    """Raises LaunchError where something answers at an address: it would be measured in the server's place."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    with suppress(OSError), closing(socket.create_connection((parts.hostname or "", port), timeout=2)):
        raise LaunchError("port-taken", f"something else answers at {url}")


def start(command: Command, mark: str) -> "subprocess.Popen[bytes]":
    """Start a server; raises LaunchError where it cannot be."""
    command.log.parent.mkdir(parents=True, exist_ok=True)
    try:
        command.log.touch(mode=0o600)  # until it is struck it may hold secrets
        with command.log.open("wb") as sink:
            return subprocess.Popen(
                command.argv,
                env={**command.env, MARK: mark},
                cwd=command.cwd,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        where = getattr(error, "filename", None) or command.argv[0]
        raise LaunchError("failed-to-start", f"{where} cannot be started: {reason}") from None


def wait_ready(process: "subprocess.Popen[bytes]", url: str, ready: Ready, headers: Mapping[str, str]) -> None:
    """Wait until the server answers its ready check; raises LaunchError where it ends before, or takes too long."""
    deadline, last = time.monotonic() + ready.timeout_s, "no answer"
    with httpx.Client(trust_env=False, timeout=5, headers=dict(headers)) as client:
        while time.monotonic() < deadline:
            if (code := process.poll()) is not None:
                raise LaunchError("failed-to-start", f"its process {exit_words(code)} before it was ready")
            try:
                status = client.get(f"{url}{ready.path}").status_code
                if status == 200:
                    return
                last = f"the last answer was status {status}"
            except httpx.HTTPError:
                last = "no answer"
            time.sleep(POLL_S)
    raise LaunchError("never-ready", f"{ready.path} was not ready after {ready.timeout_s} s: {last}")


def exit_words(code: int) -> str:
    """How a process ended, by its return code."""
    if code >= 0:
        return f"ended with code {code}"
    with suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def begun_ns(pid: int) -> int | None:
    """When the process of this number began, ns since the epoch; None where there is none."""
    try:
        return round(psutil.Process(pid).create_time() * 1e9)
    except psutil.Error:
        return None


def is_same(pid: int | None, started_ns: int | None) -> bool:
    """Whether the process of this number is the one that began at that time."""
    if pid is None or started_ns is None:
        return False
    now_ns = begun_ns(pid)
    return now_ns is not None and abs(now_ns - started_ns) < _SAME_START_NS


def running(one: Started, *, is_own: bool = False) -> list[psutil.Process]:
    """The processes of a server that still run.

    `is_own` says that this process started it: then its group cannot have become another's.
    """
    has_group = one.pid is not None and (is_own or is_same(one.pid, one.started_ns))
    found = [process for process in psutil.process_iter() if _is_of(process, one, has_group=has_group)]
    below = [child for process in found for child in _below(process)]
    return list(dict.fromkeys([*found, *below]))


def _below(process: psutil.Process) -> list[psutil.Process]:
    """What a process started that runs, also where it left the group and cleared its environment."""
    try:
        return [child for child in process.children(recursive=True) if _lives(child)]
    except psutil.Error:
        return []


def _is_of(process: psutil.Process, one: Started, *, has_group: bool) -> bool:
    try:
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        if has_group and os.getpgid(process.pid) == one.pid:
            return True
        return process.environ().get(MARK) == one.mark
    except (psutil.Error, OSError):
        return False


def stop(one: Started, *, is_own: bool = False, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> None:
    """End every process of a server; raises ServerError where one does not end.

    An interruption while it has its grace ends the grace, and not the stopping.
    """
    known = running(one, is_own=is_own)
    try:
        _run(one.stop.argv, env, cwd)
        _end(known, one.stop.signal, one.stop.grace_s)
    finally:
        for _ in range(3):  # one that starts others while it is ended
            known = list(dict.fromkeys([*known, *running(one, is_own=is_own)]))
            _end(known, "SIGKILL", KILL_S)
    left = [process for process in known if _lives(process)]
    if left:
        numbers = " ".join(str(process.pid) for process in left)
        raise ServerError(
            f"processes of row {one.row} do not end: {numbers}", remedy=f"end them with `kill -9 {numbers}`"
        )


def _run(argv: Sequence[str], env: Mapping[str, str] | None, cwd: Path | None) -> None:
    """The recipe's own command that stops it; where that fails, its processes are ended all the same."""
    if argv:
        with suppress(OSError, subprocess.TimeoutExpired):
            quiet = subprocess.DEVNULL
            subprocess.run(
                argv, env=env, cwd=cwd, timeout=COMMAND_S, check=False, stdin=quiet, stdout=quiet, stderr=quiet
            )


def _end(processes: Sequence[psutil.Process], name: str, seconds: float) -> None:
    for process in processes:
        with suppress(psutil.Error):
            process.send_signal(getattr(signal, name))
    deadline = time.monotonic() + seconds
    while any(_lives(process) for process in processes) and time.monotonic() < deadline:
        time.sleep(POLL_S / 4)


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def log_pieces(log: Path, most: int = 1 << 18) -> Iterator[bytes]:
    """The beginning and the end of a log, as whole as it is short."""
    try:
        with log.open("rb") as file:
            yield file.read(most)
            size = os.fstat(file.fileno()).st_size
            if size > most:
                file.seek(max(most, size - most))
                yield file.read(most)
    except OSError:
        return
