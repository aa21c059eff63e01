"""A claim read every way that it allows, everything that it leaves open as favourably as can be."""

import math

from auditor.core.judging.ceiling import Reading, SideBound, Span
from auditor.core.physics.bounds import GB, MIB, compute_bound, power_bound
from auditor.core.physics.stated import Stated
from auditor.core.physics.step import Load, context_bytes, expected_step
from auditor.core.record import six
from auditor.core.wording import figure
from auditor.reference.measured import dram_energy

_RATES = ("bf16", "fp8", "fp4")


def cache_bytes(stated: Stated) -> float:
    """Bytes that the caches of all cards can hold, by the largest figure that any source gives."""
    sizes = [
        (gpu.l2_mb.most or 0.0) + ((gpu.last_cache_mb.most or 0.0) if gpu.last_cache_mb else 0.0) for gpu in stated.gpus
    ]
    return stated.count * max(sizes) * MIB


def plain_ceiling(stated: Stated) -> float | None:
    """Tokens per second of one stream without speculation, read most favourably; None where caches hold everything.

    The smallest layout, the context only where it and its format are stated, no state, the caches full of what is
    read, and the highest bandwidth that any source gives.
    """
    read = stated.choice.best.token_bytes() - cache_bytes(stated)
    if stated.context and stated.kv:
        read += context_bytes(stated.figures.architecture, stated.context, stated.kv[0])
    return None if read <= 0 else stated.streaming * stated.best_gbs * GB / read


def compute_ceiling(stated: Stated) -> float | None:
    """Tokens per second of all streams by the highest dense rate that any source gives; None where none does."""
    rates = [most for gpu in stated.gpus for name in _RATES if (most := gpu.rate(name).most) is not None]
    return compute_bound(stated.figures.params.active, stated.count, max(rates)) if rates else None


def readings_of(stated: Stated, claimed: Span | None) -> tuple[Reading, ...]:
    """Every reading: one stream or several, without speculation or with it, and what has no bound at all."""
    found: list[Reading] = []
    drafting = [] if stated.is_on else [False]
    drafting += [] if stated.is_off else [True]
    for drafted in drafting:
        if stated.counted in ("stream", "open") or (stated.counted == "all" and stated.streams in (None, 1)):
            found.append(_single(stated, drafted, claimed))
        if stated.counted in ("all", "open") and stated.streams != 1:
            found.append(_several(stated, drafted, claimed))
    if stated.counted in ("open", "unbounded"):
        words = "prompt tokens counted too, or a peak"
        why = "no bound: prompt tokens can come from a cache, and a bucket can hold tokens made before it"
        found.append(Reading(id="unbounded", words=words, ceiling=None, is_possible=None, sentence=why))
    return tuple(found)


def _single(stated: Stated, drafted: bool, claimed: Span | None) -> Reading:
    plain, length = plain_ceiling(stated), stated.longest if drafted else 1.0
    ceiling = _least(None if plain is None else plain * length, compute_ceiling(stated))
    words = f"a single stream {'with' if drafted else 'without'} speculation"
    marks = claimed or ()
    if ceiling is None:
        return _reading("single", drafted, words, None, None, "no bound: all that is read fits into the caches")
    sentence = f"at most {figure(ceiling, marks)} tok/s"
    if drafted and plain is not None:
        sentence += f", {figure(plain, marks)} without speculation x {length:.4g} tokens a step"
        sentence += f" ({stated.longest_because})"
    if claimed:
        over = claimed[0] / ceiling
        sentence += f"; the claim is {_times(over)} that" if over > 1 else ""
        if drafted and plain is not None and claimed[0] > plain:
            sentence += f"; it needs at least {figure(claimed[0] / plain)} tokens a step"
    return _reading("single", drafted, words, ceiling, claimed, sentence)


