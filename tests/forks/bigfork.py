"""Makes a repository of the size of vLLM's and a fork of it, to time `audit fork` by hand; no test runs it.

python tests/forks/bigfork.py FOLDER
time audit fork FOLDER/fork.git --upstream FOLDER/upstream.git
"""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from forktrees import ENVIRONMENT

COMMITS, FILES_EACH, LINES = 22_000, 5, 60
OWN, OWN_FILES, MERGE_EVERY = 400, 4, 40
"""Commits of the fork, files that each changes, and after how many it merges the upstream."""
_WORDS = (
    "temperature",
    "num_tokens",
    "scale",
    "hidden_states",
    "block_table",
    "capability",
    "draft_token_ids",
    "seq_lens",
)


def text(seed: int) -> bytes:
    draw = random.Random(seed)
    lines = [
        f"    {draw.choice(_WORDS)}_{draw.randrange(99)} = {draw.choice(_WORDS)}({draw.randrange(9999)})"
        for _ in range(LINES)
    ]
    return ("def run():\n" + "\n".join(lines) + "\n").encode()


def path(number: int) -> str:
    folders = (
        "vllm/v1/worker",
        "vllm/model_executor/layers",
        "csrc/moe",
        "tests/kernels",
        "docs/design",
        "vllm/v1/spec_decode",
    )
    ending = {"csrc/moe": "cu", "docs/design": "md"}
    folder = folders[number % len(folders)]
    return f"{folder}/part{number // 600 % 200}/file_{number}.{ending.get(folder, 'py')}"


def history() -> Iterator[bytes]:
    """The stream of both branches for `git fast-import`."""
    mark = 0
    upstream: list[int] = []
    for number in range(COMMITS):
        mark += 1
        upstream.append(mark)
        yield commit("upstream", mark, number, f"Upstream {number}", upstream[-2] if number else None)
        for one in range(FILES_EACH):
            yield changed(path(number * FILES_EACH + one), text(number * FILES_EACH + one))
        if number % 3 == 0:
            yield changed(path(number // 2), text(-number))
    at, last = COMMITS - 3_000, upstream[COMMITS - 3_000]
    own: dict[str, bytes] = {}
    for number in range(OWN):
        mark += 1
        merged = None
        if number % MERGE_EVERY == MERGE_EVERY - 1:
            at += 250
            merged = upstream[at]
        new = {
            path((number * 7919 + one * 104729) % (at * FILES_EACH)): text(10**9 + number * OWN_FILES + one)
            for one in range(OWN_FILES)
        }
        own |= new
        # The tree is that of the first parent, so a merge begins at the upstream's and takes all of the fork's again.
        yield commit("fork", mark, COMMITS + number, f"Fork {number}", merged or last, last if merged else None)
        last = mark
        for name, content in (own if merged else new).items():
            yield changed(name, content)


def commit(branch: str, mark: int, clock: int, subject: str, parent: int | None, merged: int | None = None) -> bytes:
    who = f"Author {mark % 97} <a{mark % 97}@example.org> {1_700_000_000 + clock * 600} +0000"
    lines = [
        f"commit refs/heads/{branch}",
        f"mark :{mark}",
        f"author {who}",
        f"committer {who}",
        f"data {len(subject)}",
        subject,
    ]
    lines += [f"from :{parent}"] if parent else []
    lines += [f"merge :{merged}"] if merged else []
    return ("\n".join(lines) + "\n").encode()


def changed(name: str, content: bytes) -> bytes:
    return f"M 100644 inline {name}\ndata {len(content)}\n".encode() + content + b"\n"


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, env=ENVIRONMENT, check=True)


def main(folder: Path) -> None:
    both, fork, upstream = folder / "both.git", folder / "fork.git", folder / "upstream.git"
    both.mkdir(parents=True)
    git(both, "init", "--quiet", "--bare", "--initial-branch=upstream")
    with subprocess.Popen(
        ["git", "fast-import", "--quiet"], cwd=both, env=ENVIRONMENT, stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        for piece in history():
            process.stdin.write(piece)
    for name, branch in ((fork, "fork"), (upstream, "upstream")):
        git(
            folder,
            "clone",
            "--quiet",
            "--bare",
            "--no-local",
            "--single-branch",
            "--branch",
            branch,
            str(both),
            str(name),
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
