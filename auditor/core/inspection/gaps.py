"""The gaps between events: multiples of a round time, gaps that are too even, stretches that occur twice.

Gaps of 0 (events of one socket read) say nothing and are left out.
"""

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from auditor.core.imports.measured import Measured, gaps
from auditor.core.imports.record import Request
from auditor.core.inspection.record import Checked, Misfit, Strength, Unchecked
from auditor.core.wording import figure, percent, plural

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LEAST = 30
"""Gaps below which nothing is said of their distribution."""
HONEST = "80 recordings of real servers (59 streams, 21 result files; most on loopback)"
_ROUND_NS = (10**8, 5 * 10**7, 2 * 10**7, 10**7, 5 * 10**6, 2 * 10**6, 10**6)
_NEAR_NS = 1_000
"""What a time written as seconds in a float may be off, ns."""
_MANY = 0.5
_COARSE_NS = 5 * 10**6
_EVEN, _VERY_EVEN = 0.01, 0.001
_COPY_CHANCE = 1e-9
_MOST_GAPS = 200_000
_LONGEST = 64
_MOST_NS = 2**62


def nonzero(measured: Measured) -> "NDArray[np.int64]":
    """Every gap above 0 of the requests that ended well, ns; of very many the first."""
    import numpy as np

    every: list[int] = []
    for one in measured.done:
        every += positive(one)
        if len(every) > _MOST_GAPS:
            break
    return np.array(every[:_MOST_GAPS], np.int64)


def positive(one: Request) -> list[int]:
    """The gaps above 0 of one request, ns; what no array holds is cut."""
    return [min(gap, _MOST_NS) for gap in gaps(one) if gap > 0]


def resolution(found: "NDArray[np.int64]") -> int:
    """The largest time of which all gaps are multiples, ns: the clock's, or that of whoever wrote the file."""
    import numpy as np

    return int(np.gcd.reduce(found)) if len(found) else 0


def are_multiples(measured: Measured) -> Checked:
    """Are the gaps multiples of a round time, more often than the clock of the file explains?"""
    import numpy as np

    found = nonzero(measured)
    if len(found) < LEAST:
        yield _too_few(len(found))
        return
    if len(np.unique(found)) == 1:
        return  # said of evenness
    fine = max(2 * _NEAR_NS, resolution(_rounded(np.concatenate([found, _marks(measured)]))))
    for unit in _ROUND_NS:
        by_chance = fine / unit
        share = float((np.minimum(found % unit, unit - found % unit) <= _NEAR_NS).mean())
        if share >= _MANY and by_chance <= 0.2:
            words = (f"{percent(share)} of {len(found):,} gaps between events are multiples of {_time(unit)}; times of "
                     f"this file's fineness would be so in {percent(by_chance)}.")  # fmt: skip
            yield Misfit(id="gaps-round", strength="odd", sentence=words,
                         seen_in_honest=f"0 of {HONEST}: at most 5 % were multiples of 1 ms")  # fmt: skip
            return
    if fine >= 10**6:
        words = f"All times of the file are whole multiples of {_time(fine)}: no finer ones were recorded."
        strength: Strength = "odd" if fine >= _COARSE_NS else "note"
        yield Misfit(id="clock-coarse", strength=strength, sentence=words, seen_in_honest=f"0 of {HONEST}")


def _marks(measured: Measured) -> "NDArray[np.int64]":
    """Times that are no gaps: to the first token and to the end, ns."""
    import numpy as np

    marks = [min(mark, _MOST_NS) for one in measured.done for mark in (one.ttft_ns, one.e2e_ns) if mark and mark > 0]
    return np.array(marks[:_MOST_GAPS], np.int64)


def are_even(measured: Measured) -> Checked:
    """Do the gaps vary as those of a server do? The middle half of them, as a share of the median."""
    import numpy as np

    found = nonzero(measured)
    if len(found) < LEAST:
        yield _too_few(len(found))
        return
    low, median, high = np.percentile(found, [25, 50, 75])
    if resolution(_rounded(found)) >= median / 20 and len(np.unique(found)) > 1:
        yield Unchecked("the times of this file are too coarse to tell how even the gaps are")
        return
    spread = (high - low) / median
    if spread >= _EVEN:
        return
    words = (f"The middle half of {len(found):,} gaps lies within {percent(spread) if spread else '0 %'} of the median,"
             f" {_time(median)}.")  # fmt: skip
    yield Misfit(id="gaps-even", strength="odd" if spread < _VERY_EVEN else "note", sentence=words,
                 seen_in_honest=f"0 of {HONEST}; the most even had 2.7 %")  # fmt: skip


def are_copied(measured: Measured) -> Checked:
    """Does a stretch of gaps occur twice, longer than chance allows for values as common as these?"""
    series = [positive(one) for one in measured.done]
    total = sum(map(len, series))
    if total < LEAST:
        yield _too_few(total)
        return
    if total > _MOST_GAPS:
        yield Unchecked(f"more than {_MOST_GAPS:,} gaps")
        return
    length = _telling_length(series, total)
    if length is None:
        yield Unchecked("the gaps take too few values for a stretch of them to be told from another")
        return
    if pairs := list(_twice(series, length)):
        first, second, run = pairs[0]
        more = f", and {plural(len(pairs) - 1, 'more such stretch', 'more such stretches')}" if len(pairs) > 1 else ""
        words = f"{run} gaps one after the other are the same in request {first + 1} and in request {second + 1}{more}."
        words += f" By chance {length} would be once in a thousand million such files."
        yield Misfit(id="gaps-copied", strength="odd", sentence=words, seen_in_honest="0 of 24 results")


def _telling_length(series: Sequence[Sequence[int]], total: int) -> int | None:
    """Gaps that a stretch must have so that two alike are no chance: M^2 / 2 * (sum p^2)^L <= 1e-9."""
    import numpy as np

    _, counts = np.unique(np.concatenate([np.array(one, np.int64) for one in series]), return_counts=True)
    alike = float(((counts / total) ** 2).sum())
    if alike > 0.5:
        return None
    length = math.ceil(math.log(_COPY_CHANCE * 2 / total**2) / math.log(alike))
    return max(4, length) if length <= _LONGEST else None


def _twice(series: Sequence[Sequence[int]], length: int) -> Iterator[tuple[int, int, int]]:
    """Stretches that occurred before: the two requests, and how long the stretch is."""
    seen: dict[tuple[int, ...], tuple[int, int]] = {}
    for number, one in enumerate(series):
        at = 0
        while at + length <= len(one):
            key = tuple(one[at : at + length])
            earlier = seen.setdefault(key, (number, at))
            if earlier == (number, at) or (earlier[0] == number and at - earlier[1] < length):
                at += 1
                continue
            run, other = length, series[earlier[0]]
            while at + run < len(one) and earlier[1] + run < len(other) and one[at + run] == other[earlier[1] + run]:
                run += 1
            yield earlier[0], number, run
            at += run


def _rounded(found: "NDArray[np.int64]") -> "NDArray[np.int64]":
    """Gaps to the microsecond: a float of seconds holds no more of a time since 1970."""
    return (found + 500) // 1000 * 1000


def _too_few(number: int) -> Unchecked:
    return Unchecked(f"the file has the times of {number:,} gaps between events; {LEAST} are needed")


def _time(ns: float) -> str:
    return f"{figure(ns / 1e6)} ms"
