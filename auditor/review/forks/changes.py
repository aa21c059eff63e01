"""What differs between two commits, streamed: the list of files, and hunk after hunk."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from auditor.core.forks.patch import ChangedFile, Hunk, Renamed, Unread, read_patch, read_raw
from auditor.errors import UsageError
from auditor.review.forks.git import GitError, GitLimitError
from auditor.review.forks.repository import Pool

MOST_FILES = 500_000
"""Changed files that are taken; a repository made for it has no end."""
MOST_RENAMED = 1_000
"""New or gone files among which renames with changes are looked for; among more, only those without."""
_LINE = 1 << 16
"""Bytes of a line that are read at once; of a longer one the rest is passed over."""
_PATCH = (
    "-p", "-U3", "-M", f"-l{MOST_RENAMED}", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv",
    "--diff-algorithm=myers", "--no-indent-heuristic", "--inter-hunk-context=0", "--submodule=short",
    "--src-prefix=a/", "--dst-prefix=b/",
)  # fmt: skip


def changed_files(pool: Pool, base: str, head: str) -> list[ChangedFile]:
    """Every file that differs; raises UsageError for more than `MOST_FILES`."""
    command = ("--git-dir=.", "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", base, head)
    found: list[ChangedFile] = []
    with _told(pool), pool.git.stream(*command, at=pool.folder) as output:
        for file in read_raw(_records(output)):
            found.append(file)
            if len(found) > MOST_FILES:
                raise UsageError(f"more than {MOST_FILES:,} files differ", remedy="give a --base that is nearer")
    return found


def changed_hunks(pool: Pool, base: str, head: str) -> Iterator[Hunk | Unread | Renamed]:
    """Every hunk, each file of which no lines are compared, each rename; raises UsageError for missing contents."""
    command = ("--git-dir=.", "diff-tree", "-r", *_PATCH, base, head)
    with _told(pool), pool.git.stream(*command, at=pool.folder) as output:
        yield from read_patch(_lines(output))


def touched_paths(pool: Pool, commits: list[str]) -> dict[str, list[str]]:
    """Paths that each commit changes, by commit, at most `MOST_FILES` in all; a merge has none."""
    command = ("--git-dir=.", "diff-tree", "--stdin", "--root", "-r", "-z", "--raw", "--no-renames", "--no-abbrev")
    found: dict[str, list[str]] = {}
    at: list[str] = []
    kept = 0
    with _told(pool), pool.git.stream(*command, at=pool.folder, stdin="\n".join([*commits, ""]).encode()) as output:
        records = _records(output)
        for record in records:
            if record.startswith(b":"):
                path, kept = next(records, b""), kept + 1
                if kept <= MOST_FILES:
                    at.append(path.decode("utf-8", "backslashreplace"))
            else:
                at = found.setdefault(record.decode("ascii", "replace").strip(), [])
    return found


@contextmanager
def _told(pool: Pool) -> Iterator[None]:
    """Says what git's complaint about an object means for the clone."""
    try:
        yield
    except GitLimitError:
        raise
    except GitError as error:
        if pool.partial is not None:
            raise UsageError(
                f"is a partial clone that lacks contents of what changed: {error.what}",
                where=pool.partial,
                remedy="clone it whole, without --filter; nothing is fetched from here",
            ) from None
        raise UsageError(f"an object cannot be read: {error.what}", remedy="git fsck shows what is damaged") from None


def _records(output: BinaryIO) -> Iterator[bytes]:
    rest = b""
    while piece := output.read(_LINE):
        *whole, rest = (rest + piece).split(b"\0")
        yield from whole


def _lines(output: BinaryIO) -> Iterator[bytes]:
    while piece := output.readline(_LINE):
        line = piece
        while piece and not piece.endswith(b"\n"):
            piece = output.readline(_LINE)
        yield line
