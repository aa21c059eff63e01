"""The record of a claim laid beside what the hardware can do at most. `auditor.core.physics` fills it."""

from typing import Literal

from auditor.core.record import Record

Span = tuple[float, float]
"""Lowest and highest, where sources or readings differ; both alike where they do not."""

Possibility = Literal["within", "open", "impossible", "unknown"]
"""`within` the hard bound in every reading that has one; `open`: above it in some readings of what is not stated;
`impossible`: above it in the most favourable reading of everything; `unknown`: no bound could be worked out, or the
claim has no number."""


class Input(Record):
    """A figure that the bounds rest on."""

    name: str
    value: str
    """With its unit."""
    source: str


class AllReduceBound(Record):
    """The expected bound with the least time that all-reduces were measured to take."""

    method: str
    """`one-shot` or `NCCL`."""
    rate: Span
    """Tokens per second."""
    count: int
    """All-reduces a step."""
    each_us: float
    """Microseconds of one."""
    source: str


class Line(Record):
    """The bounds at one setting."""

    conditions: str
    """`without speculation`, `mtp, k = 2, L = 2.73`."""
    layout: str
    """Layout of the weights."""
    streams: int
    draft_tokens: int
    length: Span
    """Tokens per verify step, the bonus token included; 1 without speculation."""
    length_source: str | None = None
    step_gb: float
    """Bytes that a step is expected to read, GB."""
    distinct: float | None = None
    """Expected distinct experts in each layer; None in a dense model."""
    expected: Span
    """Tokens per second of all streams under independent routing, with the drafter's weights read."""
    hard: Span
    """Tokens per second if all tokens of a step used the same experts and drafts cost nothing."""
    of_expected: Span | None = None
    """The claim as a share of it; None without a number."""
    of_hard: Span | None = None
    all_reduce: tuple[AllReduceBound, ...] = ()
    reason: str | None = None
    """Why there is no all-reduce bound."""


class Reading(Record):
    """One reading of what the claim leaves open, everything else read as favourably as can be."""

    id: str
    words: str
    ceiling: float | None
    """Tokens per second; None where nothing bounds it."""
    is_possible: bool | None
    """None where nothing bounds it, or the claim has no number."""
    sentence: str


class SideBound(Record):
    """A bound by something other than memory."""

    by: Literal["compute", "power"]
    rate: Span | None
    """Tokens per second; None where it could not be worked out."""
    sentence: str
    """How it comes about, or why there is none."""
    source: str


class Ceiling(Record):
    """A claim beside the bounds."""

    claim_text: str | None
    low: float | None = None
    high: float | None = None
    """The interval that the claim's rounding allows, tokens per second."""
    outcome: Possibility
    sentence: str
    until: tuple[str, ...] = ()
    """What would have to be stated to decide."""
    hard: float | None = None
    """The hard bound in the most favourable reading of everything that is not stated, tokens per second: the highest of
    the readings that have one; which have none is in `readings`."""
    lines: tuple[Line, ...] = ()
    readings: tuple[Reading, ...] = ()
    sides: tuple[SideBound, ...] = ()
    inputs: tuple[Input, ...] = ()
    remarks: tuple[str, ...] = ()
    """What a reader should ask about a number that is possible."""
    assumptions: tuple[str, ...] = ()
    """What the most favourable reading takes for granted."""
