"""The GPUs of this machine by NVML, where nvidia-ml-py (the extra `gpu`) and a driver are there."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from auditor.core.facts import Fact, known, unknown
from auditor.core.hardware import GpuFacts, GpuName, HostHardware, complete_gpu
from auditor.core.hardware.values import as_number, reasons_of

TOOL = "NVML"
_MIB = 1 << 20


def read_nvml() -> HostHardware | None:
    """The record; None where NVML is not there."""
    try:
        import pynvml as nvml
    except ImportError:
        return None
    try:
        nvml.nvmlInit()
    except nvml.NVMLError:
        return None
    try:
        handles = [nvml.nvmlDeviceGetHandleByIndex(index) for index in range(nvml.nvmlDeviceGetCount())]
        if not handles:
            return None
        cuda = nvml.nvmlSystemGetCudaDriverVersion()
        return HostHardware(
            source=TOOL,
            driver=known(str(nvml.nvmlSystemGetDriverVersion()), f"{TOOL} nvmlSystemGetDriverVersion"),
            cuda=known(f"{cuda // 1000}.{cuda % 1000 // 10}", f"{TOOL} nvmlSystemGetCudaDriverVersion"),
            wsl=own_wsl(),
            p2p=_peers(nvml, handles),
            gpus=tuple(_gpu(nvml, index, handle) for index, handle in enumerate(handles)),
        )
    except nvml.NVMLError:
        return None
    finally:
        with suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


def own_wsl(path: Path = Path("/proc/version")) -> Fact:
    """Whether this machine runs under WSL2, by the words of its kernel."""
    try:
        return known("microsoft" in path.read_text(errors="replace").lower(), "/proc/version")
    except OSError:
        return unknown("there is no /proc/version")


def _gpu(nvml: Any, index: int, handle: Any) -> GpuFacts:
    told: dict[GpuName, Fact] = {}

    def take(name: GpuName, function: str, *words: Any, convert: Callable[[Any], Any] = lambda value: value) -> None:
        source = f"{TOOL} {function}"
        try:
            told[name] = known(convert(getattr(nvml, function)(handle, *words)), source)
        except (nvml.NVMLError, AttributeError) as error:
            told[name] = unknown(f"{source}: {error}")

    def watts(value: int) -> int | float:
        return as_number(value / 1000)

    take("product", "nvmlDeviceGetName", convert=str)
    take(
        "pci_id",
        "nvmlDeviceGetPciInfo",
        convert=lambda one: f"{one.pciDeviceId & 0xFFFF:04x}:{one.pciDeviceId >> 16:04x}",
    )
    take("compute_capability", "nvmlDeviceGetCudaComputeCapability", convert=lambda pair: f"{pair[0]}.{pair[1]}")
    take("memory_mib", "nvmlDeviceGetMemoryInfo", convert=lambda one: one.total // _MIB)
    take("memory_used_mib", "nvmlDeviceGetMemoryInfo", convert=lambda one: one.used // _MIB)
    take("power_limit_w", "nvmlDeviceGetEnforcedPowerLimit", convert=watts)
    take("power_default_w", "nvmlDeviceGetPowerManagementDefaultLimit", convert=watts)
    take("power_draw_w", "nvmlDeviceGetPowerUsage", convert=watts)
    take("sm_clock_mhz", "nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_SM)
    take("sm_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_SM)
    take("memory_clock_mhz", "nvmlDeviceGetClockInfo", nvml.NVML_CLOCK_MEM)
    take("memory_clock_max_mhz", "nvmlDeviceGetMaxClockInfo", nvml.NVML_CLOCK_MEM)
    take("pcie_gen", "nvmlDeviceGetCurrPcieLinkGeneration")
    take("pcie_gen_max", "nvmlDeviceGetMaxPcieLinkGeneration")
    take("pcie_gen_device", "nvmlDeviceGetGpuMaxPcieLinkGeneration")
    take("pcie_width", "nvmlDeviceGetCurrPcieLinkWidth")
    take("pcie_width_max", "nvmlDeviceGetMaxPcieLinkWidth")
    take("ecc", "nvmlDeviceGetEccMode", convert=lambda pair: bool(pair[0]))
    take("throttle", "nvmlDeviceGetCurrentClocksThrottleReasons", convert=lambda mask: reasons_of(int(mask)))
    take("utilisation_percent", "nvmlDeviceGetUtilizationRates", convert=lambda one: one.gpu)
    take("temperature_c", "nvmlDeviceGetTemperature", nvml.NVML_TEMPERATURE_GPU)
    take("performance_state", "nvmlDeviceGetPerformanceState", convert=lambda state: f"P{state}")
    take("persistence", "nvmlDeviceGetPersistenceMode", convert=bool)
    take("mig", "nvmlDeviceGetMigMode", convert=lambda pair: bool(pair[0]))
    told["nvlink"] = _links(nvml, handle)
    return complete_gpu(index, told, TOOL)


def _links(nvml: Any, handle: Any) -> Fact:
    """How many NVLinks are up."""
    source, up = f"{TOOL} nvmlDeviceGetNvLinkState", 0
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        try:
            up += bool(nvml.nvmlDeviceGetNvLinkState(handle, link))
        except nvml.NVMLError as error:
            if link == 0:
                return unknown(f"{source}: {error}")
            break
    return known(up, source)


def _peers(nvml: Any, handles: list[Any]) -> Fact:
    """Whether all GPUs read each other's memory."""
    source = f"{TOOL} nvmlDeviceGetP2PStatus"
    pairs = [(one, other) for one in handles for other in handles if one is not other]
    if not pairs:
        return unknown("there is one GPU")
    try:
        good = [nvml.nvmlDeviceGetP2PStatus(*pair, nvml.NVML_P2P_CAPS_INDEX_READ) == 0 for pair in pairs]
    except nvml.NVMLError as error:
        return unknown(f"{source}: {error}")
    return known("all" if all(good) else "some" if any(good) else "none", source)
