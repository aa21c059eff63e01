"""Samples the GPUs ten times a second while a run is measured: nvidia-smi in a loop, here or over ssh.

PCIe traffic is read beside it once a second, where the GPUs are this machine's.
"""

import subprocess
import threading
import time

import orjson

from auditor.capture.pcie import NOT_HERE, PcieSampler, no_traffic
from auditor.core.facts import Fact
from auditor.core.hardware import GpuName
from auditor.core.hardware.telemetry import QUERY, Sample
from auditor.core.hardware.values import read_value

PERIOD_MS = 100
COMMAND = ("nvidia-smi", f"--query-gpu={','.join(QUERY)}", "--format=csv,noheader,nounits", "-lms", str(PERIOD_MS))
LIMIT = 10_000_000
"""Samples after which no more are kept."""
_NAMES: tuple[GpuName, ...] = (
    "power_draw_w", "utilisation_percent", "sm_clock_mhz", "memory_clock_mhz", "temperature_c", "memory_used_mib",
    "throttle",
)  # fmt: skip


class Sampler:
    """Reads lines of nvidia-smi in a thread of its own, each stamped when it arrives; no failure of it ends a run."""

    def __init__(self, before: tuple[str, ...] = ()) -> None:
        """`before` stands before the command: the words of ssh, or nothing for this machine."""
        self._words = (*before, *COMMAND)
        self._lines: list[tuple[int, bytes]] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._pcie = None if before else PcieSampler()
        self._thread = threading.Thread(target=self._read, name="telemetry", daemon=True)

    def start(self) -> None:
        """Begin; where nvidia-smi cannot be run there will be no samples."""
        try:
            self._process = subprocess.Popen(
                self._words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        except OSError:
            return
        self._thread.start()
        if self._pcie is not None:
            self._pcie.start()

    def stop(self) -> bytes:
        """End; all samples, one JSON object a line."""
        if self._process is None:
            return b""
        self._process.kill()
        self._thread.join(timeout=5)
        self._process.wait()
        samples = [sample for t_ns, line in self._lines if (sample := read_line(t_ns, line)) is not None]
        traffic = [no_traffic(NOT_HERE)] if self._pcie is None else self._pcie.stop()
        samples = sorted(samples + traffic, key=lambda one: (one.t_ns, one.gpu)) if samples else []
        return b"".join(
            orjson.dumps(one.model_dump(exclude_none=True), option=orjson.OPT_APPEND_NEWLINE) for one in samples
        )

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                if len(self._lines) < LIMIT:
                    self._lines.append((time.perf_counter_ns(), line[:4096]))


def read_line(t_ns: int, line: bytes) -> Sample | None:
    """One line as a sample; None for what is none, as an error that nvidia-smi prints."""
    cells = [cell.strip() for cell in line.decode("utf-8", "replace").split(",")]
    if len(cells) != len(QUERY) or not cells[0].isdecimal():
        return None
    facts: list[Fact] = [read_value(name, cell, "nvidia-smi") for name, cell in zip(_NAMES, cells[1:], strict=True)]
    numbers = [float(fact.value) if isinstance(fact.value, int | float) else None for fact in facts[:-1]]
    power, utilisation, sm_clock, memory_clock, temperature, memory = numbers
    return Sample(
        t_ns=t_ns,
        gpu=int(cells[0][:6]),
        power_w=power,
        utilisation_percent=utilisation,
        sm_clock_mhz=sm_clock,
        memory_clock_mhz=memory_clock,
        temperature_c=temperature,
        memory_used_mib=memory,
        throttle=None if facts[-1].value is None else str(facts[-1].value),
    )
