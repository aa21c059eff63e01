"""The verdict as text: for the terminal, and as Markdown to paste into a thread."""

from pathlib import Path


def terminal(folder: Path) -> str:
    return str(folder)
