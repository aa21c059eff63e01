"""Counting bases: what a published number may have counted, each as a formula over measured counts and times.

A basis is a numerator over a clock. Rates of one stream run from its first to its last event (`decode`, the first
event's tokens left out) or from send to end (`request`); rates of the system run over one window of all streams.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from auditor.core.ledger import CellLedger, RoundLedger
from auditor.core.record import Record
from auditor.core.stats import Estimate, estimate
from auditor.core.tally import Tally

Count = Callable[[Tally], int | None]
Rate = Callable[[RoundLedger, "Load"], float | None]


@dataclass(frozen=True, slots=True)
class Load:
    """What a basis needs to know beside the counts."""

    streams: int
    gpus: int | None = None


@dataclass(frozen=True, slots=True)
class Basis:
    """One counting rule."""

    id: str
    name: str
    formula: str
    rate: Rate
    is_honest: bool
    """Whether it counts delivered tokens under a label that people use for them."""
    needs: str
    """What must have been counted."""


class BasisValue(Record):
    """A basis, measured."""

    id: str
    name: str
    formula: str
    is_honest: bool
    estimate: Estimate | None = None
    reason: str | None = None
    """Why there is no value."""


@dataclass(frozen=True, slots=True)
class _Numerator:
    id: str
    name: str
    formula: str
    count: Count
    in_first_event: Literal["tokens", "one", "nothing"]
    """What of it came with the first event of each stream, which is outside the decode clock."""
    is_honest: bool = False
    needs: str = "drafts counted by the server"


def _verified(t: Tally) -> int | None:
    return _plus(t.first, t.target_steps, t.drafted)


def _full(t: Tally) -> int | None:
    if t.verify_steps is None or t.plain_steps is None or t.draft_width is None or t.first is None:
        return None
    return t.first + t.plain_steps + t.verify_steps * (t.draft_width + 1)


_NUMERATORS = (
    _Numerator("delivered", "delivered", "N", lambda t: t.delivered, "tokens", True, "delivered tokens counted"),
    _Numerator("total", "prompt and delivered", "I + N", lambda t: _plus(t.prompt_tokens, t.delivered), "tokens", True,
               "prompt tokens counted"),
    _Numerator("drafted", "drafted", "D", lambda t: t.drafted, "nothing"),
    _Numerator("accepted", "accepted, without the bonus token", "A", lambda t: t.accepted, "nothing"),
    _Numerator("verified", "verified positions", "F + P + S + D", _verified, "tokens", needs="steps and drafts"),
    _Numerator("delivered+drafted", "delivered and drafted", "N + D", lambda t: _plus(t.delivered, t.drafted),
               "tokens"),
    _Numerator("drafted+rejected", "drafted and rejected", "D + R", lambda t: _plus(t.drafted, t.rejected), "nothing"),
    _Numerator("events", "events of the stream", "E", lambda t: t.events, "one", needs="a stream"),
    _Numerator("steps", "steps of the target", "F + P + S", lambda t: _plus(t.first, t.target_steps), "one",
               needs="steps"),
    _Numerator("full", "full acceptance", "F + P + S x (k + 1)", _full, "tokens", needs="steps and draft width"),
    _Numerator("requested", "requested length", "max_tokens", lambda t: t.requested, "tokens", needs="a request"),
)  # fmt: skip


def _over_decode(numerator: _Numerator) -> Rate:
    def rate(one: RoundLedger, load: Load) -> float | None:
        count = numerator.count(one.tally)
        firsts = {"tokens": _minus(one.tally.delivered, one.decode_tokens), "one": one.tally.requests, "nothing": 0}
        outside = firsts[numerator.in_first_event]
        if count is None or outside is None or not one.decode_ns:
            return None
        return (count - outside) * 1e9 / one.decode_ns

    return rate


def _over_requests(numerator: _Numerator) -> Rate:
    def rate(one: RoundLedger, load: Load) -> float | None:
        count = numerator.count(one.tally)
        return None if count is None or not one.e2e_ns else count * 1e9 / one.e2e_ns

    return rate


def _over_window(numerator: _Numerator) -> Rate:
    def rate(one: RoundLedger, load: Load) -> float | None:
        count = numerator.count(one.tally)
        return None if count is None or not one.window_ns else count * 1e9 / one.window_ns

    return rate


def _peak(one: RoundLedger, load: Load) -> float | None:
    return None if one.peak_second_tokens is None else float(one.peak_second_tokens)


def _fencepost(one: RoundLedger, load: Load) -> float | None:
    delivered = one.tally.delivered
    return None if delivered is None or not one.decode_ns else delivered * 1e9 / one.decode_ns


def _times_streams(one: RoundLedger, load: Load) -> float | None:
    rate = _over_decode(_NUMERATORS[0])(one, load)
    return None if rate is None else rate * load.streams


def _per_gpu(one: RoundLedger, load: Load) -> float | None:
    rate = _over_window(_NUMERATORS[0])(one, load)
    return None if rate is None or not load.gpus else rate / load.gpus


def _build() -> tuple[Basis, ...]:
    found = []
    for numerator in _NUMERATORS:
        honest = numerator.is_honest
        for clock, label, rate, is_label in (
            ("decode", "first to last event", _over_decode(numerator), numerator.id == "delivered"),
            ("request", "send to end", _over_requests(numerator), honest),
            ("system", "all streams, one window", _over_window(numerator), honest),
        ):
            if numerator.id == "total" and clock == "decode":
                continue  # the prompt is not read while tokens are decoded
            name = f"{numerator.name}, {label}"
            formula = f"{numerator.formula} per s of {clock}"
            found.append(Basis(f"{numerator.id}/{clock}", name, formula, rate, honest and is_label, numerator.needs))
    tokens, times = "the tokens of each event", "the times of events"
    found += [
        Basis("peak/second", "delivered, best second", "max N in 1 s", _peak, True, tokens),
        Basis(
            "fencepost/decode",
            "delivered, the first event counted and its time not",
            "N / decode",
            _fencepost,
            False,
            times,
        ),
        Basis(
            "decode-x-streams",
            "decode rate of one stream times streams",
            "C x N / decode",
            _times_streams,
            False,
            times,
        ),
        Basis("delivered/gpu", "delivered by all streams, per GPU", "N / W / G", _per_gpu, True, "the number of GPUs"),
    ]
    return tuple(found)


BASES: tuple[Basis, ...] = _build()


def bases_of(cell: CellLedger, load: Load) -> tuple[BasisValue, ...]:
    """Every basis on this cell, with an interval from its rounds; rounds without a complete exchange are left out."""
    rounds = [one for one in cell.rounds if one.complete]
    return tuple(_value(basis, rounds, load) for basis in BASES if _applies(basis, load))


def find(values: Sequence[BasisValue], identifier: str) -> BasisValue | None:
    """The basis of that id."""
    return next((value for value in values if value.id == identifier), None)


def _applies(basis: Basis, load: Load) -> bool:
    """With one stream, its request is the window, and times one is nothing."""
    if load.streams == 1 and (basis.id.endswith("/system") or basis.id == "decode-x-streams"):
        return False
    return not (basis.id == "delivered/gpu" and (load.gpus or 0) < 2)


def _value(basis: Basis, rounds: Sequence[RoundLedger], load: Load) -> BasisValue:
    known = [rate for one in rounds if (rate := basis.rate(one, load)) is not None]
    shared = {"id": basis.id, "name": basis.name, "formula": basis.formula, "is_honest": basis.is_honest}
    if not known or len(known) < len(rounds):
        return BasisValue.model_validate({**shared, "reason": f"needs {basis.needs}"})
    return BasisValue.model_validate({**shared, "estimate": estimate(known)})


def _minus(left: int | None, right: int | None) -> int | None:
    return None if left is None or right is None else left - right


def _plus(*terms: int | None) -> int | None:
    return None if None in terms else sum(term or 0 for term in terms)