def _several(stated: Stated, drafted: bool, claimed: Span | None) -> Reading:
    plain, length, compute = plain_ceiling(stated), stated.longest if drafted else 1.0, compute_ceiling(stated)
    marks = claimed or ()
    all_cards = None if plain is None else plain * stated.count / stated.streaming
    memory = None if all_cards is None or stated.streams is None else all_cards * length * stated.streams
    ceiling = _least(memory, compute)
    name = "several" if stated.streams is None else f"{stated.streams:,}"
    words = f"{name} streams {'with' if drafted else 'without'} speculation"
    if ceiling is None:
        return _reading("several", drafted, words, None, None, "no bound: neither streams nor a dense rate are known")
    by = "if all streams use the same experts" if memory is not None and ceiling == memory else "by its operations"
    sentence = f"at most {figure(ceiling, marks)} tok/s {by}"
    if claimed and claimed[0] > ceiling:
        sentence += f"; the claim is {_times(claimed[0] / ceiling)} that"
    elif claimed and all_cards is not None and stated.streams is None and claimed[0] > all_cards * length:
        sentence += f"; it needs at least {math.ceil(claimed[0] / all_cards / length):,} streams"
    return _reading("several", drafted, words, ceiling, claimed, sentence)


def _reading(
    kind: str, drafted: bool, words: str, ceiling: float | None, claimed: Span | None, sentence: str
) -> Reading:
    possible = None if claimed is None or ceiling is None else claimed[0] <= ceiling
    return Reading(
        id=f"{kind}/{'drafted' if drafted else 'plain'}",
        words=words,
        ceiling=None if ceiling is None else six(ceiling),
        is_possible=possible,
        sentence=sentence,
    )


def sides_of(stated: Stated) -> tuple[SideBound, ...]:
    """What bounds it beside memory: operations, and power."""
    return (_compute(stated), _power(stated))


def _compute(stated: Stated) -> SideBound:
    layout = stated.choice.shown[0]
    cells = [(gpu, gpu.rate(name)) for gpu in stated.gpus for name in dict.fromkeys(("bf16", layout.rate))]
    rates = [rate for _, cell in cells for rate in (cell.least, cell.most) if rate is not None]
    if not rates:
        return SideBound(by="compute", rate=None, sentence="its dense rates are not known", source="")
    ends = [six(compute_bound(layout.active_params, stated.count, rate)) for rate in (min(rates), max(rates))]
    which = "BF16, as weight-only kernels compute," if layout.rate == "bf16" else f"BF16 to {layout.rate.upper()}"
    count = f"{layout.active_params / 1e9:.4g} billion parameters"
    words = f"2 operations x {count} a token, {which} at {_range(rates)} TFLOP/s a card"
    source = "; ".join(dict.fromkeys(cell.source for _, cell in cells))
    return SideBound(by="compute", rate=(ends[0], ends[1]), sentence=words, source=source)


def _power(stated: Stated) -> SideBound:
    """All power into moving bytes: nothing is left for computing, so it is far above what can be."""
    energy = dram_energy(stated.gpus[0].memory_type)
    limits = [stated.power_limit_w] if stated.power_limit_w else [gpu.tdp_w.most for gpu in stated.gpus]
    watts = [limit for limit in limits if limit is not None]
    if energy is None or not watts:
        why = f"the energy of a bit of {stated.gpus[0].memory_type} is not in the material"
        return SideBound(by="power", rate=None, sentence=why, source="")
    step = expected_step(stated.choice.shown[0], stated.figures.architecture, Load()).total
    least, most = energy.pj_per_bit
    low = power_bound(step, 1, stated.count * min(watts), most)
    high = power_bound(step, 1, stated.count * max(watts), least)
    limit = "power limit of the claim" if stated.power_limit_w else "TDP"
    words = (
        f"one stream without speculation, {_range(watts)} W a card ({limit}) all spent on moving "
        f"{step / GB:.4g} GB a token at {least:g} to {most:g} pJ a bit"
    )
    return SideBound(by="power", rate=(six(low), six(high)), sentence=words, source="; ".join(energy.sources))


def _least(*values: float | None) -> float | None:
    known = [value for value in values if value is not None]
    return min(known) if known else None


def _times(factor: float) -> str:
    return f"{figure(factor, (1.0,), 3)} times"


def _range(values: list[float]) -> str:
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
