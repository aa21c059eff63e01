"""What is compared: a value per repeat, made of the requests that completed on both sides."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from auditor.core.bases.kinds import per_second
from auditor.core.counting.gaps import quantile

if TYPE_CHECKING:
    from auditor.core.counting.exchange import Counted

Slot = tuple[int, int, str]
"""A request by repeat, index within the repeat, and prompt: the same on every side of a load."""
LEAST_MATCHED = 0.5
"""Share of a repeat's requests that must have completed on both sides for the repeat to count."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One complete request; None where the moment or the count is not known."""

    send_ns: int | None
    last_ns: int | None
    e2e_ns: int | None
    ttft_ns: int | None
    decode_ns: int | None
    delivered: int | None
    after_first: int | None
    """Tokens after the first event."""
    itl_ns: Any = None
    """Gaps between tokens, an array; None unless every event carried one token, and every step one event: what comes
    in bursts has gaps of no length between them, which are not how fast it is."""


Samples = Mapping[Slot, Sample]


@dataclass(frozen=True, slots=True)
class Quantity:
    """One thing that is compared."""

    id: str
    label: str
    unit: str
    is_rate: bool
    """Whether more is faster; of a time, less is."""
    value: Callable[[Sequence[Sample]], float | None]
    """Of the requests of one repeat."""
    needs_all: bool = False
    """Whether a repeat with a request missing has no value."""


def samples_of(counted: "Sequence[Counted]", cell: str) -> dict[Slot, Sample]:
    """The complete requests of a cell."""
    found = {}
    for item in counted:
        line = item.line
        if line.cell != cell or line.status != "complete":
            continue
        times = line.times
        found[line.repeat, line.index, line.prompt] = Sample(
            send_ns=times.send_ns,
            last_ns=times.last_ns,
            e2e_ns=times.e2e_ns,
            ttft_ns=times.ttft_ns,
            decode_ns=times.decode_ns,
            delivered=line.tally.delivered,
            after_first=times.tokens_after_first,
            itl_ns=_gaps(item),
        )
    return found


def _gaps(item: "Counted") -> Any:
    import numpy as np

    deliveries = item.stream.deliveries
    is_burst = any(step.deliveries > 1 for step in item.stream.steps or ())
    is_each = len(deliveries) > 0 and bool((deliveries.tokens == 1).all())
    return np.diff(deliveries.at_ns) if is_each and not is_burst else None


def matched(one: Samples, other: Samples, per_repeat: int) -> dict[int, list[Slot]]:
    """The requests that completed on both sides, by repeat; a repeat with too few of them is left out."""
    by_repeat: dict[int, list[Slot]] = {}
    for slot in sorted(one.keys() & other.keys()):
        by_repeat.setdefault(slot[0], []).append(slot)
    return {repeat: slots for repeat, slots in by_repeat.items() if len(slots) >= LEAST_MATCHED * per_repeat}


def by_repeat(
    quantity: Quantity, samples: Samples, slots: Mapping[int, Sequence[Slot]], per_repeat: int
) -> dict[int, float]:
    """The value of each repeat that has one above 0."""
    found = {}
    for repeat, own in slots.items():
        if quantity.needs_all and len(own) < per_repeat:
            continue
        value = quantity.value([samples[slot] for slot in own])
        if value is not None and value > 0:
            found[repeat] = value
    return found


def _sum(values: Sequence[int | None]) -> int | None:
    return None if None in values else sum(value or 0 for value in values)


def decode_rate(samples: Sequence[Sample]) -> float | None:
    """Tokens after the first event over first to last event, summed over requests; per second of one stream."""
    return per_second(_sum([one.after_first for one in samples]), _sum([one.decode_ns for one in samples]))


def _request_rate(samples: Sequence[Sample]) -> float | None:
    return per_second(_sum([one.delivered for one in samples]), _sum([one.e2e_ns for one in samples]))


def _system_rate(samples: Sequence[Sample]) -> float | None:
    sends, lasts = [one.send_ns for one in samples], [one.last_ns for one in samples]
    if None in sends or None in lasts:
        return None
    window = max(at for at in lasts if at is not None) - min(at for at in sends if at is not None)
    return per_second(_sum([one.delivered for one in samples]), window)


def _of_requests(of: Callable[[Sample], float | None], share: float) -> Callable[[Sequence[Sample]], float | None]:
    """A quantile of a time of each request, milliseconds; None where it would be that of the slowest request."""

    def value(samples: Sequence[Sample]) -> float | None:
        found = [of(one) for one in samples]
        if None in found or _is_slowest(len(found), share):
            return None
        return quantile(sorted(found), share) / 1e6  # type: ignore[arg-type]  # no None is left

    return value


def _of_gaps(share: float) -> Callable[[Sequence[Sample]], float | None]:
    """A quantile of the gaps between tokens of all requests, milliseconds."""

    def value(samples: Sequence[Sample]) -> float | None:
        import numpy as np

        gaps = [one.itl_ns for one in samples]
        if any(one is None for one in gaps):
            return None
        ordered = np.sort(np.concatenate(gaps))
        return None if _is_slowest(len(ordered), share) else float(quantile(ordered, share)) / 1e6  # type: ignore[arg-type]

    return value


def _is_slowest(number: int, share: float) -> bool:
    """Whether so few values have no such quantile but their greatest; of one, that is its median."""
    return not number or (number > 1 and math.ceil(share * number) == number) or (number == 1 and share > 0.5)


def _ttft(one: Sample) -> float | None:
    return one.ttft_ns


def _tpot(one: Sample) -> float | None:
    return None if one.decode_ns is None or not one.after_first else one.decode_ns / one.after_first


QUANTITIES = (
    Quantity("decode-rate", "decode rate of one stream", "tok/s", True, decode_rate),
    Quantity("request-rate", "request rate of one stream", "tok/s", True, _request_rate),
    Quantity("system-rate", "rate of all streams", "tok/s", True, _system_rate, needs_all=True),
    Quantity("ttft-median", "median TTFT", "ms", False, _of_requests(_ttft, 0.5)),
    Quantity("ttft-p90", "TTFT, 90 % quantile", "ms", False, _of_requests(_ttft, 0.9)),
    Quantity("tpot-median", "median TPOT", "ms", False, _of_requests(_tpot, 0.5)),
    Quantity("tpot-p90", "TPOT, 90 % quantile", "ms", False, _of_requests(_tpot, 0.9)),
    Quantity("itl-median", "median ITL", "ms", False, _of_gaps(0.5)),
    Quantity("itl-p99", "ITL, 99 % quantile", "ms", False, _of_gaps(0.99)),
)
BY_ID = {one.id: one for one in QUANTITIES}
