"""Samples the PCIe traffic of this machine's GPUs while a run is measured, once a second by NVML.

NVML counts for 20 ms on each call, one call for each direction of each GPU, so that ten times a second would be too
often: eight GPUs take a third of a second. What happens between two readings is not seen.
"""

import threading
import time
from contextlib import suppress
from typing import Any

from auditor.core.hardware.telemetry import Sample

PERIOD_S = 1.0
FUNCTION = "nvmlDeviceGetPcieThroughput"
NOT_HERE = "nvidia-smi does not tell it, and NVML only on the machine of the GPUs (--nvml)"


class PcieSampler:
    """Reads both directions of every GPU in a thread of its own; no failure of it ends a run."""

    def __init__(self, period_s: float = PERIOD_S) -> None:
        self._period_s = period_s
        self._samples: list[Sample] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._read, name="pcie", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> list[Sample]:
        """End; all samples, or one that says why there is none."""
        self._over.set()
        self._thread.join(timeout=5)
        return list(self._samples)

    def _read(self) -> None:
        try:
            import pynvml as nvml
        except ImportError:
            self._samples.append(no_traffic("nvidia-ml-py is not installed (the extra `gpu`)"))
            return
        try:
            nvml.nvmlInit()
        except nvml.NVMLError as error:
            self._samples.append(no_traffic(f"NVML: {error}"))
            return
        with suppress(nvml.NVMLError):
            handles = dict(enumerate(map(nvml.nvmlDeviceGetHandleByIndex, range(nvml.nvmlDeviceGetCount()))))
            while handles and not self._over.is_set():
                for gpu, handle in list(handles.items()):
                    sample = _sample(nvml, gpu, handle)
                    self._samples.append(sample)
                    if sample.pcie_reason is not None:
                        del handles[gpu]
                self._over.wait(self._period_s)
        with suppress(nvml.NVMLError):
            nvml.nvmlShutdown()


def no_traffic(why: str, gpu: int = 0) -> Sample:
    """A sample that says why there is no PCIe traffic."""
    return Sample(t_ns=time.perf_counter_ns(), gpu=gpu, pcie_reason=why)


def _sample(nvml: Any, gpu: int, handle: Any) -> Sample:
    try:
        rx = nvml.nvmlDeviceGetPcieThroughput(handle, nvml.NVML_PCIE_UTIL_RX_BYTES)
        tx = nvml.nvmlDeviceGetPcieThroughput(handle, nvml.NVML_PCIE_UTIL_TX_BYTES)
    except (nvml.NVMLError, AttributeError) as error:
        return no_traffic(f"NVML {FUNCTION}: {error}", gpu)
    return Sample(t_ns=time.perf_counter_ns(), gpu=gpu, pcie_rx_kbs=float(rx), pcie_tx_kbs=float(tx))
