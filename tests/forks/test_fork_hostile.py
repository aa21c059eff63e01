"""What a fork holds is read and never run, written or fetched, whatever it is called and however it was made."""

import hashlib
import os
import resource
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from forktrees import Tree

from auditor.core.forks.review import ForkReview
from auditor.errors import AuditError, UsageError
from auditor.reference.forkrules import bundled_fork_rules
from auditor.report.forkpage import fork_page
from auditor.review.forks import review_fork

Make = Callable[..., Tree]


def review(path: Path, upstream: str = "HEAD~1") -> ForkReview:
    return review_fork(str(path), bundled_fork_rules(), upstream=upstream)


def snapshot(folder: Path) -> dict[str, str]:
    return {
        str(file.relative_to(folder)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def test_nothing_of_the_fork_is_run_and_nothing_is_written_to_it(tree: Make, tmp_path: Path) -> None:
    fork, ran = tree("fork"), tmp_path / "ran"
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\necho run >> '{ran}'\ncat\n")
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    attributes = "* diff=evil filter=evil\n"
    fork.commit({"a.py": "a = 1\n", ".gitattributes": attributes})
    fork.commit({"a.py": "a = 2\n"})
    (fork.path / ".git" / "info" / "attributes").write_text(attributes)
    for hook in ("post-checkout", "reference-transaction", "fsmonitor-watchman", "pre-auto-gc", "post-index-change"):
        (fork.path / ".git" / "hooks" / hook).write_text(script.read_text())
        (fork.path / ".git" / "hooks" / hook).chmod(0o755)
    for name, value in {
        "core.fsmonitor": script, "core.pager": script, "core.sshCommand": script, "core.askPass": script, "core.editor": script,
        "diff.external": script, "diff.evil.textconv": script, "diff.evil.command": script, "filter.evil.clean": script,
        "filter.evil.smudge": script, "filter.evil.process": script, "gpg.program": script, "log.showSignature": "true",
        "uploadpack.packObjectsHook": script, "pager.log": script, "alias.log": f"!{script}", "core.hooksPath": fork.path / ".git" / "hooks",
        "core.alternateRefsCommand": script, "credential.helper": f"!{script}", "maintenance.auto": "true", "gc.auto": "1",
    }.items():  # fmt: skip
        fork("config", name, str(value))
    (fork.path / "a.py").write_text("a = 3\n")
    before = snapshot(fork.path)
    found = review(fork.path)
    assert found.lines == 2
    assert found.notes == ("1 tracked file of the working tree differs from HEAD: not reviewed.",)
    assert not ran.exists()
    assert snapshot(fork.path) == before


def test_a_partial_clone_is_told_and_nothing_is_fetched(tree: Make, tmp_path: Path) -> None:
    fork = tree("fork")
    fork.commit({"a.py": "a = 1\n"})
    fork.commit({"a.py": "a = 2\n"})
    fork("config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    fork("clone", "--quiet", "--bare", "--filter=blob:none", f"file://{fork.path}", str(partial))
    before = snapshot(partial)
    with pytest.raises(UsageError, match="partial clone that lacks contents") as caught:
        review(partial)
    assert "--filter" in str(caught.value)
    assert snapshot(partial) == before
    trees = tmp_path / "treeless"
    fork("clone", "--quiet", "--bare", "--filter=tree:0", f"file://{fork.path}", str(trees))
    with pytest.raises(UsageError, match="partial clone"):
        review(trees)


NAMES = [
    b"line\nbreak.py", b"tab\there.py", b'quote".py', b"back\\slash.py", b"bytes-\xff\xfe.py", "ü-<script>alert(1)</script>.py".encode(),
    b" leading and trailing .py", b"--output=x", b"-rf", b"a => b.py", b"bell\x07\x1b[31m.py", b"\xe2\x80\xaexcod.py", b"a/b \x01/c.py",
]  # fmt: skip


def test_odd_names_are_kept_apart_and_shown_without_harm(tree: Make) -> None:
    fork = tree("fork")
    fork.commit({"a.py": "a = 1\n"})
    for number, name in enumerate(NAMES):
        file = os.path.join(os.fsencode(fork.path), name)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        Path(os.fsdecode(file)).write_text("".join(f"x{line} = {number}\n" for line in range(number + 1)))
    fork.commit(
        {"b.bin": b"\0\1\2", "text.py": "+++ b/not-a-name\n--- a/x\n@@ -1 +1 @@\ndiff --git a/y b/y\n\\ No newline"},
        "odd",
    )
    found = review(fork.path)
    sizes = {row.path: row.added for row in found.rows}
    for number, name in enumerate(NAMES):
        assert sizes[name.decode("utf-8", "backslashreplace")] == number + 1
    assert sizes["text.py"] == 5
    assert len(found.rows) == len(NAMES) + 2
    page = fork_page(found)
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "\x07" not in page
    assert "\u202e" not in page


def test_a_file_of_another_kind_gets_its_answer(tree: Make) -> None:
    fork = tree("fork")
    fork.commit(
        {
            "run.sh": "echo\n",
            "link.py": "a = 1\n",
            "old.py": "".join(f"l{n} = {n}\n" for n in range(40)),
            "same.py": "s = 1\n",
        }
    )
    (fork.path / "run.sh").chmod(0o755)
    (fork.path / "link.py").unlink()
    (fork.path / "link.py").symlink_to("/etc/passwd")
    (fork.path / "old.py").rename(fork.path / "new.py")
    (fork.path / "same.py").rename(fork.path / "moved.py")
    with (fork.path / "new.py").open("a") as file:
        file.write("more = 1\n")
    module = "0123456789abcdef0123456789abcdef01234567"
    fork("update-index", "--add", "--cacheinfo", f"160000,{module},csrc/cutlass")
    fork.commit({"vllm/_C.so": b"\x7fELF\0\0", "big.txt": b"a line of a large file\n" * 900_000}, "kinds")
    found = review(fork.path)
    assert (found.moved, found.renamed, found.unread, found.modes) == (1, 1, 2, 1)
    assert {row.path: (row.added, row.removed) for row in found.rows}["new.py"] == (1, 0)
    kernels = found.answers[0]
    assert kernels.outcome == "unclear"
    assert {line.path for line in kernels.hints.lines} >= {"vllm/_C.so"}


def test_a_pinned_repository_of_kernels_makes_the_answer_unclear(tree: Make) -> None:
    fork = tree("fork")
    for digit in "12":
        fork("update-index", "--add", "--cacheinfo", f"160000,{digit * 40},csrc/cutlass")
        fork("commit", "--quiet", "-m", "pin")
    found = review(fork.path)
    assert found.modules == 1
    assert [one.label for one in found.classes] == ["vendored"]
    assert found.answers[0].outcome == "unclear"


def test_what_is_no_repository_says_so_in_one_line(tree: Make, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "folder").mkdir()
    inside = tree("outer").path / "inner"
    inside.mkdir()
    empty = tree("empty").path
    for path, words in (
        (tmp_path / "nothing", "no such folder"), (tmp_path / "file", "is a file"), (tmp_path / "folder", "no git repository"),
        (inside, "no git repository"), (empty, "has no commit at HEAD"),
    ):  # fmt: skip
        with pytest.raises(UsageError, match=words) as caught:
            review(path)
        assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match="is an address"):
        review_fork("https://example.org/fork.git", bundled_fork_rules(), upstream="main")


def test_a_damaged_clone_says_so_in_one_line(tree: Make) -> None:
    fork = tree("fork")
    fork.commit({"a.py": "a = 1\n"})
    fork.commit({"a.py": "a = 2\n"})
    blob = fork("rev-parse", "HEAD:a.py")
    loose = fork.path / ".git" / "objects" / blob[:2] / blob[2:]
    loose.chmod(0o644)
    loose.write_bytes(b"not zlib")
    with pytest.raises(UsageError, match="an object cannot be read") as caught:
        review(fork.path)
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="this system holds no other process to a limit")
def test_trees_without_end_are_given_up(tree: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    fork = tree("fork")
    fork.commit({"a.py": "a = 1\n"})
    made = fork("rev-parse", "HEAD^{tree}")
    for _ in range(7):
        made = fork("mktree", stdin="".join(f"040000 tree {made}\td{number}\n" for number in range(10)).encode())
    fork("update-ref", "refs/heads/main", fork("commit-tree", made, "-p", "HEAD", "-m", "ten million files"))
    monkeypatch.setattr("auditor.review.forks.git.MOST_MEMORY", 24 << 20)
    with pytest.raises(AuditError, match=r"GiB of memory|files differ") as caught:
        review(fork.path)
    assert "\n" not in str(caught.value)


def test_settings_of_the_caller_change_nothing(tree: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fork, other = tree("fork"), tree("other")
    other.commit({"z.py": "z = 1\n"})
    fork.commit({"a.py": "a = 1\n"})
    fork.commit({"a.py": "a = 2\n"})
    settings = tmp_path / "settings"
    settings.write_text(
        "[diff]\n\tnoprefix = true\n\tmnemonicPrefix = true\n\talgorithm = patience\n\tcontext = 0\n[color]\n\tui = always\n"
    )
    for name, value in {
        "GIT_CONFIG_GLOBAL": settings,
        "GIT_DIR": other.path / ".git",
        "GIT_EXTERNAL_DIFF": "/bin/false",
    }.items():
        monkeypatch.setenv(name, str(value))
    assert [row.path for row in review(fork.path).rows] == ["a.py"]
