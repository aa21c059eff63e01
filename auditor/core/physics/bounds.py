"""Bounds on tokens per second from the bytes of a step, the operations of a token, and power."""

from dataclasses import dataclass

from auditor.core.physics.step import Load, StepBytes, expected_step, plain_step
from auditor.core.physics.weights import Weights
from auditor.reference.models import Architecture

GB = 1e9
MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Machine:
    """The cards that stream weights at the same time."""

    gpus: int
    gbs: float
    """Memory bandwidth of each, GB/s."""

    @property
    def rate(self) -> float:
        """Bytes per second of all."""
        return self.gpus * self.gbs * GB


def rate_bound(
    step_bytes: float, machine: Machine, streams: int = 1, length: float = 1.0, extra_s: float = 0.0
) -> float:
    """Tokens per second of all streams: B L / (bytes / bandwidth + extra)."""
    return streams * length / (step_bytes / machine.rate + extra_s)


def expected_bound(
    weights: Weights, arch: Architecture, load: Load, machine: Machine, length: float = 1.0, extra_s: float = 0.0
) -> tuple[float, StepBytes]:
    """Tokens per second if routing is independent and an MTP head is read for every drafted token, and the step."""
    step = expected_step(weights, arch, load)
    return rate_bound(step.total, machine, load.streams, length, extra_s), step


def hard_bound(
    weights: Weights, arch: Architecture, load: Load, machine: Machine, length: float = 1.0, cached: float = 0.0
) -> float:
    """Tokens per second that no routing and no drafter can exceed: L x the bound without speculation.

    `cached` bytes of a step may come from caches instead of memory.
    """
    step = plain_step(weights, arch, load)
    return rate_bound(max(1.0, step.total - cached), machine, load.streams, length)


def collectives(arch: Architecture, load: Load) -> int:
    """All-reduces of one step under tensor parallelism: two a layer, and two for each step of an MTP head."""
    return 2 * arch.layers + (2 * load.draft_tokens if load.has_head else 0)


def payload(arch: Architecture, load: Load) -> int:
    """Bytes of one all-reduce: the BF16 activations of one token a stream, which drafts only add to."""
    return arch.hidden * 2 * load.streams


def compute_bound(active_params: int, gpus: int, tflops: float) -> float:
    """Tokens per second from two operations a parameter and token."""
    return gpus * tflops * 1e12 / (2 * active_params)


def power_bound(step_bytes: float, length: float, watts: float, pj_per_bit: float) -> float:
    """Tokens per second if all power went into moving the bytes of a step, streams taken as one."""
    return length * watts / (step_bytes * 8 * pj_per_bit * 1e-12)
