"""Repositories on this disk: where they keep their objects, what their refs say, and one place to read both from."""

import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from auditor.errors import UsageError
from auditor.review.forks.git import Git, GitError

MOST_REFS = 20_000
"""Refs of a repository that are looked at."""
_PATHS = ("--git-path", "shallow", "--git-path", "config", "--git-path", "index")
_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_UPSTREAM_REFS = re.compile(r"refs/(?:heads|tags|remotes/origin)/")


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository, its own folder never written to."""

    path: Path
    """As it was given."""
    git_dir: Path
    objects: Path
    is_bare: bool
    object_format: str
    """`sha1` or `sha256`."""
    shallow: tuple[str, ...]
    """Commits at which its history is cut."""
    is_partial: bool
    """Whether it was cloned without some contents."""
    index: Path
    """Where its index is, if it has one."""
    refs: dict[str, str] = field(repr=False)
    """Commit of each ref by its full name, `HEAD` included where there is one."""
    head_name: str | None
    """The branch that HEAD is on; None where it is detached."""

    @property
    def name(self) -> str:
        """How to call it."""
        folder = self.path.resolve()
        return (
            plain_name((folder.parent if folder.name == ".git" else folder).name).removesuffix(".git") or "repository"
        )

    @property
    def tips(self) -> dict[str, str]:
        """Refs that an upstream repository speaks for itself by: HEAD, branches, tags, and its own origin's."""
        return {name: commit for name, commit in self.refs.items() if name == "HEAD" or _UPSTREAM_REFS.match(name)}

    def find(self, ref: str) -> str | None:
        """The commit that a name means: a ref, in full or short, or a commit's whole id; None where it means none."""
        remote = f"refs/remotes/{ref}"
        short = (ref, f"refs/{ref}", f"refs/tags/{ref}", f"refs/heads/{ref}", remote)
        for name in (*short, f"{remote}/HEAD", f"{remote}/main", f"{remote}/master"):
            if name in self.refs:
                return self.refs[name]
        return None


