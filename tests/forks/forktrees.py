"""Repositories made by the real git, with a fixed author and no settings of this machine."""

import os
import subprocess
from pathlib import Path

ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


class Tree:
    """A repository that a test writes."""

    def __init__(self, path: Path, *words: str) -> None:
        self.path, self.clock = path, 1_700_000_000
        path.mkdir(parents=True, exist_ok=True)
        self("init", "--quiet", "--initial-branch=main", *words)

    def __call__(self, *words: str, stdin: bytes = b"", **environment: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=self.path, env={**ENVIRONMENT, **environment}, input=stdin, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode("utf-8", "replace").strip()

    def commit(self, files: dict[str, str | bytes | None], subject: str = "change", author: str = "Ada") -> str:
        """Write or remove files and commit; the commit's id."""
        for name, content in files.items():
            file = self.path / name
            if content is None:
                file.unlink()
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content.encode() if isinstance(content, str) else content)
        self("add", "--all")
        self.clock += 60
        when = f"{self.clock} +0000"
        self(
            "commit",
            "--quiet",
            "--allow-empty",
            "-m",
            subject,
            GIT_AUTHOR_NAME=author,
            GIT_AUTHOR_DATE=when,
            GIT_COMMITTER_DATE=when,
        )
        return self("rev-parse", "HEAD")
