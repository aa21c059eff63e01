"""What the GPUs did under the answer that the timeline shows, drawn on its time axis."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from auditor.core.hardware.telemetry import GAP_NS, Sample
from auditor.core.hardware.values import SLOWING
from auditor.core.wording import plural
from auditor.report.shown import figure, seconds
from auditor.report.tokens import Answer
from auditor.report.views import Block, Chart, Key

POINTS = 150
"""Most points of a line."""
LEAST_SAMPLES = 2
Read = Callable[[Sample], float | None]
_CHARTS: tuple[tuple[str, str, str, Read], ...] = (
    ("power", "Power", "W", lambda one: one.power_w),
    ("utilisation", "Utilisation", "%", lambda one: one.utilisation_percent),
    ("sm-clock", "SM clock", "MHz", lambda one: one.sm_clock_mhz),
    ("memory-clock", "Memory clock", "MHz", lambda one: one.memory_clock_mhz),
    ("temperature", "Temperature", "°C", lambda one: one.temperature_c),
    ("pcie-rx", "PCIe, host to GPU", "MB/s", lambda one: _mbs(one.pcie_rx_kbs)),
    ("pcie-tx", "PCIe, GPU to host", "MB/s", lambda one: _mbs(one.pcie_tx_kbs)),
)
"""Name, title, unit, and how a sample is read."""
_FROM_ZERO = ("power", "utilisation", "pcie-rx", "pcie-tx")


def telemetry_blocks(answer: Answer, samples: Sequence[Sample], why: str | None) -> Iterator[Block]:
    """A chart for each thing that was sampled; one paragraph with the reason where there is none."""
    heading = "The GPUs under this answer"
    origin, last = answer.origin_ns, answer.events[-1].at_ns
    if origin is None or not samples:
        yield Block(heading, (f"Not shown: {why or 'when the request was sent is not known'}.",))
        return
    inside = [one for one in samples if 0 <= one.t_ns - origin <= last]
    if len({one.t_ns for one in inside}) < LEAST_SAMPLES:
        yield Block(heading, (f"Not shown: fewer than two samples lie within its {seconds(last)}.",))
        return
    spans = _spans(inside, origin)
    gpus = len({one.gpu for one in inside})
    words = "The time axis is that of the delivered tokens above"
    words += f"; a line for each of {gpus} GPUs." if gpus > 1 else "."
    reasons = sorted({reason for one in inside for reason in _slowing(one)})
    words += f" Shaded: slowed down by {', '.join(reasons)}." if spans else " Never slowed down."
    known = {name: [value for one in inside if (value := read(one)) is not None] for name, _, _, read in _CHARTS}
    steady = [
        f"{title} {figure(known[name][0])} {unit}" for name, title, unit, _ in _CHARTS if len(set(known[name])) == 1
    ]
    words += f" The same in every sample: {'; '.join(steady)}." if steady else ""
    yield Block(heading, (words,))
    options = {"since": "the request was sent" if answer.from_send else "the first event", "domain": [0, last / 1e9]}
    keys: tuple[Key, ...] = (Key("rejected", "slowed down"),) if spans else ()
    for name, title, unit, read in _CHARTS:
        values = known[name]
        if len(set(values)) < 2:
            continue
        ends = f"{figure(min(values))} to {figure(max(values))}"
        text = f"{title} within the answer: {ends} {unit}, {plural(len(values), 'sample')}."
        drawn = (*({**span, "row": "span"} for span in spans), *_points(inside, origin, last, read))
        how = {**options, "title": f"{title}, {unit}", "from_zero": name in _FROM_ZERO}
        yield Block(chart=Chart(f"gpu-{name}", "gpu", text, drawn, keys, how))
        keys = ()


def _points(inside: Sequence[Sample], origin: int, last: int, read: Read) -> Iterator[dict[str, object]]:
    """The mean over equal stretches of time, each GPU by itself."""
    width = max(1, -(-last // POINTS))
    binned: dict[tuple[int, int], list[tuple[int, float]]] = defaultdict(list)
    for one in inside:
        if (value := read(one)) is not None:
            binned[one.gpu, (one.t_ns - origin) // width].append((one.t_ns - origin, value))
    for (gpu, _), found in sorted(binned.items()):
        at = found[len(found) // 2][0] / 1e9
        yield {"row": "point", "gpu": gpu, "t": at, "v": math.fsum(value for _, value in found) / len(found)}


def _spans(inside: Sequence[Sample], origin: int) -> list[dict[str, float]]:
    """Stretches between two samples of a GPU that was slowed down at the first; of all GPUs, joined."""
    ends: list[tuple[int, int]] = []
    for gpu in {one.gpu for one in inside}:
        own = [one for one in inside if one.gpu == gpu and one.throttle is not None]
        for one, after in pairwise(own):
            if _slowing(one) and after.t_ns - one.t_ns <= GAP_NS:
                ends.append((one.t_ns - origin, after.t_ns - origin))
    joined: list[tuple[int, int]] = []
    for begin, end in sorted(ends):
        if joined and begin <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((begin, end))
    return [{"t": begin / 1e9, "t2": end / 1e9} for begin, end in joined]


def _slowing(one: Sample) -> set[str]:
    return set((one.throttle or "").split(", ")) & SLOWING


def _mbs(kbs: float | None) -> float | None:
    return None if kbs is None else kbs / 1000
