"""The `git` command over objects of repositories that strangers made, so that nothing of theirs runs or is written.

Objects are read through a repository of our own, in a temporary folder, whose alternates are the object folders of
theirs. So their configuration, attributes, hooks, replace refs and grafts are never read there: no filter, text
conversion, external diff, monitor or signature program is known. Only refs are read with their own configuration, by
commands that start nothing. Nothing is fetched: no protocol is allowed, and missing objects stay missing.
"""

import os
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from auditor.errors import AuditError

TIME_LIMIT_S = 900
"""Seconds after which a command is ended; a repository made for it could keep one busy for days."""
MOST_MEMORY = 3 << 30
"""Bytes that a command may take, where the system can hold it to them: trees can name more files than memory holds."""
BIG_FILE = "16m"
"""Files above this are taken as binary: they are not loaded to be compared."""
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.pager=cat",
    "core.quotePath=true",
    "core.precomposeUnicode=false",
    f"core.bigFileThreshold={BIG_FILE}",
    "core.commitGraph=false",  # a graph file may tell another history than the commits
    "core.multiPackIndex=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "log.showSignature=false",
    "protocol.allow=never",
    "safe.directory=*",
)


class GitError(AuditError):
    """A `git` command that failed; `what` is what it said."""


class GitLimitError(GitError):
    """A `git` command that was ended because it took too long or too much memory."""


class Git:
    """Runs `git`; `folder` is where its own settings are."""

    def __init__(self, folder: Path) -> None:
        self._settings = folder / "gitconfig"
        self._settings.write_text("".join(f"[{_section(one)}]\n\t{_entry(one)}\n" for one in _SETTINGS))
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "SSH_", "LC_", "LANG"))
        } | {
            "GIT_CONFIG_GLOBAL": str(self._settings),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_PAGER": "cat",
            "LC_ALL": "C",
        }

    def run(self, *words: str, at: Path, stdin: bytes = b"") -> bytes:
        """The output of a command in the folder `at`; raises GitError."""
        with self.stream(*words, at=at, stdin=stdin) as output:
            return output.read()

    @contextmanager
    def stream(self, *words: str, at: Path, stdin: bytes = b"") -> Iterator[BinaryIO]:
        """The output of a command as it comes; raises GitError at the end where it failed."""
        environment = {**self._environment, "GIT_CEILING_DIRECTORIES": str(at.resolve().parent)}
        command = ["git", *(word for one in _SETTINGS for word in ("-c", one)), *words]
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
            given.write(stdin)
            given.seek(0)
            try:
                process = subprocess.Popen(
                    command, cwd=at, env=environment, stdin=given, stdout=subprocess.PIPE, stderr=said
                )
            except FileNotFoundError:
                raise AuditError("the git command is not installed", remedy="install git") from None
            _bound(process.pid)
            watch = threading.Timer(TIME_LIMIT_S, process.kill)
            watch.start()
            try:
                with process:
                    assert process.stdout is not None
                    yield process.stdout  # type: ignore[misc]
                code = process.returncode
            except BaseException:
                process.kill()
                raise
            finally:
                watch.cancel()
            if code:
                raise _failure(said, code)


def _bound(pid: int) -> None:
    """Hold a process to `MOST_MEMORY`; files that it maps do not count."""
    with suppress(ImportError, AttributeError, ProcessLookupError, PermissionError, ValueError):
        import resource  # not on every system

        resource.prlimit(pid, resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))


def _section(setting: str) -> str:
    return setting.partition(".")[0]


def _entry(setting: str) -> str:
    name, _, value = setting.partition(".")[2].partition("=")
    return f'{name} = "{value}"'


def _failure(said: BinaryIO, code: int) -> GitError:
    """What went wrong, by git's first complaint."""
    remedy = "look at what the repository holds: it may be made to have no end"
    if code < 0:
        return GitLimitError(f"git took longer than {TIME_LIMIT_S} s, or was ended", remedy=remedy)
    said.seek(0)
    lines = said.read(1 << 16).decode("utf-8", "replace").splitlines()
    complaints = [line for line in lines if line.startswith(("fatal: ", "error: "))] or lines
    words = " ".join((complaints[0].partition(": ")[2] or complaints[0]).split())[:300] if complaints else ""
    if "out of memory" in words.lower():
        return GitLimitError(f"git needed more than {MOST_MEMORY >> 30} GiB of memory", remedy=remedy)
    return GitError(words or f"git ended with {code}")
