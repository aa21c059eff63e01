"""Reads what Prometheus exporters tell of GPUs: NVIDIA's DCGM exporter and nvidia_gpu_exporter."""

import math
from collections.abc import Iterable

from auditor.core.facts import Fact, known, unknown
from auditor.core.hardware import GpuName, HostHardware, complete_gpu
from auditor.core.hardware.smixml import wsl_by_driver_model
from auditor.core.hardware.values import as_number, read_value, reasons_of
from auditor.core.wire.prometheus import Sample, samples
from auditor.errors import UsageError

DCGM = "DCGM exporter"
SMI = "nvidia_gpu_exporter"
_BLANK = 1e14
"""From here up DCGM means: no value."""
_DCGM: dict[str, tuple[GpuName, float]] = {
    "DCGM_FI_DEV_FB_USED": ("memory_used_mib", 1),
    "DCGM_FI_DEV_FB_TOTAL": ("memory_mib", 1),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT": ("power_limit_w", 1),
    "DCGM_FI_DEV_POWER_MGMT_LIMIT_DEF": ("power_default_w", 1),
    "DCGM_FI_DEV_POWER_USAGE": ("power_draw_w", 1),
    "DCGM_FI_DEV_SM_CLOCK": ("sm_clock_mhz", 1),
    "DCGM_FI_DEV_MAX_SM_CLOCK": ("sm_clock_max_mhz", 1),
    "DCGM_FI_DEV_MEM_CLOCK": ("memory_clock_mhz", 1),
    "DCGM_FI_DEV_MAX_MEM_CLOCK": ("memory_clock_max_mhz", 1),
    "DCGM_FI_DEV_PCIE_LINK_GEN": ("pcie_gen", 1),
    "DCGM_FI_DEV_PCIE_MAX_LINK_GEN": ("pcie_gen_max", 1),
    "DCGM_FI_DEV_PCIE_LINK_WIDTH": ("pcie_width", 1),
    "DCGM_FI_DEV_PCIE_MAX_LINK_WIDTH": ("pcie_width_max", 1),
    "DCGM_FI_DEV_GPU_UTIL": ("utilisation_percent", 1),
    "DCGM_FI_DEV_GPU_TEMP": ("temperature_c", 1),
    "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS": ("throttle", 1),
    "DCGM_FI_DEV_CLOCKS_EVENT_REASONS": ("throttle", 1),
}
_SMI: dict[str, tuple[GpuName, float]] = {
    "nvidia_smi_memory_total_bytes": ("memory_mib", 2**-20),
    "nvidia_smi_memory_used_bytes": ("memory_used_mib", 2**-20),
    "nvidia_smi_power_limit_watts": ("power_limit_w", 1),
    "nvidia_smi_power_default_limit_watts": ("power_default_w", 1),
    "nvidia_smi_power_draw_watts": ("power_draw_w", 1),
    "nvidia_smi_clocks_current_sm_clock_hz": ("sm_clock_mhz", 1e-6),
    "nvidia_smi_clocks_max_sm_clock_hz": ("sm_clock_max_mhz", 1e-6),
    "nvidia_smi_clocks_current_memory_clock_hz": ("memory_clock_mhz", 1e-6),
    "nvidia_smi_clocks_max_memory_clock_hz": ("memory_clock_max_mhz", 1e-6),
    "nvidia_smi_pcie_link_gen_current": ("pcie_gen", 1),
    "nvidia_smi_pcie_link_gen_max": ("pcie_gen_max", 1),
    "nvidia_smi_pcie_link_width_current": ("pcie_width", 1),
    "nvidia_smi_pcie_link_width_max": ("pcie_width_max", 1),
    "nvidia_smi_utilization_gpu_ratio": ("utilisation_percent", 100),
    "nvidia_smi_temperature_gpu": ("temperature_c", 1),
    "nvidia_smi_clocks_event_reasons_active": ("throttle", 1),
    "nvidia_smi_clocks_throttle_reasons_active": ("throttle", 1),
}
"""Series, what they are here, and what makes MiB, MHz and percent of them."""


def parse_exporter(text: str, where: str) -> HostHardware:
    """The record of a scrape; `where` names it in errors. Raises UsageError where no series of an exporter is in it."""
    try:
        dcgm, smi = (list(samples(text, prefix)) for prefix in ("DCGM_FI_", "nvidia_smi_"))
    except ValueError as error:
        raise UsageError(str(error), where=where, remedy="give the /metrics of an exporter") from None
    if dcgm:
        return _host(dcgm, DCGM, _DCGM, id_label="gpu", name_label="modelName", driver_label="DCGM_FI_DRIVER_VERSION")
    if smi:
        return _host(smi, SMI, _SMI, id_label="uuid", name_label="name", driver_label="driver_version")
    what = "holds no series of the DCGM exporter or of nvidia_gpu_exporter"
    raise UsageError(what, where=where, remedy="give the exporter's address, often port 9400 or 9835")


def _host(
    found: Iterable[Sample],
    source: str,
    table: dict[str, tuple[GpuName, float]],
    *,
    id_label: str,
    name_label: str,
    driver_label: str,
) -> HostHardware:
    told: dict[str, dict[GpuName, Fact]] = {}
    indices: dict[str, int] = {}
    driver: Fact = unknown(f"{source} does not tell it")
    for sample in found:
        key = sample.labels.get(id_label)
        if key is None:
            continue
        facts = told.setdefault(key, {})
        for label, name in ((name_label, "product"), ("driver_model_current", "driver_model")):
            if label in sample.labels and name not in facts:
                facts[name] = read_value(name, sample.labels[label], f"{source} {label}")  # type: ignore[index, arg-type]
        if driver.value is None and driver_label in sample.labels:
            driver = read_value("product", sample.labels[driver_label], f"{source} {driver_label}")
        if sample.name == "nvidia_smi_index" and sample.value == int(sample.value):
            indices[key] = int(sample.value)
        if sample.name in table:
            name, factor = table[sample.name]
            facts.setdefault(name, _fact(name, sample, factor, source))
    order = sorted(told, key=lambda key: (indices.get(key, int(key) if key.isdecimal() else 0), key))
    gpus = tuple(complete_gpu(place, told[key], source) for place, key in enumerate(order))
    return HostHardware(
        source=source,
        driver=driver,
        cuda=unknown(f"{source} does not tell it"),
        wsl=wsl_by_driver_model(gpus, source),
        p2p=unknown(f"{source} does not tell it"),
        gpus=gpus,
    )


def _fact(name: GpuName, sample: Sample, factor: float, source: str) -> Fact:
    source = f"{source} {sample.name}"
    if not math.isfinite(sample.value) or sample.value < 0 or sample.value >= _BLANK:
        return unknown(f"{source} has no value")
    if name == "throttle":
        return known(reasons_of(int(sample.value)), source)
    return known(as_number(round(sample.value * factor, 3)), source)
