"""Text in columns and paragraphs, for what commands say to people."""

import shutil
import textwrap
from collections.abc import Sequence

WIDTH = 110
"""Letters in a line at most, and where no terminal tells."""
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
        words,
        line_width(),
        initial_indent=first,
        subsequent_indent=following,
        break_long_words=False,
        break_on_hyphens=False,
    )


def line_width() -> int:
    """Letters in a line: the terminal's, within bounds."""
    return max(40, min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns))


def fitted(rows: Sequence[Row]) -> list[str]:
    """Rows in aligned columns that together fit the line: the widest are narrowed, and their text goes on below."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    room = line_width() - 2 * (len(widths) - 1)
    while sum(widths) > room and max(widths) > 8:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in rows:
        cells = [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
        for number in range(max(map(len, cells))):
            parts = [cell[number] if number < len(cell) else "" for cell in cells]
            lines.append("  ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip())
    return lines
