"""What others measured and physics needs: all-reduce over PCIe, acceptance of drafts, energy of DRAM."""

import functools
from collections.abc import Iterable

from auditor.reference.rows import Row, load


class AllReduce(Row):
    """Time of one all-reduce between cards without a fast link."""

    gpus: int
    method: str
    link: str
    us_by_bytes: dict[int, float]
    """Microseconds by payload, bytes."""
    note: str | None = None
    sources: tuple[str, ...] = ()

    def floor_us(self, payload: int) -> float:
        """The least time measured at the largest size up to the payload, or at any larger one, microseconds.

        So it never falls with the payload, though single measurements do.
        """
        known = [size for size in self.us_by_bytes if size <= payload]
        start = max(known) if known else min(self.us_by_bytes)
        return min(us for size, us in self.us_by_bytes.items() if size >= start)


class Acceptance(Row):
    """Published tokens per verify step, the bonus token included, by draft width."""

    model: str
    """Id of the row of the model."""
    of: str
    method: str
    conditions: str
    length_by_k: dict[int, float]
    sources: tuple[str, ...]


class DramEnergy(Row):
    """Energy of moving a bit."""

    memory: str
    pj_per_bit: tuple[float, float]
    """Least and most that sources give, picojoule."""
    note: str | None = None
    sources: tuple[str, ...]


@functools.cache
def _tables() -> dict[str, list[dict[str, object]]]:
    return load("measured.json")


def all_reduces(gpus: int) -> tuple[AllReduce, ...]:
    """The measurements for that many cards; empty where there are none."""
    rows = (AllReduce.model_validate(row) for row in _tables()["all_reduce"])
    return tuple(row for row in rows if row.gpus == gpus)


def acceptances(model: str) -> tuple[Acceptance, ...]:
    """The published acceptance lengths of a model, by the id of its row."""
    rows = (Acceptance.model_validate(row) for row in _tables()["acceptance"])
    return tuple(row for row in rows if row.model == model)


def dram_energy(memory_type: str) -> DramEnergy | None:
    """The energy of that kind of memory; None where the material gives none."""
    rows: Iterable[DramEnergy] = (DramEnergy.model_validate(row) for row in _tables()["dram_energy"])
    wanted = memory_type.split()[0] if memory_type else ""
    return next((row for row in rows if row.memory.lower() == wanted.lower()), None)
