"""Reads a fork from a local clone: where it left its upstream, whose commits came since, and what they change.

Nothing of the fork is run, nothing is fetched, and nothing is written to it.
"""

import tempfile
from pathlib import Path

from auditor.core.forks.history import Commit, History
from auditor.core.forks.review import MOST_COMMITS, CommitRow, ForkReview, Reading, commit_row
from auditor.errors import UsageError
from auditor.reference.forkrules import RuleFile
from auditor.review.forks.changes import changed_files, changed_hunks, touched_paths
from auditor.review.forks.git import Git
from auditor.review.forks.history import Start, Upstream, own_commits, read_history
from auditor.review.forks.notes import notes_of
from auditor.review.forks.repository import Pool, Repository, is_repository, open_repository, plain_name

__all__ = ["review_fork"]


def review_fork(
    path: str, rules: RuleFile, *, upstream: str | None = None, base: str | None = None, head: str | None = None
) -> ForkReview:
    """A fork beside its upstream.

    `upstream` is the folder of another clone, or a ref of the fork's; `base` is the commit to compare with in place of
    the merge base; `head` is what is reviewed, HEAD by default. Raises UsageError, in one line, for what is no
    repository, names that mean nothing, and contents that are not there.
    """
    with tempfile.TemporaryDirectory(prefix="auditor-fork-") as folder:
        git = Git(Path(folder))
        fork = open_repository(git, path)
        other = open_repository(git, upstream) if upstream is not None and _is_path(upstream) else None
        (Path(folder) / "pool").mkdir()
        pool = Pool(git, Path(folder) / "pool", (fork, other) if other else (fork,))
        tip = _head(pool, fork, head)
        against = _upstream(pool, fork, other, upstream)
        start = _base(pool, fork, base)
        if against is None and start is None:
            raise UsageError("no upstream was given", where=path, remedy=_candidates(fork))
        ahead, boundary = own_commits(pool, tip, against, start)
        history = read_history(
            pool, (tip, plain_name(head) if head else fork.head_name), against, start, ahead, boundary
        )
        return _compare(pool, fork, other, history, ahead, rules)


def _compare(
    pool: Pool, fork: Repository, other: Repository | None, history: History, ahead: list[Commit], rules: RuleFile
) -> ForkReview:
    files = changed_files(pool, history.base, history.head)
    reading = Reading(rules, files)
    for found in changed_hunks(pool, history.base, history.head):
        reading.add(found)
    return reading.review(
        history,
        name=fork.name,
        upstream=other.name if other else None,
        commits=_commits(pool, ahead, reading, {file.path for file in files}),
        notes=notes_of(history, fork, other, pool.uncommitted()),
        rules=rules,
    )


def _commits(pool: Pool, ahead: list[Commit], reading: Reading, differing: set[str]) -> tuple[CommitRow, ...]:
    plain = [commit for commit in ahead if len(commit.parents) < 2][:MOST_COMMITS]
    touched = touched_paths(pool, [commit.id for commit in plain])
    labels = {path: reading.label_of(path) or "serving" for path in differing}
    return tuple(commit_row(commit, touched.get(commit.id, ()), labels) for commit in plain)


def _is_path(word: str) -> bool:
    """Whether a word is a path: it has the look of one, or there is a repository of that name."""
    return is_repository(word) or word.startswith((".", "/", "~")) or "://" in word


def _head(pool: Pool, fork: Repository, head: str | None) -> str:
    if head is None:
        if (found := fork.refs.get("HEAD")) is None:
            raise UsageError(
                "has no commit at HEAD", where=str(fork.path), remedy=f"name one with --head; {_refs(fork)}"
            )
        return found
    return _commit(pool, head, "--head", fork)


def _base(pool: Pool, fork: Repository, base: str | None) -> Start | None:
    return None if base is None else Start(_commit(pool, base, "--base", fork), "given", plain_name(base))


def _upstream(pool: Pool, fork: Repository, other: Repository | None, word: str | None) -> Upstream | None:
    """The upstream's commits: all that another repository has, or what a ref of the fork's leads to."""
    if word is None:
        return None
    if other is None:
        commit = _commit(pool, word, "--upstream", fork)
        return Upstream({word: commit}, commit, plain_name(word))
    if not other.tips:
        raise UsageError("has no branch, tag or HEAD", where=word, remedy="give a clone of the upstream")
    tip = other.refs.get("HEAD") or next(iter(other.tips.values()))
    return Upstream(other.tips, tip, other.head_name or "HEAD")


def _commit(pool: Pool, word: str, option: str, fork: Repository) -> str:
    found = pool.commit(word)
    if found is None:
        kind = "folder or ref" if option == "--upstream" else "ref or commit"
        raise UsageError(f"{option} {word}: no such {kind}", where=str(fork.path), remedy=_refs(fork))
    return found


def _refs(fork: Repository) -> str:
    names = [name.removeprefix("refs/").removeprefix("heads/") for name in fork.refs if name != "HEAD"]
    shown = ", ".join(names[:8])
    return f"it has {shown}{f' and {len(names) - 8:,} more' if len(names) > 8 else ''}" if names else "it has no refs"


def _candidates(fork: Repository) -> str:
    remotes = [name.removeprefix("refs/remotes/") for name in fork.refs if name.startswith("refs/remotes/upstream/")]
    if remotes:
        return f"give --upstream {remotes[0]}"
    return (
        "give --upstream with the folder of a clone of it or a ref of this one, or --base with the commit it began at"
    )
