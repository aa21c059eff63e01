"""Where a fork left its upstream, and whose commits came since. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Literal

from auditor.core.record import Record

Relation = Literal["ancestor", "given", "same-tree", "nearest-tree", "tree"]
"""What the fork is compared with: a common `ancestor`; a commit that was `given`; or, without common history, an
upstream commit with the `same-tree` as the fork's first one, the upstream ref with the `nearest-tree`, or the tip's
`tree`."""
FIELDS = 9
_HELPERS = "%(trailers:key=Co-authored-by,valueonly,separator=%x1f)"
FORMAT = f"%m%x00%H%x00%P%x00%an%x00%at%x00%ct%x00%s%x00{_HELPERS}%x00%T"
"""Of `git log -z`: as many fields as `FIELDS`, each ended by a NUL."""
MOST_AUTHORS, MOST_NAME = 200, 120


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit."""

    id: str
    parents: tuple[str, ...]
    author: str
    authored_ns: int
    """When its author wrote it, by the author's own clock; ns since 1970."""
    committed_ns: int
    subject: str
    helpers: tuple[str, ...]
    """Names in Co-authored-by lines."""
    tree: str
    is_boundary: bool
    """Whether it is a parent of the fork's commits and not one of them."""

    @property
    def likeness(self) -> tuple[str, int, str]:
        """What a commit keeps when it is picked onto another branch."""
        return self.author, self.authored_ns, self.subject


class Author(Record):
    """Somebody's share of the fork's commits."""

    name: str
    commits: int
    """Written by this name, merges included."""
    helped: int
    """Named as co-author."""


class History(Record):
    """The fork's commits since it left the upstream."""

    head: str
    head_name: str | None
    """What was asked for, or the branch; None for a detached HEAD."""
    upstream: str | None
    """The upstream's tip; None where only a base was given."""
    upstream_name: str | None
    base: str
    """The commit that the fork is compared with."""
    base_name: str | None
    """What was asked for, or a ref of the upstream that is this commit."""
    base_ns: int | None
    """When it was committed; ns since 1970."""
    relation: Relation
    bases: int
    """How many best common ancestors there are; 0 without common history."""
    ahead: int
    """Commits that the upstream does not have."""
    behind: int | None
    """Commits of the upstream's tip that the fork does not have; None without an upstream."""
    merges: int
    upstream_merges: int
    """Merges that brought commits of the upstream in."""
    picked: int | None
    """Commits ahead with author, time and subject of one that the upstream has too; None without an upstream."""
    authors: tuple[Author, ...]
    """Those with the most commits first, at most `MOST_AUTHORS`."""
    more_authors: int
    first_ns: int | None
    """When the earliest commit ahead was committed; ns since 1970, None where there is none."""
    last_ns: int | None
    cut: int
    """Commits at which a shallow clone cuts the history: counts are then the least that is true."""


def read_commits(pieces: Iterable[bytes]) -> Iterator[Commit]:
    """Commits of `git log -z --format=FORMAT`, from its output in pieces of any size."""
    fields: list[bytes] = []
    rest = b""
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\0")
        fields += whole
        while len(fields) >= FIELDS:
            yield _commit(fields[:FIELDS])
            del fields[:FIELDS]


def authors_of(commits: Iterable[Commit]) -> tuple[tuple[Author, ...], int]:
    """Authors by their commits, and how many more there are."""
    wrote: Counter[str] = Counter()
    helped: Counter[str] = Counter()
    for commit in commits:
        wrote[commit.author] += 1
        helped.update(commit.helpers)
    names = sorted({*wrote, *helped}, key=lambda name: (-wrote[name], -helped[name], name))
    shown = tuple(Author(name=name, commits=wrote[name], helped=helped[name]) for name in names[:MOST_AUTHORS])
    return shown, max(0, len(names) - MOST_AUTHORS)


def merges_of(commits: Iterable[Commit], ahead: Set[str]) -> tuple[int, int]:
    """How many merges there are, and how many brought in commits that are not the fork's own."""
    merges = [commit for commit in commits if len(commit.parents) > 1]
    return len(merges), sum(any(parent not in ahead for parent in commit.parents) for commit in merges)


def _commit(fields: list[bytes]) -> Commit:
    mark, name, parents, author, authored, committed, subject, helpers, tree = (
        field.decode("utf-8", "replace") for field in fields
    )
    return Commit(
        id=name,
        parents=tuple(parents.split()),
        author=_name(author),
        authored_ns=_ns(authored),
        committed_ns=_ns(committed),
        subject=subject[:200],
        helpers=tuple(dict.fromkeys(_name(one.partition("<")[0]) for one in helpers.split("\x1f") if one.strip())),
        tree=tree,
        is_boundary=mark.strip() == "-",
    )


def _name(text: str) -> str:
    return " ".join(text.split())[:MOST_NAME] or "(no name)"


def _ns(text: str) -> int:
    """Seconds as ns; commits may hold any number, and one that is no time is 0."""
    return int(text) * 1_000_000_000 if text.isdigit() and len(text) < 12 else 0
