"""GPUs: what the sources say of each, and which cards a name may mean.

A name may be an id of the table, a name as nvidia-smi prints it, a PCI id, or what people write. It finds one card,
several where it does not say the edition, or none.
"""

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from auditor.reference.rows import Cell, Mark, Row, load


class Bandwidth(Row):
    """One reading of the memory bandwidth."""

    gbs: float
    """GB/s as stated."""
    clock_mhz: float | None = None
    """Memory clock that it comes from, MHz, where one was read."""
    standing: Literal["nominal", "conflict", "state", "unverified", "rejected"]
    mark: Mark
    why: str | None = None
    sources: tuple[str, ...] = ()


class Variant(Row):
    """A card that shares the row's id range and has no row of its own."""

    what: str
    names: tuple[str, ...] = ()
    pci_ids: tuple[str, ...] = ()
    why: str
    """What the table does not know of it."""


class Gpu(Row):
    """A row of the table."""

    id: str
    name: str
    vendor: str
    family: str | None = None
    """Name that the editions of one card share."""
    edition: str | None = None
    names: tuple[str, ...]
    """As nvidia-smi prints it."""
    pci_ids: tuple[str, ...]
    """Vendor and device, hexadecimal, as `10de:2bb1`."""
    variants: tuple[Variant, ...] = ()
    name_sources: tuple[str, ...]
    compute_capability: "Capability"
    multiprocessors: Cell
    memory_gb: Cell
    memory_type: str
    bus_bits: int | None = None
    """Width of the memory bus, bits; None where the material does not say."""
    bandwidth: tuple[Bandwidth, ...]
    """Every reading, the nominal one first."""
    tdp_w: Cell
    shared_memory_sm_kb: Cell
    shared_memory_block_kb: Cell
    l2_mb: Cell
    last_cache_mb: Cell | None = None
    """A cache behind L2, where there is one."""
    bf16_tflops: Cell
    fp8_tflops: Cell
    fp4_tflops: Cell
    pcie: str
    link: str
    """How it is linked to other GPUs."""
    notes: str | None = None

    @property
    def has_fast_link(self) -> bool:
        """Whether a link other than PCIe joins it to others of its kind."""
        return not self.link.startswith("none")

    def gbs(self, reading: Bandwidth) -> float:
        """GB/s of a reading: its memory clock x 2 x the bus where both are known, else as stated."""
        return self.from_clock(reading.clock_mhz) or reading.gbs

    def from_clock(self, mhz: float | None) -> float | None:
        """GB/s at a memory clock as nvidia-smi gives it: clock x 2 x bus width; None where one is not known."""
        return None if mhz is None or self.bus_bits is None else mhz * 2 * self.bus_bits / 8 / 1000

    def rate(self, name: str) -> Cell:
        """Dense rate of `bf16`, `fp8` or `fp4` products."""
        return {"bf16": self.bf16_tflops, "fp8": self.fp8_tflops, "fp4": self.fp4_tflops}[name]


class Capability(Row):
    """CUDA's compute capability, or the name of the AMD target."""

    value: str
    unit: str = ""
    mark: Mark
    sources: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """A card that a name may mean: a row of the table, or a variant that has none of its own."""

    gpu: Gpu
    variant: Variant | None = None

    @property
    def title(self) -> str:
        """How to call it."""
        if self.variant is None:
            return self.gpu.name
        return self.variant.names[0] if self.variant.names else f"{self.gpu.name} {self.variant.what}"


@functools.cache
def all_gpus() -> tuple[Gpu, ...]:
    """Every row, in the order of the table."""
    return tuple(Gpu.model_validate(row) for row in load("gpus.json")["gpus"])


def find_cards(text: str) -> tuple[Card, ...]:
    """The cards that a name may mean: one, every edition where it says none, or nothing.

    Takes an id, a name as nvidia-smi prints it, free text, or a PCI id (`10de:2bb1`, `2bb1`, `0x2bb110de`).
    """
    exact = _exact().get(_plain(text))
    if exact:
        return (exact,)
    wanted = _words_of(text)
    found = [card for words, card in _worded() if wanted.chip and words.may_be(wanted)]
    return _unique(found) or _by_pci(text)


def suggestions(text: str) -> tuple[str, ...]:
    """Ids of the table that are spelled like it, at most three."""
    names = {_plain(name): gpu.id for gpu in all_gpus() for name in (gpu.id, gpu.family or gpu.id, gpu.name)}
    near = get_close_matches(_plain(text), names, n=5, cutoff=0.5)
    return tuple(dict.fromkeys(names[name] for name in near))[:3]


