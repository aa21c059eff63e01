"""What the site knows of each audit: records of values as they are shown, kept in `audits.json` between two makings.

A record outlives the folder that it was read from: what was published once never goes without a trace.
"""

from typing import Literal

from auditor.core.amendment import Amendment, words_of
from auditor.core.record import Record

AUDITS = "audits.json"
"""Everything that the pages show, for programs and for the next making."""


class Fact(Record):
    """What the claim states of a field, and what a run saw of it."""

    stated: str | None = None
    observed: str | None = None
    """Where it was observed, and is not what is stated."""


class Figure(Record):
    """A number as it is shown, and its value for sorting."""

    text: str
    value: float | None = None
    note: str = ""


class Kept(Record):
    """A file of an audit's folder."""

    name: str
    bytes: int
    sha256: str
    left_out: str | None = None
    """Why it is not on the site; None where it is."""


class Judgement(Record):
    """A verdict that an audit had at some time."""

    verdict: str
    said: str
    judged_ns: int | None = None
    """Since the epoch; None where nobody noted it."""


class Entry(Record):
    """An audit: a run, an imported result or the review of a claim; or a claim that nobody audited yet, the review of a
    fork, or the table of a sweep."""

    kind: Literal["run", "import", "claim-review", "claim", "review", "sweep"]
    """`review` is of a fork."""
    id: str
    slug: str
    """Name of its folder on the site."""
    claim: str | None
    """Id of the claim; None for an import that belongs to none."""
    case: str | None = None
    """The measurement, where the claim has several."""
    title: str
    claimed: Figure = Figure(text="")
    basis: str | None = None
    """On which the claim says that its number is; None where it does not."""
    delivered: Figure = Figure(text="")
    factor: Figure = Figure(text="")
    """Claimed by delivered."""
    verdict: str | None = None
    grade: str | None = None
    """Of the evidence of a review; None for others."""
    sentence: str | None = None
    said: str | None = None
    """The verdict's sentence as the folder or the database has it, by which earlier verdicts are told apart."""
    judged_ns: int | None = None
    """When it got the verdict that stands, since the epoch; None where nobody noted it."""
    reasons: tuple[str, ...] = ()
    flags: tuple[tuple[str, str], ...] = ()
    """Rehearsal, quick look, partial run: a word and what it means."""
    hardware: Fact = Fact()
    model: Fact = Fact()
    engine: Fact = Fact()
    speculation: Fact = Fact()
    fork: str | None = None
    """Slug of the fork that the claim names, or that was reviewed."""
    started: str | None = None
    """UTC, ISO 8601; None where it is not known."""
    started_ns: int | None = None
    """The same, since the epoch."""
    amendments: tuple[Amendment, ...] = ()
    amended: tuple[str, ...] = ()
    """Kinds of amendments that only the database knows, whose text is not at hand."""
    judgements: tuple[Judgement, ...] = ()
    """Earlier verdicts, the oldest first; the one that stands is not among them."""
    files: tuple[Kept, ...] = ()
    problem: str | None = None
    """Why its folder could not be read, wholly or in part."""
    removed_ns: int | None = None
    """When it was first missing from what is published, since the epoch."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What names it among all."""
        return self.kind, self.claim or "", self.slug

    @property
    def is_audit(self) -> bool:
        """Whether something was measured or read for a claim's sake."""
        return self.kind in ("run", "import", "claim-review")

    @property
    def is_row(self) -> bool:
        """Whether it stands in the table: all but a review that can be read, which stands on the page of its fork."""
        return self.kind != "review" or self.fork is None

    @property
    def place(self) -> str:
        """Its folder on the site, from the root, with a slash at the end."""
        if self.kind == "claim":
            return f"claims/{self.claim}/"
        if self.claim is None:
            return f"{self.kind}s/{self.slug}/"
        return f"claims/{self.claim}/{self.kind.removeprefix('claim-')}s/{self.slug}/"

    @property
    def words(self) -> tuple[str, ...]:
        """What became of it: withdrawn, removed, corrected, reply."""
        words = words_of((*self.amended, *(one.kind for one in self.amendments)))
        return (*words, *(("removed",) if self.removed_ns is not None else ()))

    @property
    def is_standing(self) -> bool:
        """Whether it may speak for its claim."""
        return self.verdict is not None and not {"withdrawn", "removed"} & set(self.words)

    @property
    def updated_ns(self) -> int:
        """When it was last added to; 0 where nothing is known."""
        moments = (0, self.started_ns, self.removed_ns, *(one.at_ns for one in self.amendments))
        return max(one for one in moments if one is not None)


class ClaimCard(Record):
    """What the page of a claim says of it."""

    id: str
    title: str
    facts: tuple[tuple[str, str], ...] = ()
    """Label and words."""
    url: str | None = None
    """Where it was published."""
    cases: int = 1


class ForkCard(Record):
    """A changed engine that claims name."""

    slug: str
    name: str
    url: str | None = None
    commits: tuple[str, ...] = ()
    """Commits that claims name, in full or their beginning."""


class Audits(Record):
    """`audits.json`."""

    site_version: Literal[1] = 1
    entries: tuple[Entry, ...] = ()
    claims: dict[str, ClaimCard] = {}
    forks: dict[str, ForkCard] = {}


class Problem(Record):
    """A folder of the reports tree that could not be shown, or not wholly."""

    folder: str
    """Below the reports tree."""
    what: str
