"""Reads `nvidia-smi --query-gpu=... --format=csv`, with or without units, one row a GPU or many rows over time."""

import csv
import io
import re

from auditor.core.facts import Fact, unknown
from auditor.core.hardware import GpuName, HostHardware, complete_gpu
from auditor.core.hardware.smixml import SIZE_LIMIT_BYTES, wsl_by_driver_model
from auditor.core.hardware.values import read_value
from auditor.errors import UsageError

TOOL = "nvidia-smi --query-gpu"
COLUMNS: dict[str, GpuName] = {
    "name": "product",
    "gpu_name": "product",
    "pci.device_id": "pci_id",
    "compute_cap": "compute_capability",
    "memory.total": "memory_mib",
    "memory.used": "memory_used_mib",
    "power.limit": "power_limit_w",
    "power.default_limit": "power_default_w",
    "power.draw": "power_draw_w",
    "power.draw.instant": "power_draw_w",
    "clocks.current.sm": "sm_clock_mhz",
    "clocks.sm": "sm_clock_mhz",
    "clocks.max.sm": "sm_clock_max_mhz",
    "clocks.current.memory": "memory_clock_mhz",
    "clocks.mem": "memory_clock_mhz",
    "clocks.max.memory": "memory_clock_max_mhz",
    "pcie.link.gen.current": "pcie_gen",
    "pcie.link.gen.gpucurrent": "pcie_gen",
    "pcie.link.gen.max": "pcie_gen_max",
    "pcie.link.gen.gpumax": "pcie_gen_device",
    "pcie.link.width.current": "pcie_width",
    "pcie.link.width.max": "pcie_width_max",
    "ecc.mode.current": "ecc",
    "utilization.gpu": "utilisation_percent",
    "temperature.gpu": "temperature_c",
    "pstate": "performance_state",
    "persistence_mode": "persistence",
    "driver_model.current": "driver_model",
    "mig.mode.current": "mig",
    "clocks_event_reasons.active": "throttle",
    "clocks_throttle_reasons.active": "throttle",
}
"""Columns of nvidia-smi and what they are here; other columns are passed over and kept nowhere."""
_REMEDY = "save it with: nvidia-smi --query-gpu=index,name,... --format=csv > FILE"


def parse_csv(data: bytes, where: str, source: str = TOOL) -> HostHardware:
    """The record of a query, of the last row of each GPU where there are several; `where` names it in errors.

    Raises UsageError for what is no such table.
    """
    rows = csv_rows(data, where)
    latest: dict[int, dict[str, str]] = {}
    for place, row in enumerate(rows):
        said = row.get("index", str(place))
        if not said.isdecimal() or len(said) > 6:
            raise UsageError(f"row {place + 2} has no GPU index", where=where, remedy=_REMEDY)
        latest[int(said)] = row
    gpus = tuple(complete_gpu(index, _told(row, source), source) for index, row in sorted(latest.items()))
    driver = read_value("product", next(iter(latest.values())).get("driver_version"), f"{source} driver_version")
    return HostHardware(
        source=source,
        driver=driver,
        cuda=unknown(f"{source} does not tell it"),
        wsl=wsl_by_driver_model(gpus, source),
        p2p=unknown(f"{source} does not tell it"),
        gpus=gpus,
    )


def csv_rows(data: bytes, where: str) -> list[dict[str, str]]:
    """The rows by the names of their columns, units left out of the names; raises UsageError."""
    if len(data) > SIZE_LIMIT_BYTES:
        raise UsageError(f"is longer than {SIZE_LIMIT_BYTES >> 20} MiB", where=where, remedy=_REMEDY)
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig")), skipinitialspace=True, strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"is no table of nvidia-smi ({error})", where=where, remedy=_REMEDY) from None
    lines = [line for line in lines if any(cell.strip() for cell in line)]
    names = [re.sub(r"\s*\[.*\]$", "", cell.strip()) for cell in lines[0]] if lines else []
    if not set(names) & set(COLUMNS):
        raise UsageError("has no column of nvidia-smi", where=where, remedy=_REMEDY)
    rows = [dict(zip(names, line, strict=True)) for line in lines[1:] if len(line) == len(names)]
    if not rows:
        raise UsageError("names no GPU", where=where, remedy=_REMEDY)
    return rows


def _told(row: dict[str, str], source: str) -> dict[GpuName, Fact]:
    told: dict[GpuName, Fact] = {}
    for column, said in row.items():
        name = COLUMNS.get(column)
        if name is not None and (name not in told or told[name].value is None):
            told[name] = read_value(name, said.strip(), f"{source} {column}")
    return told
