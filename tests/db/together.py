"""Processes that do the same thing at the same time."""

import subprocess
import sys
from pathlib import Path

READY = "import sys; print('ready', flush=True); sys.stdin.readline()\n"
"""So that all begin at once."""


def at_once(script: str, *calls: tuple[str, ...], folder: Path | None = None) -> list[str]:
    """Run the script once for each tuple of arguments, all at the same time; their output."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", READY + script, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,
        )
        for arguments in calls
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ended = [process.communicate(timeout=120) for process in processes]
    assert [errors for _, errors in ended] == [""] * len(processes)
    return [output for output, _ in ended]
