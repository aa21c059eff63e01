"""Text in columns and paragraphs, for what commands say to people."""

import textwrap
from collections.abc import Sequence

WIDTH = 110
Row = tuple[str, ...]


def table(rows: Sequence[Row], right: tuple[int, ...] = ()) -> list[str]:
    """Rows with aligned columns, two spaces in, those of numbers to the right; a column without text is left out."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            if width
        ]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return lines


def wrapped(words: str, first: str = "", rest: str | None = None) -> list[str]:
    """A paragraph; `first` and `rest` begin its lines. Addresses are not broken."""
    following = " " * len(first) if rest is None else rest
    return textwrap.wrap(
        words, WIDTH, initial_indent=first, subsequent_indent=following, break_long_words=False, break_on_hyphens=False
    )
