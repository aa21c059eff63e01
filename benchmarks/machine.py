"""The machine under a benchmark: the C programs, the server on one core, the clients on another, and who else ran."""

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).parent / "tools"
PROGRAMS = ("sse_server", "c_reader")
NOISE = 0.15
"""Share of a core that other programs may use during a run."""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


def build(folder: Path) -> None:
    """Compile the C programs into a folder, where they are not there yet; raises SystemExit without a compiler."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in PROGRAMS:
        source, program = SOURCES / f"{name}.c", folder / name
        if program.exists() and program.stat().st_mtime >= source.stat().st_mtime:
            continue
        compiler = shutil.which("cc") or shutil.which("gcc")
        if compiler is None:
            raise SystemExit(f"no C compiler, and no {program}: build it elsewhere with `cc -O2 -static`")
        subprocess.run([compiler, "-O2", "-o", str(program), str(source)], check=True)


@dataclass(frozen=True, slots=True)
class Server:
    """The synthetic server, running."""

    url: str
    port: int
    pid: int

    def get(self, path: str) -> Any:
        """JSON that it answers with."""
        with urllib.request.urlopen(f"{self.url}{path}", timeout=10) as answer:
            return json.loads(answer.read())


@contextmanager
def serving(folder: Path, core: int, *options: str, port: int = 8463) -> Iterator[Server]:
    """The server with these options on a core of its own."""
    program = [str(folder / "sse_server"), "-p", str(port), *options]
    process = subprocess.Popen(pinned(core, program), stderr=subprocess.DEVNULL)
    server = Server(f"http://127.0.0.1:{port}", port, process.pid)
    try:
        for _ in range(100):
            if process.poll() is not None:
                raise SystemExit(f"the server does not start: is port {port} taken?")
            try:
                server.get("/stats")
                break
            except OSError:
                time.sleep(0.02)
        yield server
    finally:
        process.terminate()
        process.wait()


def pinned(core: int, words: Sequence[str]) -> list[str]:
    """The command, bound to a core; with a priority above all others where `BENCH_REALTIME` is set."""
    before = ["chrt", "-f", "10"] if os.environ.get("BENCH_REALTIME") else []
    return [*before, "taskset", "-c", str(core), *words]


class Cores:
    """The processor time that nobody of ours used on some cores, from `start` on."""

    def __init__(self, cores: Sequence[int], pids: Sequence[int]) -> None:
        self._cores, self._pids = cores, pids
        self.start()

    def start(self) -> None:
        """Begin again."""
        self._at_s, self._busy_s, self._own_s = time.monotonic(), self._busy(), self._own()

    def foreign(self, more_s: float = 0.0) -> float:
        """Share of one core that other programs used; `more_s` is processor time of ours that has ended."""
        length_s = time.monotonic() - self._at_s
        other_s = self._busy() - self._busy_s - (self._own() - self._own_s) - more_s
        return max(0.0, other_s / length_s)

    def _busy(self) -> float:
        names = {f"cpu{core}" for core in self._cores}
        busy = 0.0
        for line in Path("/proc/stat").read_text().splitlines():
            name, *numbers = line.split()
            if name in names:
                user, nice, system, _, _, irq, softirq, steal = map(int, numbers[:8])
                busy += (user + nice + system + irq + softirq + steal) * _TICK_S
        return busy

    def _own(self) -> float:
        return sum(cpu_s(pid) for pid in self._pids)


def cpu_s(pid: int) -> float:
    """Processor time of a process so far; 0 when it is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * _TICK_S
