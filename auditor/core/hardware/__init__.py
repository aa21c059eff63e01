"""The GPUs of a server as a tool on its machine reads them: one frozen record, whatever the tool was.

It holds only the fields named here. Serial numbers, UUIDs, bus addresses, processes and host names have no place in it,
for it is published with the run.
"""

from collections.abc import Mapping
from typing import Final, Literal, get_args

from auditor.core.facts import Fact, known, unknown
from auditor.core.record import Record, six
from auditor.reference.gpus import Card, find_cards

GpuName = Literal[
    "product",
    "pci_id",
    "compute_capability",
    "architecture",
    "memory_mib",
    "memory_used_mib",
    "power_limit_w",
    "power_default_w",
    "power_draw_w",
    "sm_clock_mhz",
    "sm_clock_max_mhz",
    "memory_clock_mhz",
    "memory_clock_max_mhz",
    "bandwidth_gbs",
    "bandwidth_max_gbs",
    "pcie_gen",
    "pcie_gen_max",
    "pcie_gen_device",
    "pcie_width",
    "pcie_width_max",
    "ecc",
    "throttle",
    "utilisation_percent",
    "temperature_c",
    "performance_state",
    "persistence",
    "nvlink",
    "driver_model",
    "mig",
]
"""What is asked of a GPU, each with its unit.

`pci_id` is vendor and device (`10de:2bb1`) and no bus address; `architecture` is SM120 for compute capability 12.0;
bandwidth is memory clock x 2 x bus width at the clock that was read and at the highest; `pcie_gen_max` is what card and
slot can do together, `pcie_gen_device` the card alone; `throttle` lists the active clock event reasons, or says `none`.
"""
NAMES: Final = get_args(GpuName)
NEEDS_NAME = "neither the name nor the PCI id is in the reference table"


class GpuFacts(Record):
    """One GPU: an answer or a reason for every question."""

    index: int
    """As the tool counts them, from 0."""
    facts: dict[GpuName, Fact]

    def value(self, name: GpuName) -> str | int | float | bool | None:
        """The value, None where there is none."""
        fact = self.facts.get(name)
        return None if fact is None else fact.value

    def number(self, name: GpuName) -> float | None:
        """The value as a number, None where it is none."""
        value = self.value(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    def text(self, name: GpuName) -> str | None:
        """The value as text, None where there is none."""
        value = self.value(name)
        return None if value is None else str(value)

    @property
    def card(self) -> Card | None:
        """The card of the reference table; None where it is not there or its name may mean several."""
        cards = cards_of(self.text("product"), self.text("pci_id"))
        return cards[0] if len(cards) == 1 else None

    @property
    def is_idle(self) -> bool:
        """Whether the clocks were read while nothing ran, so that they say nothing of a run."""
        reasons = (self.text("throttle") or "").split(", ")
        now, most = self.number("sm_clock_mhz"), self.number("sm_clock_max_mhz")
        return "gpu_idle" in reasons or bool(now and most and now < most / 2 and not self.number("utilisation_percent"))


class HostHardware(Record):
    """`hardware.json`: the GPUs of the machine that serves."""

    hardware_version: Literal[1] = 1
    source: str
    """The tool, without file, host or address."""
    driver: Fact
    cuda: Fact
    """The newest CUDA that the driver supports."""
    wsl: Fact
    """Whether it runs under WSL2 or Windows; true, false or not told."""
    p2p: Fact
    """Whether the GPUs reach each other's memory without the host: `all`, `none`, `some`."""
    gpus: tuple[GpuFacts, ...]

    @property
    def used(self) -> tuple[GpuFacts, ...]:
        """The GPUs that hold more than 1 GiB, which are those that serve; all of them where none does."""
        busy = tuple(gpu for gpu in self.gpus if (gpu.number("memory_used_mib") or 0) > 1024)
        return busy or self.gpus

    @property
    def capability(self) -> str | None:
        """The compute capability of the GPUs that serve; None where it is not known or they differ."""
        found = {gpu.text("compute_capability") for gpu in self.used}
        return found.pop() if len(found) == 1 else None

    @property
    def products(self) -> tuple[str, ...]:
        """The different names of the GPUs that serve."""
        return tuple(dict.fromkeys(name for gpu in self.used if (name := gpu.text("product"))))


def cards_of(product: str | None, pci_id: str | None) -> tuple[Card, ...]:
    """The cards that a name as nvidia-smi prints it may mean, by the PCI id where the name is not known."""
    return (find_cards(product) if product else ()) or (find_cards(pci_id) if pci_id else ())


def complete_gpu(index: int, told: Mapping[GpuName, Fact], source: str) -> GpuFacts:
    """The facts of a GPU with what follows from them, and a reason for what the tool did not tell."""
    facts: dict[GpuName, Fact] = {name: unknown(f"{source} does not tell it") for name in NAMES}
    facts |= told
    product, pci_id = (_text(facts[name]) for name in ("product", "pci_id"))
    cards = cards_of(product, pci_id)
    if facts["compute_capability"].value is None:
        facts["compute_capability"] = _capability(cards)
    capability = facts["compute_capability"]
    if capability.value is not None:
        facts["architecture"] = known(architecture_of(str(capability.value)), capability.source or source)
    else:
        facts["architecture"] = unknown("the compute capability is not known")
    facts["bandwidth_gbs"] = _bandwidth(cards, facts["memory_clock_mhz"])
    facts["bandwidth_max_gbs"] = _bandwidth(cards, facts["memory_clock_max_mhz"])
    return GpuFacts(index=index, facts=facts)


def architecture_of(capability: str) -> str:
    """`SM120` for 12.0, `SM121` for 12.1; the name of an AMD target as it is."""
    major, dot, minor = capability.partition(".")
    return f"SM{major}{minor}" if dot and major.isdigit() and minor.isdigit() else capability


def _text(fact: Fact) -> str | None:
    return None if fact.value is None else str(fact.value)


def _capability(cards: tuple[Card, ...]) -> Fact:
    values = {card.gpu.compute_capability.value for card in cards}
    if len(values) != 1:
        return unknown("the name may mean cards of several architectures" if values else NEEDS_NAME)
    return known(values.pop(), "reference table, by the card; not read")


def _bandwidth(cards: tuple[Card, ...], clock: Fact) -> Fact:
    if not isinstance(clock.value, int | float):
        return unknown("the memory clock was not read")
    widths = {card.gpu.bus_bits for card in cards if card.variant is None}
    if len(widths) != 1 or None in widths or any(card.variant for card in cards):
        return unknown("the width of the memory bus is not in the reference table" if cards else NEEDS_NAME)
    value = cards[0].gpu.from_clock(float(clock.value))
    assert value is not None
    return known(six(value), f"{clock.source} x 2 x bus of the reference table")
