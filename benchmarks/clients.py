"""The clients under test: each run once against the server, its figures read back, and the truth beside them."""

import json
import resource
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from benchmarks.machine import Cores, Server, pinned

if TYPE_CHECKING:
    from benchmarks.cases import Bench, Load

LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a client showed, and how much others disturbed it."""

    values: dict[str, Any]
    foreign: float
    """Share of a core that other programs used."""


class ClientError(Exception):
    """A client did not do its work; the words are its last ones."""


def run_words(words: Sequence[str], core: int, *, cwd: str | None = None, env: dict[str, str] | None = None) -> str:
    """Run a client on its core; what it printed. Raises ClientError."""
    try:
        done = subprocess.run(pinned(core, words), capture_output=True, text=True, timeout=LIMIT_S, cwd=cwd, env=env)
    except subprocess.TimeoutExpired:
        raise ClientError(f"took more than {LIMIT_S} s") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise ClientError(lines[-1][:200] if lines else f"exit code {done.returncode}")
    return done.stdout


def children_s() -> float:
    """Processor time of the clients that ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def c_reader(bench: "Bench", server: Server, load: "Load", cores: Cores, options: Sequence[str]) -> Outcome:
    """The reader in C."""
    words = [str(bench.programs / "c_reader"), "-p", str(server.port), "-c", str(load.streams), "-n", str(load.tokens)]
    before_s = children_s()
    cores.start()
    values = json.loads(run_words([*words, *options], bench.client_core))
    foreign = cores.foreign(children_s() - before_s)
    return Outcome({**values, "foreign": foreign}, foreign)


def ours(bench: "Bench", server: Server, load: "Load", cores: Cores, options: Sequence[str]) -> Outcome:
    """The tool, in a process of its own, which says itself how much others disturbed the load."""
    folder = bench.scratch / "run"
    shutil.rmtree(folder, ignore_errors=True)
    words = [sys.executable, "-m", "benchmarks.ours", "--url", server.url, "--server-pid", str(server.pid)]
    words += ["--cores", f"{bench.server_core},{bench.client_core}", "--folder", str(folder)]
    words += ["--streams", str(load.streams), "--tokens", str(load.tokens), *options]
    values = json.loads(run_words(words, bench.client_core))
    server.get("/stats")  # flushes the server's own log
    values |= truth_of((bench.scratch / "server.csv").read_text(), values.get("complete", 0), load)
    shutil.rmtree(folder, ignore_errors=True)
    return Outcome(values, values["foreign"])


def truth_of(log: str, count: int, load: "Load") -> dict[str, float]:
    """Means of the last streams by the server's own log, ms: to the first token, per token after the first event, and
    per token."""
    rows = [tuple(map(int, line.split(","))) for line in log.split()][-count:] if count else []
    if not rows:
        return {}
    one_event = load.server[-2:] == ("-B", "one")
    in_first = int(load.server[load.server.index("-b") + 1]) if one_event else 1
    spans = [(last - first, tokens) for _, _, first, last, tokens in rows]
    return {
        "truth_ttft_ms": _mean([first - arrived for _, arrived, first, _, _ in rows]) / 1e6,
        "truth_tpot_ms": _mean([span / (tokens - in_first) for span, tokens in spans]) / 1e6,
        "truth_itl_ms": _mean([span / (tokens - 1) for span, tokens in spans]) / 1e6,
    }


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
