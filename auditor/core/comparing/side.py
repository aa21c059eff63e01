"""A side of a comparison: one load on one server of one run, with what is known of how it was measured."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import TYPE_CHECKING

from auditor.core.comparing.quantities import Samples, samples_of
from auditor.core.facts import RunFacts, ServerFacts
from auditor.core.judging.summary import speculation_words
from auditor.core.judging.verdict import Finding, Verdict
from auditor.core.plan.plan import Cell, Plan
from auditor.core.record import Record
from auditor.core.wording import plural
from auditor.errors import UsageError
from auditor.terms import Outcome

if TYPE_CHECKING:
    from auditor.core.counting.account import Account

MOST_SIDES = len(ascii_uppercase)
Load = tuple[int, int, float | None, str | None]
"""Streams, tokens asked for, requests per second, and how they are spaced: what must be equal."""


@dataclass(frozen=True, slots=True)
class Run:
    """A judged run."""

    plan: Plan
    facts: RunFacts
    account: "Account"
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Side:
    """One load on one server of one run."""

    letter: str
    """Of the server within its run."""
    run: Run
    cell: Cell
    samples: Samples

    @property
    def server(self) -> ServerFacts:
        """What the server said of itself."""
        return self.run.facts.servers[self.cell.server]

    @property
    def load(self) -> Load:
        """What must be equal for sides to stand beside each other."""
        return load_of(self.cell)

    @property
    def failed(self) -> tuple[Finding, ...]:
        """Checks that failed; a run's checks are about its judged server."""
        is_judged = self.cell.server == self.run.plan.subject.server
        return tuple(one for one in self.run.verdict.findings if is_judged and one.outcome is Outcome.FAILS)


class SideSummary(Record):
    """A server of a run, for those who read the comparison."""

    letter: str
    run: str
    claim: str
    started: str
    """UTC, ISO 8601."""
    server: str
    """Its key within the run."""
    url: str
    kind: str
    version: str | None
    model: str
    speculation: str
    verdict: str
    """Of the run, about the claim that it was made for."""
    flags: tuple[str, ...]
    """Rehearsal, quick, partial."""


def load_of(cell: Cell) -> Load:
    """The load of a cell."""
    return cell.streams, cell.max_tokens, cell.rate, cell.arrivals


def load_words(load: Load) -> str:
    """`1 stream x 1,200 tokens`."""
    streams, tokens, rate, arrivals = load
    how = plural(streams, "stream") if rate is None else f"{rate:g} requests a second ({arrivals})"
    return f"{how} x {plural(tokens, 'token')}"


def sides_of(runs: Sequence[Run]) -> tuple[Side, ...]:
    """All servers of one run, the one without speculation first; of several runs the judged server of each.

    Raises UsageError.
    """
    letters: dict[tuple[int, str], str] = {}
    sides, seen = [], set()
    for number, run in enumerate(runs):
        cells = [cell for cell in run.plan.cells if cell.role != "warmup" and not cell.text]
        if len(runs) > 1:
            cells = [cell for cell in cells if cell.server == run.plan.subject.server]
        else:
            cells.sort(key=lambda cell: cell.role != "reference")
        for cell in cells:
            key = (number, cell.server)
            if (key, load_of(cell)) in seen:
                continue
            seen.add((key, load_of(cell)))
            if key not in letters and len(letters) == MOST_SIDES:
                raise UsageError(f"more than {MOST_SIDES} servers are given", remedy="compare fewer at a time")
            letter = letters.setdefault(key, ascii_uppercase[len(letters)])
            sides.append(Side(letter, run, cell, samples_of(run.account.counted, cell.key)))
    return tuple(sides)


def side_summary(side: Side) -> SideSummary:
    """The server of a side in the figures that are shown."""
    summary, server = side.run.verdict.run, side.server
    version = server.value("version")
    return SideSummary(
        letter=side.letter,
        run=summary.run,
        claim=side.run.verdict.claimed.claim,
        started=summary.started,
        server=side.cell.server,
        url=server.url,
        kind=server.kind,
        version=None if version is None else str(version),
        model=server.model,
        speculation=speculation_words(server),
        verdict=side.run.verdict.kind.value,
        flags=tuple(name for name in ("rehearsal", "quick", "partial") if getattr(summary, name)),
    )
