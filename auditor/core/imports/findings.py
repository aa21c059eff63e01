"""Makes findings about an imported result and its figures."""

from auditor.core.imports.measured import Measured
from auditor.core.imports.quantities import RULES
from auditor.core.imports.record import Figure, ImportFinding
from auditor.core.judging.verdict import Gravity
from auditor.core.wording import figure as shown
from auditor.terms import Outcome

TOLERANCE = 0.01
"""Relative difference that rounding and the choice of percentile may make."""
ASK = "ask for the file as the tool wrote it"
_NAMES = {identifier: basis.name for identifier, basis in RULES.items()} | {
    "itl": "the time between tokens",
    "icl": "the time between events",
    "tpot": "the time per token after the first",
    "tpot-with-first": "the request's time by its tokens, the wait for the first included",
    "request-rate": "a request's tokens by its time from send to end",
    "decode-rate": "a request's rate after its first token",
    "output_tokens": "delivered",
    "requested_tokens": "the requested length of all answers",
    "duration": "first send to last end",
    "concurrency": "requests in flight on average",
    "peak_concurrency": "most requests in flight at once",
}


def printed(measured: Measured, quantity: str) -> Figure | None:
    """The figure that is this quantity."""
    return next((one for one in measured.result.figures if one.quantity == quantity), None)


def is_near(value: float, right: float) -> bool:
    """Whether a printed figure is this one, but for rounding."""
    return abs(value - right) <= max(TOLERANCE * abs(right), 0.0051)


def name_of(quantity: str) -> str:
    """A quantity in words."""
    what, _, how = quantity.partition(":")
    name = _NAMES.get(what, what.replace("_", " "))
    return f"{name} ({how})" if how else name


def with_unit(value: float, one: Figure) -> str:
    """A value in the unit of a figure: `390 tokens/s`."""
    return f"{shown(value)} {one.unit}".rstrip()


def finding(
    identifier: str, outcome: Outcome, gravity: Gravity, sentence: str, remedy: str | None = None
) -> ImportFinding:
    """A finding about a result."""
    return ImportFinding(id=identifier, outcome=outcome, gravity=gravity, sentence=sentence, remedy=remedy)


def fails(identifier: str, sentence: str, remedy: str | None = None, *, gravity: Gravity = "note") -> ImportFinding:
    """Something that is not as it should be."""
    return finding(identifier, Outcome.FAILS, gravity, sentence, remedy)


def about(one: Figure, right: float | None, made: ImportFinding) -> ImportFinding:
    """The same, with the figure that it is about and the right one."""
    figures = {"figure": one.name, "printed": one.value, "right": right, "unit": one.unit}
    return made.model_copy(update=figures)