_NOISE = frozenset({
    "nvidia", "amd", "geforce", "instinct", "edition", "gpu", "graphics", "card", "cards", "generation", "blackwell",
    "rtx", "tesla", "dgx", "spark", "hbm2e", "hbm3", "hbm3e", "gddr7", "sxm6", "ac",
})  # fmt: skip
_EDITIONS = ("maxq", "workstation", "server", "sxm", "pcie", "nvl", "sff")
"""Words that a name may lack; the first that is there counts."""
_MEMORY = re.compile(r"(\d+)gb?")
_SPELLINGS = (
    (r"max[- ]?q", "maxq"),
    (r"\bdgx spark\b", "gb10"),
    (r"\bws\b", "workstation"),
    (r"\bse\b", "server"),
    (r"\bsxm\d?\b", "sxm"),
    (r"(?<![a-z])(rtx|gtx)(?=\d)", r"\1 "),
    (r"(?<=\d)(ti|super)\b", r" \1"),
    (r"^\d+ ?x ", ""),
)


@dataclass(frozen=True, slots=True)
class _Words:
    chip: frozenset[str]
    edition: str
    memory: str

    def may_be(self, wanted: "_Words") -> bool:
        """Whether a name with the words `wanted` may mean the card with these."""
        return (
            self.chip == wanted.chip
            and wanted.edition in ("", self.edition)
            and (not wanted.memory or not self.memory or wanted.memory == self.memory)
        )


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[a-z0-9]+", text.lower()))


def _words_of(text: str, edition: str = "", memory: str = "") -> _Words:
    text = text.lower().replace("_", " ").replace("-", " ")
    for pattern, spelling in _SPELLINGS:
        text = re.sub(pattern, spelling, text)
    words = [word for word in re.findall(r"[a-z0-9]+", text) if word not in _NOISE]
    sizes = [match[1] for word in words if (match := _MEMORY.fullmatch(word))]
    return _Words(
        chip=frozenset(word for word in words if word not in _EDITIONS and not _MEMORY.fullmatch(word)),
        edition=next((one for one in _EDITIONS if one in words), edition),
        memory=sizes[0] if sizes else memory,
    )


@functools.cache
def _exact() -> dict[str, Card]:
    """Cards by id and by the names of nvidia-smi."""
    found: dict[str, Card] = {}
    for gpu in all_gpus():
        found |= {_plain(name): Card(gpu) for name in (gpu.id, *gpu.names)}
        found |= {_plain(name): Card(gpu, one) for one in gpu.variants for name in one.names}
    return found


@functools.cache
def _worded() -> tuple[tuple[_Words, Card], ...]:
    found: list[tuple[_Words, Card]] = []
    for gpu in all_gpus():
        memory = "" if gpu.memory_gb.value is None or gpu.memory_gb.others else f"{gpu.memory_gb.value:g}"
        own = _words_of(f"{gpu.family or gpu.id} {gpu.edition or ''}", memory=memory)
        found.append((own, Card(gpu)))
        for variant in gpu.variants:
            said = variant.names[0] if variant.names else f"{gpu.name} {variant.what}"
            found.append((_words_of(said), Card(gpu, variant)))
    return tuple(found)


def _by_pci(text: str) -> tuple[Card, ...]:
    text = text.strip().lower()
    match = re.fullmatch(r"0x(?P<device>[0-9a-f]{4})(?P<vendor>10de|1002)", text) or re.fullmatch(
        r"(?:(?P<vendor>[0-9a-f]{4}):)?(?:0x)?(?P<device>[0-9a-f]{4})", text
    )
    if match is None:
        return ()
    wanted = {f"{vendor}:{match['device']}" for vendor in ([match["vendor"]] if match["vendor"] else _VENDORS)}
    found = [Card(gpu) for gpu in all_gpus() if wanted & set(gpu.pci_ids)]
    found += [Card(gpu, one) for gpu in all_gpus() for one in gpu.variants if wanted & set(one.pci_ids)]
    return tuple(found)


_VENDORS = ("10de", "1002")


def _unique(cards: Sequence[Card]) -> tuple[Card, ...]:
    seen: dict[tuple[str, str | None], Card] = {}
    for card in cards:
        seen.setdefault((card.gpu.id, card.variant.what if card.variant else None), card)
    return tuple(seen.values())
