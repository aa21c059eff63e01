"""How the tools of a GPU spell values: numbers with units, bit masks of clock event reasons, PCI ids, absences."""

import re

from auditor.core.facts import Fact, known, unknown
from auditor.core.hardware import GpuName

_NUMBER = re.compile(r"(-?\d+(?:\.\d+)?)(?:\s*(?:MiB|MB|W|MHz|%|C|x|us))?")
_ABSENT = re.compile(r"\[?(?:n/?a|not (?:supported|available|active for this gpu)|unknown error|gpu is lost)\]?", re.I)
_REASONS = (
    (0x1, "gpu_idle"),
    (0x2, "applications_clocks_setting"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake_slowdown"),
    (0x100, "display_clocks_setting"),
)
"""NVML's bits of the clock event reasons."""
SLOWING = frozenset({
    "sw_power_cap", "hw_slowdown", "sw_thermal_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
})  # fmt: skip
"""The reasons that take clocks away; the others are settings, or idleness."""
TEXTS: frozenset[GpuName] = frozenset({"product", "performance_state", "driver_model", "compute_capability"})
SWITCHES: frozenset[GpuName] = frozenset({"ecc", "persistence", "mig"})
_TEXT_LIMIT = 120


def read_value(name: GpuName, text: str | None, source: str) -> Fact:
    """One value as the tool printed it, as a fact; an absence or what cannot be read is a reason and never 0."""
    said = " ".join((text or "").split())[:_TEXT_LIMIT]
    if not said or _ABSENT.fullmatch(said) or "deprecated" in said.lower():
        return unknown(f"{source} says {said}" if said else f"{source} does not tell it")
    if name in TEXTS:
        return known(said, source)
    if name in SWITCHES:
        switch = {"enabled": True, "disabled": False, "1": True, "0": False}.get(said.lower())
        return unknown(f"{source} says {said}") if switch is None else known(switch, source)
    if name == "throttle":
        return known(reasons_of(int(said, 0)), source) if _is_int(said) else unknown(f"{source} says {said}")
    if name == "pci_id":
        return _pci_id(said, source)
    match = _NUMBER.fullmatch(said)
    if match is None:
        return unknown(f"{source} says {said}")
    return known(as_number(float(match[1])), source)


def as_number(value: float) -> int | float:
    """A whole number without its point."""
    return int(value) if value == int(value) else value


def reasons_of(mask: int) -> str:
    """The active clock event reasons of a bit mask, in words; `none` where no bit is set."""
    rest = mask & ~sum(bit for bit, _ in _REASONS)
    words = [word for bit, word in _REASONS if mask & bit] + ([f"{rest:#x}"] if rest else [])
    return ", ".join(words) or "none"


def _pci_id(said: str, source: str) -> Fact:
    """`0x2BB110DE` as nvidia-smi spells it: device, then vendor."""
    match = re.fullmatch(r"(?:0x)?([0-9a-fA-F]{4})([0-9a-fA-F]{4})", said)
    return known(f"{match[2]}:{match[1]}".lower(), source) if match else unknown(f"{source} says {said}")


def _is_int(text: str) -> bool:
    return re.fullmatch(r"0x[0-9a-fA-F]{1,16}|\d{1,18}", text) is not None and not re.fullmatch(r"0\d+", text)
