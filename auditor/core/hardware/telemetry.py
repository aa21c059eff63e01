"""What the GPUs did while the server answered: samples on the client's clock, energy, and findings."""

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from pydantic import ValidationError

from auditor.core.counting.ledger import ExchangeLedger
from auditor.core.hardware.values import SLOWING
from auditor.core.judging.verdict import Finding
from auditor.core.record import Record
from auditor.core.wording import figure
from auditor.errors import EvidenceError
from auditor.terms import Outcome

QUERY = (
    "index", "power.draw", "utilization.gpu", "clocks.current.sm", "clocks.current.memory", "temperature.gpu",
    "memory.used", "clocks_event_reasons.active",
)  # fmt: skip
"""The columns that nvidia-smi is asked for, in this order."""
GAP_NS = 1_000_000_000
"""Longest silence between two samples of a GPU over which energy is still added up."""
IDLE_PERCENT = 5
Window = tuple[int, int]
"""From and to, monotonic ns."""


class Sample(Record):
    """One GPU at one moment. A value that was not told is None."""

    t_ns: int
    """When the line arrived here, on the clock of the wire log; the reading itself is a little older."""
    gpu: int
    power_w: float | None = None
    utilisation_percent: float | None = None
    sm_clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    temperature_c: float | None = None
    memory_used_mib: float | None = None
    throttle: str | None = None
    """Active clock event reasons, or `none`."""
    pcie_rx_kbs: float | None = None
    """Traffic from the host to the GPU over the 20 ms before, KB/s as NVML counts it; once a second."""
    pcie_tx_kbs: float | None = None
    """The same from the GPU to the host."""
    pcie_reason: str | None = None
    """Why a sample of PCIe traffic has none."""


def read_telemetry(data: bytes, where: str) -> tuple[Sample, ...]:
    """The samples of a telemetry.jsonl; raises EvidenceError for a line that is none."""
    found = []
    for number, line in enumerate(data.splitlines(), 1):
        try:
            found.append(Sample.from_json(line))
        except ValidationError:
            raise EvidenceError(f"line {number} is no sample", where=where, remedy="restore the file") from None
    return tuple(found)


def windows_of(lines: Iterable[ExchangeLedger]) -> tuple[Window, ...]:
    """The rounds of these exchanges, each from its first request to its last token."""
    spans: dict[tuple[str, int], Window] = {}
    for line in lines:
        begin, end = line.times.send_ns, line.times.last_ns
        if begin is not None and end is not None:
            first, last = spans.get((line.cell, line.repeat), (begin, end))
            spans[line.cell, line.repeat] = min(begin, first), max(end, last)
    return tuple(sorted(spans.values()))


def energy_j(samples: Sequence[Sample], windows: Sequence[Window]) -> float | None:
    """Joules of all GPUs over the windows, by the trapezoid rule; None where samples are missing over `GAP_NS`."""
    parts: list[float] = []
    for gpu in sorted({sample.gpu for sample in samples}):
        points = [(one.t_ns, one.power_w) for one in samples if one.gpu == gpu and one.power_w is not None]
        for window in windows:
            joules = _joules(points, window)
            if joules is None:
                return None
            parts.append(joules)
    return math.fsum(parts) if parts else None


def telemetry_findings(samples: Sequence[Sample], lines: Sequence[ExchangeLedger]) -> tuple[Finding, ...]:
    """Energy per delivered token, and whether the GPUs idled or were slowed down, over the judged cell's rounds."""
    windows = windows_of(lines)
    inside = [one for one in samples if any(begin <= one.t_ns <= end for begin, end in windows)]
    if not inside:
        words = "no sample of the GPUs lies within a measured round"
        return (_finding("telemetry", Outcome.NOT_AVAILABLE, words, "see that nvidia-smi answers"),)
    return (_energy(samples, lines, windows), *_clocks(inside), *_pcie(inside), *_idle(inside), *_slowed(inside))


def _joules(points: Sequence[tuple[int, float]], window: Window) -> float | None:
    """Joules of one GPU; the window's ends take the nearest sample's power."""
    begin, end = window
    within = [point for point in points if begin <= point[0] <= end]
    if not within:
        return None
    path = [(begin, within[0][1]), *within, (end, within[-1][1])]
    steps = list(pairwise(path))
    if any(after[0] - before[0] > GAP_NS for before, after in steps):
        return None
    return math.fsum((after[0] - before[0]) / 1e9 * (before[1] + after[1]) / 2 for before, after in steps)


