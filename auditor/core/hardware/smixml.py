"""Reads `nvidia-smi -q -x`, of old and new drivers. The file is a stranger's: no entity is expanded, nothing loaded."""

from xml.parsers import expat

from auditor.core.facts import Fact, known, unknown
from auditor.core.hardware import GpuFacts, GpuName, HostHardware, complete_gpu
from auditor.core.hardware.values import read_value
from auditor.errors import UsageError

TOOL = "nvidia-smi -q -x"
SIZE_LIMIT_BYTES = 16 << 20
_DEPTH_LIMIT = 32
_GPUS_LIMIT = 1024
_REMEDY = "save it with: nvidia-smi -q -x > FILE"

_PATHS: dict[GpuName, tuple[str, ...]] = {
    "product": ("product_name",),
    "pci_id": ("pci/pci_device_id",),
    "compute_capability": ("compute_cap", "compute_capability"),
    "memory_mib": ("fb_memory_usage/total",),
    "memory_used_mib": ("fb_memory_usage/used",),
    "power_limit_w": (
        "gpu_power_readings/current_power_limit",
        "gpu_power_readings/power_limit",
        "power_readings/power_limit",
        "module_power_readings/current_power_limit",
    ),
    "power_default_w": ("gpu_power_readings/default_power_limit", "power_readings/default_power_limit"),
    "power_draw_w": (
        "gpu_power_readings/instant_power_draw",
        "gpu_power_readings/average_power_draw",
        "gpu_power_readings/power_draw",
        "power_readings/power_draw",
    ),
    "sm_clock_mhz": ("clocks/sm_clock",),
    "sm_clock_max_mhz": ("max_clocks/sm_clock",),
    "memory_clock_mhz": ("clocks/mem_clock",),
    "memory_clock_max_mhz": ("max_clocks/mem_clock",),
    "pcie_gen": ("pci/pci_gpu_link_info/pcie_gen/current_link_gen",),
    "pcie_gen_max": ("pci/pci_gpu_link_info/pcie_gen/max_link_gen",),
    "pcie_gen_device": ("pci/pci_gpu_link_info/pcie_gen/max_device_link_gen",),
    "pcie_width": ("pci/pci_gpu_link_info/link_widths/current_link_width",),
    "pcie_width_max": ("pci/pci_gpu_link_info/link_widths/max_link_width",),
    "ecc": ("ecc_mode/current_ecc",),
    "utilisation_percent": ("utilization/gpu_util",),
    "temperature_c": ("temperature/gpu_temp",),
    "performance_state": ("performance_state",),
    "persistence": ("persistence_mode",),
    "driver_model": ("driver_model/current_dm",),
    "mig": ("mig_mode/current_mig",),
}
"""Where each value stands, newest drivers first."""
_REASON_FOLDERS = (
    ("clocks_event_reasons/", "clocks_event_reason_"),
    ("clocks_throttle_reasons/", "clocks_throttle_reason_"),
)


def parse_xml(data: bytes, where: str, source: str = TOOL) -> HostHardware:
    """The record of a `nvidia-smi -q -x`; `where` names it in errors. Raises UsageError for what is none."""
    host, gpus = _read(data, where)
    if not gpus:
        raise UsageError("names no GPU", where=where, remedy=_REMEDY)
    found = tuple(_gpu(index, values, source) for index, values in enumerate(gpus))
    return HostHardware(
        source=source,
        driver=_told(host, "driver_version", source),
        cuda=_told(host, "cuda_version", source),
        wsl=wsl_by_driver_model(found, source),
        p2p=unknown(f"{source} does not tell it; nvidia-smi topo -p2p r does"),
        gpus=found,
    )


def wsl_by_driver_model(gpus: tuple[GpuFacts, ...], source: str) -> Fact:
    """WDDM is the driver of Windows: the machine is Windows, or WSL2 on it. Its absence says nothing."""
    models = {gpu.text("driver_model") for gpu in gpus}
    if "WDDM" in models:
        return known(True, f"{source}, driver model WDDM: Windows or WSL2")
    return unknown(f"{source} shows no sign of it, which proves nothing")


def _gpu(index: int, values: dict[str, str], source: str) -> GpuFacts:
    told: dict[GpuName, Fact] = {}
    for name, paths in _PATHS.items():
        facts = [read_value(name, values.get(path), f"{source} {path}") for path in paths if path in values]
        first = next((fact for fact in facts if fact.value is not None), facts[0] if facts else None)
        if first is not None:
            told[name] = first
    throttle = _throttle(values, source)
    if throttle is not None:
        told["throttle"] = throttle
    return complete_gpu(index, told, source)


def _throttle(values: dict[str, str], source: str) -> Fact | None:
    for folder, prefix in _REASON_FOLDERS:
        inside = {path.removeprefix(folder): said for path, said in values.items() if path.startswith(folder)}
        if inside:
            active = [name.removeprefix(prefix) for name, said in inside.items() if said.strip() == "Active"]
            return known(", ".join(active) or "none", f"{source} {folder.rstrip('/')}")
    return None


def _told(host: dict[str, str], name: str, source: str) -> Fact:
    return read_value("product", host.get(name), f"{source} {name}")


def _read(data: bytes, where: str) -> tuple[dict[str, str], list[dict[str, str]]]:
    """Texts by path, of the host and of each GPU; raises UsageError."""
    if len(data) > SIZE_LIMIT_BYTES:
        raise UsageError(f"is longer than {SIZE_LIMIT_BYTES >> 20} MiB", where=where, remedy=_REMEDY)
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = reader.refuse_entity
    parser.buffer_text = True
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError) as error:
        raise UsageError(f"is no nvidia-smi XML ({error})", where=where, remedy=_REMEDY) from None
    return reader.host, reader.gpus


class _Reader:
    """Collects the text of every element without children, the first of its path."""

    def __init__(self) -> None:
        self.host: dict[str, str] = {}
        self.gpus: list[dict[str, str]] = []
        self.path: list[str] = []
        self.words = ""

    def start(self, name: str, _: object) -> None:
        if not self.path and name != "nvidia_smi_log":
            raise ValueError(f"it begins with {name[:40]}")
        if len(self.path) >= _DEPTH_LIMIT or len(self.gpus) > _GPUS_LIMIT:
            raise ValueError("it is nested too deep or too long")
        self.path.append(name)
        self.words = ""
        if len(self.path) == 2 and name == "gpu":
            self.gpus.append({})

    def text(self, data: str) -> None:
        self.words += data

    def end(self, _: str) -> None:
        path, said, self.words = self.path[1:], self.words.strip(), ""
        self.path.pop()
        if said and path:
            in_gpu = path[0] == "gpu" and len(path) > 1
            target = self.gpus[-1] if in_gpu else self.host
            target.setdefault("/".join(path[1:] if in_gpu else path), said)

    def refuse_entity(self, *_: object) -> None:
        raise ValueError("it declares entities, which nvidia-smi does not")
