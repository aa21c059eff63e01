"""Counting bases: what a published number may have counted, each as a formula over measured counts and times.

A basis is a numerator over a clock (`numerators`) or one of the other habits of those who publish (`others`): a best
second, a sum over streams or GPUs, a line of the engine's log. Rates of one stream run from its first to its last event
(`decode`, the first event's tokens left out) or from send to end (`request`); rates of the system run over one window
of all streams.
"""

from collections.abc import Sequence

from auditor.core.bases.kinds import (
    Basis,
    BasisValue,
    Counts,
    Extras,
    Load,
    One,
    Recounted,
    Sample,
    minus,
)
from auditor.core.bases.numerators import NUMERATORS, numerator_bases
from auditor.core.bases.others import OTHERS, SEVERAL_GPUS, SEVERAL_REQUESTS, SEVERAL_STREAMS
from auditor.core.counting.ledger import CellLedger, ExchangeLedger, RoundLedger
from auditor.core.record import six
from auditor.core.stats import Estimate, estimate
from auditor.terms import Rung

__all__ = [
    "BASES",
    "Basis",
    "BasisValue",
    "Counts",
    "Extras",
    "Load",
    "One",
    "Recounted",
    "Sample",
    "bases_of",
    "find",
    "sample_of",
]

BASES: tuple[Basis, ...] = (*numerator_bases(), *OTHERS)
"""Every rule, each once."""

_NO_EXTRAS = Extras()
_OF_DRAFTS = (
    *(f"{numerator.id}/" for numerator in NUMERATORS if numerator.is_of_drafts),
    "drafted-x-streams",
    "verified-x-streams",
    "delivered+drafted-x-streams",
)
_OF_REASONING = ("reasoning-dropped/", "reasoning-twice/")


def bases_of(
    cell: CellLedger, load: Load, lines: Sequence[ExchangeLedger] = (), extras: Extras = _NO_EXTRAS
) -> tuple[BasisValue, ...]:
    """Every basis on this cell, with an interval from its rounds; rounds without a complete exchange are left out.

    `lines` are the exchanges of the ledger; without them, and without `extras`, some rules have no value. A rule that
    cannot differ from another here (times one stream, drafts where nothing was drafted) is left out.
    """
    samples = [sample_of(one, lines, extras) for one in cell.rounds if one.complete]
    return tuple(_value(basis, samples, load) for basis in BASES if _applies(basis, samples, load))


def find(values: Sequence[BasisValue], identifier: str) -> BasisValue | None:
    """The basis of that id."""
    return next((value for value in values if value.id == identifier), None)


def sample_of(one: RoundLedger, lines: Sequence[ExchangeLedger] = (), extras: Extras = _NO_EXTRAS) -> Sample:
    """A round as the rules see it."""
    own = [line for line in lines if line.exchange in one.exchanges and line.status == "complete"]
    firsts = [line.times.first_ns for line in own if line.times.first_ns is not None]
    lasts = [line.times.last_ns for line in own if line.times.last_ns is not None]
    return Sample(
        counts=one.tally,
        first_tokens=minus(one.tally.delivered, one.decode_tokens),
        decode_ns=one.decode_ns,
        e2e_ns=one.e2e_ns,
        window_ns=one.window_ns,
        span_ns=max(lasts) - min(firsts) if lasts and len(firsts) == len(lasts) == len(own) else None,
        each=tuple(_one(line) for line in own) if len(own) == one.complete else (),
        peak_tokens=one.peak_second_tokens,
        peak_total=one.peak_second_total,
        peak_events=one.peak_second_events,
        recounted=_recounted(own, extras) if len(own) == one.complete else Recounted(),
        log_rates=tuple(extras.log_rates.get(one.repeat, ())),
    )


def _one(line: ExchangeLedger) -> One:
    delivered = line.tally.delivered
    return One(
        delivered=delivered,
        decode_tokens=line.times.tokens_after_first,
        decode_ns=line.times.decode_ns,
        e2e_ns=line.times.e2e_ns,
    )


def _recounted(lines: Sequence[ExchangeLedger], extras: Extras) -> Recounted:
    others = [extras.recounted.get(line.exchange, Recounted()) for line in lines]
    wholes = [line.counts.get(Rung.RETOKENISED) for line in lines]
    return Recounted(
        whole=_sum([other.whole if whole is None else whole for whole, other in zip(wholes, others, strict=True)]),
        by_event=_sum([other.by_event for other in others]),
        other=_sum([other.other for other in others]),
    )


def _sum(values: Sequence[float | None]) -> float | None:
    return None if not values or None in values else sum(value or 0 for value in values)


def _applies(basis: Basis, samples: Sequence[Sample], load: Load) -> bool:
    """With one stream its request is the window, and times one is nothing; so with GPUs, requests, repeats, drafts."""
    if load.streams == 1 and (basis.id.endswith("/system") or basis.id in SEVERAL_STREAMS):
        return False
    if load.streams > 1 and basis.is_best and not basis.id.endswith("/system"):
        return False
    if (load.gpus or 0) < 2 and basis.id in SEVERAL_GPUS:
        return False
    if basis.id in SEVERAL_REQUESTS and all(sample.counts.requests == 1 for sample in samples):
        return False
    if basis.is_best and len(samples) < 2:
        return False
    if basis.id.startswith(_OF_DRAFTS) and samples and all(sample.counts.drafted == 0 for sample in samples):
        return False
    none_reasoned = bool(samples) and all(sample.counts.reasoning == 0 for sample in samples)
    return not (none_reasoned and basis.id.startswith(_OF_REASONING))


def _value(basis: Basis, samples: Sequence[Sample], load: Load) -> BasisValue:
    known = [rate for sample in samples if (rate := basis.rate(sample, load)) is not None]
    if not known or len(known) < len(samples):
        return _record(basis, None, f"needs {basis.needs}")
    if basis.is_best:
        words = f"the best of {len(known)} repeats has no interval"
        return _record(basis, Estimate(value=six(max(known)), n=len(known), reason=words), None)
    return _record(basis, estimate(known), None)


def _record(basis: Basis, value: Estimate | None, reason: str | None) -> BasisValue:
    return BasisValue(
        id=basis.id,
        name=basis.name,
        formula=basis.formula,
        unit=basis.unit,
        is_honest=basis.is_honest,
        estimate=value,
        reason=reason,
    )