def plain_name(name: str) -> str:
    """A name of the file system as text that can be written: bytes that are not UTF-8 as `\\xff`."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_repository(word: str) -> bool:
    """Whether a word names a folder that looks like a repository, and so is no ref."""
    folder = Path(word)
    return folder.is_dir() and ((folder / ".git").exists() or (folder / "HEAD").is_file())


def open_repository(git: Git, path: str) -> Repository:
    """Read where a repository keeps what; raises UsageError, in one line, for what is none."""
    if re.match(r"[a-z][a-z0-9+.-]+://|[\w.-]+@[\w.-]+:", path):
        raise UsageError("is an address", where=path, remedy="nothing is fetched: clone it, with --bare if you like")
    folder = Path(path)
    if not folder.is_dir():
        what = "is a file" if folder.exists() else "there is no such folder"
        raise UsageError(what, where=path, remedy="give the folder of a local clone")
    words = ("--absolute-git-dir", "--is-bare-repository", "--show-object-format", "--git-path", "objects")
    try:
        said = git.run("rev-parse", *words, *_PATHS, at=folder)
    except GitError as error:
        why = "" if error.what.startswith("not a git repository") else f": {error.what}"
        raise UsageError(f"no git repository{why}", where=path, remedy="give the folder of a local clone") from None
    parts = said.decode("utf-8", "surrogateescape").splitlines()
    if len(parts) != 7:
        raise UsageError("lies in a folder with a line break in its name", where=path, remedy="move it")
    git_dir = Path(parts[0])
    refs, head_name = _refs(git, git_dir, path)
    return Repository(
        path=folder,
        git_dir=git_dir,
        objects=(folder / parts[3]).resolve(),
        is_bare=parts[1] == "true",
        object_format=parts[2],
        shallow=_shallow(folder / parts[4]),
        is_partial=_is_partial(folder / parts[5]),
        index=folder / parts[6],
        refs=refs,
        head_name=head_name,
    )


def _refs(git: Git, git_dir: Path, path: str) -> tuple[dict[str, str], str | None]:
    """Every ref that leads to a commit, and the branch of HEAD."""
    at = ("--git-dir", str(git_dir))
    form = "--format=%(objecttype) %(objectname) %(*objecttype) %(*objectname) %(refname)"
    try:
        said = git.run(*at, "for-each-ref", f"--count={MOST_REFS}", form, at=git_dir)
    except GitError as error:
        raise UsageError(f"its refs cannot be read: {error.what}", where=path, remedy="git fsck shows why") from None
    refs: dict[str, str] = {}
    for line in said.decode("utf-8", "backslashreplace").splitlines():
        kind, name, peeled_kind, peeled, ref = line.split(" ", 4)
        if kind == "commit" or peeled_kind == "commit":
            refs[ref] = name if kind == "commit" else peeled
    try:
        head = git.run(*at, "rev-parse", "--verify", "--quiet", "HEAD", at=git_dir).decode().strip()
    except GitError:
        return refs, None  # of an empty repository, or to a branch that is not there
    try:
        branch = git.run(*at, "symbolic-ref", "--quiet", "--short", "HEAD", at=git_dir)
    except GitError:
        branch = b""
    return {"HEAD": head, **refs}, branch.decode("utf-8", "backslashreplace").strip() or None


def _shallow(file: Path) -> tuple[str, ...]:
    try:
        lines = file.read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return ()
    return tuple(line for line in lines if _ID.fullmatch(line))


def _is_partial(file: Path) -> bool:
    """Whether the configuration says so; it is read as text, for git would follow what it includes."""
    try:
        with file.open("rb") as stream:
            text = stream.read(1 << 20).lower()
    except OSError:
        return False
    return b"partialclone" in text or re.search(rb"promisor\s*=\s*true", text) is not None


class Pool:
    """One repository of our own that sees the objects of others; nothing is written to theirs."""

    def __init__(self, git: Git, folder: Path, repositories: tuple[Repository, ...]) -> None:
        self.git, self.folder, self._repositories = git, folder, repositories
        first = repositories[0]
        for other in repositories[1:]:
            if other.object_format != first.object_format:
                raise UsageError(
                    f"has {other.object_format} objects and {first.path} {first.object_format}",
                    where=str(other.path),
                    remedy="the two cannot share a commit: give an upstream of the same format",
                )
        git.run("init", "--quiet", "--bare", "--template=", f"--object-format={first.object_format}", ".", at=folder)
        lines = "".join(f"{_quoted(repository.objects)}\n" for repository in repositories)
        (folder / "objects" / "info").mkdir(exist_ok=True)
        (folder / "objects" / "info" / "alternates").write_bytes(lines.encode("utf-8", "surrogateescape"))
        self.shallow = self._cut()
        """Commits at which the history is cut in all of them."""
        if self.shallow:
            (folder / "shallow").write_text("".join(f"{one}\n" for one in self.shallow))

    @property
    def partial(self) -> str | None:
        """The path of the first that was cloned without some contents."""
        return next((str(one.path) for one in self._repositories if one.is_partial), None)

    def run(self, *words: str, stdin: bytes = b"") -> bytes:
        """The output of a command over all objects; raises GitError."""
        return self.git.run("--git-dir=.", *words, at=self.folder, stdin=stdin)

    def uncommitted(self) -> int | None:
        """How many tracked files of the first repository's working tree differ from HEAD; None where there is no tree.

        Its index is copied, so that nothing is written to it, and no filter of its own is known.
        """
        first = self._repositories[0]
        head = first.refs.get("HEAD")
        if first.is_bare or head is None or not (first.path / ".git").exists():
            return None
        at = (f"--git-dir={self.folder.resolve()}", f"--work-tree={first.path.resolve()}")
        options = ("--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all")
        try:
            shutil.copyfile(first.index, self.folder / "index")
            said = self.git.run(*at, "diff", *options, head, "--", at=first.path)
        except (OSError, GitError):
            return None
        return said.count(b"\0")

    def commit(self, ref: str) -> str | None:
        """The commit that a name means in the repositories, in their order; None where it means none in any."""
        for repository in self._repositories:
            if (found := repository.find(ref)) is not None:
                return found
        if re.fullmatch(r"[0-9a-f]{7,64}", ref):
            with_suffix = f"{ref}^{{commit}}"
        else:
            match = re.fullmatch(r"(.+?)((?:[~^]\d{0,4}){1,8})", ref)
            start = self.commit(match[1]) if match else None
            if match is None or start is None:
                return None
            with_suffix = f"{start}{match[2]}^{{commit}}"
        try:
            return self.run("rev-parse", "--verify", "--quiet", "--end-of-options", with_suffix).decode().strip()
        except GitError:
            return None

    def _cut(self) -> tuple[str, ...]:
        """The shallow commits some of whose parents are nowhere: one repository may hold what another cut off."""
        named = tuple(dict.fromkeys(one for repository in self._repositories for one in repository.shallow))
        if not named:
            return ()
        bodies = self.run("cat-file", "--batch", stdin="".join(f"{one}\n" for one in named).encode())
        parents = {one: _parents_of(bodies, one) for one in named}
        asked = sorted({parent for found in parents.values() for parent in found})
        said = self.run("cat-file", "--batch-check", stdin="".join(f"{one}\n" for one in asked).encode())
        gone = {line.split()[0] for line in said.decode().splitlines() if line.endswith("missing")}
        return tuple(one for one in named if set(parents[one]) & gone)


def _parents_of(bodies: bytes, commit: str) -> list[str]:
    at = bodies.find(f"{commit} commit ".encode())
    if at < 0:
        return []
    head = bodies[at : at + (1 << 16)].partition(b"\n\n")[0]
    return [line[7:].decode() for line in head.split(b"\n") if line.startswith(b"parent ")]


def _quoted(path: Path) -> str:
    """A path as a line of an alternates file, whatever characters it has."""
    text = str(path).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{text}"'