def _energy(samples: Sequence[Sample], lines: Sequence[ExchangeLedger], windows: Sequence[Window]) -> Finding:
    name, joules = "telemetry-energy", energy_j(samples, windows)
    counts = [line.tally.delivered for line in lines]
    tokens = sum(count or 0 for count in counts)
    if joules is None or None in counts or not tokens:
        why = "samples are missing" if joules is None else "not every token was counted"
        return _finding(name, Outcome.NOT_AVAILABLE, f"energy per token is not known: {why}")
    gpus, seconds = len({one.gpu for one in samples}), sum(end - begin for begin, end in windows) / 1e9
    words = f"{figure(joules / tokens)} J per delivered token: {figure(joules / seconds)} W over {figure(seconds)} s"
    scope = f"{'1 GPU' if gpus == 1 else f'{gpus} GPUs'}, prefill included, host not"
    return _finding(name, Outcome.HOLDS, f"{words} of {scope}")


def _clocks(inside: Sequence[Sample]) -> list[Finding]:
    """The clocks under load, which those read before a run need not be."""
    memory, sms = (
        _mean(inside, None, read) for read in (lambda one: one.memory_clock_mhz, lambda one: one.sm_clock_mhz)
    )
    told = [f"{what} at {value:,.0f} MHz" for what, value in (("memory", memory), ("SMs", sms)) if value is not None]
    words = f"while the server answered, on average: {' and '.join(told)}"
    return [_finding("telemetry-clocks", Outcome.HOLDS, words)] if told else []


def _pcie(inside: Sequence[Sample]) -> list[Finding]:
    """Traffic between host and GPUs, which bounds tensor parallelism without NVLink."""
    told = []
    both = {"to": [one.pcie_rx_kbs for one in inside], "from": [one.pcie_tx_kbs for one in inside]}
    for what, values in both.items():
        known = [value / 1000 for value in values if value is not None]
        if known:
            mean = math.fsum(known) / len(known)
            told.append(f"{figure(mean)} MB/s {what} a GPU, {figure(max(known))} at most")
    words = f"PCIe traffic while the server answered: {'; '.join(told)} (20 ms of every second)"
    return [_finding("telemetry-pcie", Outcome.HOLDS, words)] if told else []


def _idle(inside: Sequence[Sample]) -> list[Finding]:
    busiest = {gpu: _mean(inside, gpu, lambda one: one.utilisation_percent) for gpu in {one.gpu for one in inside}}
    known = [value for value in busiest.values() if value is not None]
    if not known or max(known) > IDLE_PERCENT:
        return []
    watts = _mean(inside, None, lambda one: one.power_w)
    words = f"no GPU was busy while the server answered: {figure(max(known))} % at most"
    words += "" if watts is None else f", {figure(watts)} W on average"
    return [_finding("telemetry-idle", Outcome.FAILS, words, "these GPUs may not be the server's")]


def _slowed(inside: Sequence[Sample]) -> list[Finding]:
    told = [one for one in inside if one.throttle is not None]
    slow = [set((one.throttle or "").split(", ")) & SLOWING for one in told]
    share = sum(map(bool, slow)) / len(told) if told else 0
    if share == 0:
        return []
    reasons = ", ".join(sorted(set().union(*slow)))
    words = f"the GPUs were slowed down in {share * 100:.3g} % of {len(told)} samples: {reasons}"
    return [_finding("telemetry-throttle", Outcome.FAILS, words, "see to cooling and the power limit")]


def _mean(samples: Iterable[Sample], gpu: int | None, read: Callable[[Sample], float | None]) -> float | None:
    values = [value for one in samples if gpu in (None, one.gpu) and (value := read(one)) is not None]
    return math.fsum(values) / len(values) if values else None


def _finding(name: str, outcome: Outcome, sentence: str, remedy: str | None = None) -> Finding:
    return Finding(id=name, outcome=outcome, gravity="note", sentence=sentence, remedy=remedy)
