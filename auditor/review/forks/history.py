"""From the commits of a fork and its upstream to where they parted; without common history, to what comes nearest."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from auditor.core.forks.history import FORMAT, Commit, History, Relation, authors_of, merges_of, read_commits
from auditor.errors import UsageError
from auditor.review.forks.repository import Pool

MOST_AHEAD = 200_000
"""Commits of a fork that are listed; more are taken as no fork."""
MOST_BASES, MOST_NEAR = 8, 200
"""Common ancestors, and upstream refs without common history, that are compared by what differs."""
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Upstream:
    """What the fork is set against."""

    tips: dict[str, str]
    """Commits by the names of the refs that lead to them; every commit that they reach is the upstream's."""
    tip: str
    name: str


class Start(NamedTuple):
    """The commit that the fork is compared with."""

    commit: str
    relation: Relation
    name: str | None = None
    bases: int = 0


def own_commits(
    pool: Pool, head: str, upstream: Upstream | None, base: Start | None
) -> tuple[list[Commit], list[Commit]]:
    """The commits that the upstream and the base have not, newest first, and the parents that they have of these."""
    known = {base.commit} if base else set()
    known |= set(upstream.tips.values()) if upstream else set()
    found = list(_log(pool, [head, *(f"^{one}" for one in sorted(known))], "--boundary"))
    return [one for one in found if not one.is_boundary], [one for one in found if one.is_boundary]


def read_history(
    pool: Pool,
    head: tuple[str, str | None],
    upstream: Upstream | None,
    base: Start | None,
    ahead: list[Commit],
    boundary: list[Commit],
) -> History:
    """Where the fork left the upstream, which is `base` where one is given, and its commits in numbers."""
    start = base or _start(pool, head[0], ahead, boundary, upstream)
    authors, more = authors_of(ahead)
    merges, upstream_merges = merges_of(ahead, {commit.id for commit in ahead})
    times = [commit.committed_ns for commit in ahead]
    behind, picked = _beside(pool, head[0], ahead, upstream)
    return History(
        head=head[0],
        head_name=head[1],
        upstream=upstream.tip if upstream else None,
        upstream_name=upstream.name if upstream else None,
        base=start.commit,
        base_name=start.name or _name_of(start.commit, upstream),
        base_ns=next((one.committed_ns for one in _log(pool, [start.commit], "-1")), None),
        relation=start.relation,
        bases=start.bases,
        ahead=len(ahead),
        behind=behind,
        merges=merges,
        upstream_merges=upstream_merges,
        picked=picked,
        authors=authors,
        more_authors=more,
        first_ns=min(times, default=None),
        last_ns=max(times, default=None),
        cut=len(pool.shallow),
    )


def _log(pool: Pool, revisions: list[str], *words: str) -> Iterator[Commit]:
    given = "".join(f"{one}\n" for one in revisions).encode()
    command = ("--git-dir=.", "log", "-z", f"--format=tformat:{FORMAT}", *words, "--stdin")
    with pool.git.stream(*command, at=pool.folder, stdin=given) as output:
        for number, commit in enumerate(read_commits(iter(lambda: output.read(_PIECE), b""))):
            if number > MOST_AHEAD and "--boundary" in words:
                raise UsageError(f"more than {MOST_AHEAD:,} commits that the upstream has not", remedy="give a --base")
            yield commit


def _start(pool: Pool, head: str, ahead: list[Commit], boundary: list[Commit], upstream: Upstream | None) -> Start:
    """The best common ancestor; of several, the one from which the fewest files differ."""
    assert upstream is not None
    if not ahead:
        return Start(head, "ancestor", bases=1)
    if not boundary:
        return _without_ancestor(pool, head, ahead, upstream)
    newest = sorted(boundary, key=lambda commit: -commit.committed_ns)[:MOST_NEAR]
    best = pool.run("merge-base", "--independent", *(commit.id for commit in newest)).decode().split()
    order = [commit.id for commit in newest if commit.id in best]
    return Start(_nearest(pool, head, order[:MOST_BASES]), "ancestor", bases=len(order))


def _without_ancestor(pool: Pool, head: str, ahead: list[Commit], upstream: Upstream) -> Start:
    """For a history that shares no commit: the upstream commit whose files the fork began with, or comes nearest to."""
    roots = [commit for commit in ahead if not commit.parents or commit.id in pool.shallow]
    trees = {commit.tree for commit in roots}
    if roots:
        for commit in _log(pool, sorted(set(upstream.tips.values()))):
            if commit.tree in trees:
                return Start(commit.id, "same-tree")
    by_commit = {commit: name for name, commit in upstream.tips.items() if name != "HEAD"}
    if len(by_commit) < 2:
        return Start(upstream.tip, "tree", upstream.name)
    origin = roots[-1].id if roots else head
    nearest = _nearest(pool, origin, list(dict.fromkeys([upstream.tip, *by_commit]))[:MOST_NEAR])
    return Start(nearest, "nearest-tree")


def _nearest(pool: Pool, head: str, candidates: list[str]) -> str:
    """The candidate from which the fewest files differ, the first of equals."""
    if len(candidates) == 1:
        return candidates[0]
    names = pool.run("rev-parse", *(f"{one}^{{tree}}" for one in (head, *candidates))).decode().split()
    counts: dict[str, int] = dict.fromkeys(names[1:], 0)
    given = "".join(f"{names[0]} {tree}\n" for tree in counts).encode()
    command = ("--git-dir=.", "diff-tree", "--stdin", "-r", "--raw", "--no-renames", "--no-abbrev")
    at = ""
    with pool.git.stream(*command, at=pool.folder, stdin=given) as output:
        for line in output:
            if line.startswith(b":"):
                counts[at] += 1
            elif line.strip():
                at = line.decode().split()[1]
    return min(candidates, key=lambda one: counts[names[1 + candidates.index(one)]])


def _beside(pool: Pool, head: str, ahead: list[Commit], upstream: Upstream | None) -> tuple[int | None, int | None]:
    """Commits of the upstream's tip that the fork has not, and how many of the fork's are like one of them."""
    if upstream is None:
        return None, None
    theirs = list(_log(pool, [upstream.tip, f"^{head}"]))
    likenesses = {commit.likeness for commit in theirs}
    return len(theirs), sum(commit.likeness in likenesses for commit in ahead if len(commit.parents) < 2)


def _name_of(commit: str, upstream: Upstream | None) -> str | None:
    """A short name of the upstream's that is this very commit, a tag first."""
    names = [name for name, found in (upstream.tips.items() if upstream else ()) if found == commit and name != "HEAD"]
    names.sort(key=lambda name: (not name.startswith("refs/tags/"), name))
    return names[0].partition("/")[2].partition("/")[2] if names else None
