"""The record of what was imported: who made it, how good it is as evidence, its requests, and the figures it prints."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from auditor.core.judging.verdict import Finding
from auditor.core.record import Record
from auditor.terms import Rung, VerdictKind


class Grade(StrEnum):
    """How good a file is as evidence, the best first."""

    RAW = "raw"
    """What the server sent is in it, so tokens can be counted again."""
    TIMED = "timed"
    """Every request with its times on one clock, and its own count."""
    UNTIMED = "untimed"
    """Every request with its count and durations, without a common clock."""
    AGGREGATE = "aggregate"
    """Only sums, means and percentiles."""
    PROSE = "prose"
    """Words and pictures."""

    @property
    def strongest(self) -> VerdictKind:
        """The strongest verdict that evidence of this grade can carry. None of them carries a reproduction or its
        absence: that takes a replay."""
        if self in (Grade.RAW, Grade.TIMED):
            return VerdictKind.MISCOUNTED
        return VerdictKind.INCONCLUSIVE if self is Grade.PROSE else VerdictKind.UNLABELLED

    @property
    def meaning(self) -> str:
        """What is in such a file, in one line."""
        return _MEANINGS[self]


_MEANINGS = {
    Grade.RAW: "what the server sent is in it: tokens can be counted again",
    Grade.TIMED: "every request with its times on one clock, and its own count",
    Grade.UNTIMED: "every request with count and durations, without a common clock",
    Grade.AGGREGATE: "only sums, means and percentiles",
    Grade.PROSE: "words only",
}


_MOST = 2**63 - 1
Ns = Annotated[int, Field(ge=-_MOST, le=_MOST)]
"""Nanoseconds within 64 bits."""


class Drafts(Record):
    """What was drafted, as the file tells it. Symbols as in `auditor.terms`."""

    verify_steps: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    draft_width: int | None = None
    accepted_by_position: tuple[float, ...] | None = None
    """Accepted share of each position, 0 to 1."""
    reported: dict[str, float] = {}
    """The tool's own figures, under its own names: tools define them differently."""


class Request(Record):
    """One request. Durations run from its send; None where the file does not tell."""

    id: str | None = None
    send_ns: Ns | None = None
    """On the clock of the result."""
    ttft_ns: Ns | None = None
    """Send to the first event with any token."""
    last_ns: Ns | None = None
    """Send to the last event with any token."""
    e2e_ns: Ns | None = None
    """Send to the end."""
    events_ns: tuple[Ns, ...] | None = None
    """Send to each event with text or tokens; from the first of them where the send is not known."""
    event_tokens: tuple[int, ...] | None = None
    """Tokens of each of these events."""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    rung: Rung | None = None
    """Where the count of output tokens comes from; None where the tool does not record it."""
    counts: dict[Rung, int] = {}
    """Every count of output tokens that the file has."""
    reasoning_tokens: int | None = None
    requested_tokens: int | None = None
    """Output length that was asked for."""
    drafts: Drafts | None = None
    finish_reason: str | None = None
    error: str | None = None
    """Why it failed; None for a success."""
    text: str | None = Field(default=None, exclude=True, repr=False)
    """The answer; it is not written again, for the original file has it."""


class Figure(Record):
    """A figure as the tool prints it."""

    name: str
    """As the tool writes it."""
    value: float
    unit: str
    quantity: str | None = None
    """What it is by the tool's own formula: a counting basis of `auditor.core.bases`, or a quantity of `measured`."""
    label: str | None = None
    """What a reader takes it for, where that is another quantity."""


class Settings(Record):
    """What the file says of the load and the server; None where it says nothing."""

    model: str | None = None
    server: str | None = None
    """Kind of server, as the tool names it."""
    concurrency: int | None = None
    request_rate: str | None = None
    """Requests per second, or `inf` for all at once."""
    prompts: int | None = None
    prompt_tokens: int | None = None
    """Requested length."""
    output_tokens: int | None = None
    """Requested length."""
    gpus: int | None = None
    speculation: str | None = None
    more: dict[str, str] = {}


class ImportFinding(Finding):
    """A finding about an imported file, with the figure that it is about."""

    figure: str | None = None
    """Name as the tool writes it."""
    printed: float | None = None
    right: float | None = None
    """The right figure, from the same file; None where the file does not allow it."""
    unit: str | None = None


Clock = Literal["epoch", "monotonic", "none"]
"""Of `send_ns`: since 1970, from an arbitrary origin, or not on one clock."""


class Result(Record):
    """One measurement of a file that may hold several."""

    name: str
    grade: Grade
    grade_because: str
    counted_by: str
    """How the tool counts output tokens, in words."""
    settings: Settings = Settings()
    clock: Clock = "none"
    started: str | None = None
    """As the file says it."""
    duration_ns: Ns | None = None
    """The tool's own window."""
    requests: tuple[Request, ...] = ()
    figures: tuple[Figure, ...] = ()
    drafts: Drafts | None = None
    """Of the whole run."""
    missing: tuple[str, ...] = ()
    """What the file could have told and does not, and where it comes from."""
    findings: tuple[ImportFinding, ...] = ()


class Original(Record):
    """A file as it was handed in."""

    name: str
    part: str
    """What it is within its format."""
    sha256: str
    size: int
    """Bytes."""
    stored: str | None = None
    """Name of the file beside this record that has the bytes; None where they were not kept."""
    not_kept_because: str | None = None


class Imported(Record):
    """`import.json`: what one tool wrote, from one or several files; the requests are in `requests.jsonl`."""

    import_version: Literal[1] = 1
    format: str
    tool: str
    tool_version: str | None = None
    """None where the file does not say."""
    originals: tuple[Original, ...]
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()

    @property
    def grade(self) -> Grade:
        """The best grade among its results."""
        return min((one.grade for one in self.results), key=list(Grade).index)
