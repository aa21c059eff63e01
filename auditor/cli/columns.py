"""Text in columns and paragraphs, for what commands say to people."""

import shutil
import textwrap
from collections.abc import Sequence

WIDTH = 110
"""Letters in a line of a paragraph at most, and in any line where no terminal tells."""
LEAST = 6
"""Letters to which a column is narrowed at most."""
Row = tuple[str, ...]


def table(rows: Sequence[Row], right: tuple[int, ...] = (), indent: int = 2) -> list[str]:
    """Rows in aligned columns that together fit the terminal, those of numbers to the right.

    The widest are narrowed, and their text goes on below; a column without text is left out.
    """
    widths = {column: width for column in range(len(rows[0])) if (width := max(len(row[column]) for row in rows))}
    words = {column: max(len(word) for row in rows for word in row[column].split()) for column in widths}
    room = max(40, _terminal()) - indent - 2 * (len(widths) - 1)
    while sum(widths.values()) > room and max(widths.values()) > LEAST:
        # Words stay whole as long as another column has room to give.
        loose = {column: width for column, width in widths.items() if width > max(LEAST, words[column])} or widths
        widths[max(loose, key=loose.__getitem__)] -= 1
    lines = []
    for row in rows:
        cells = {column: textwrap.wrap(row[column], width) or [""] for column, width in widths.items()}
        for number in range(max(map(len, cells.values()))):
            parts = [
                text.rjust(widths[column]) if column in right else text.ljust(widths[column])
                for column, cell in cells.items()
                for text in (cell[number] if number < len(cell) else "",)
            ]
            lines.append((" " * indent + "  ".join(parts)).rstrip())
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
    """Letters in a line of a paragraph: the terminal's, within bounds."""
    return max(40, min(WIDTH, _terminal()))


def _terminal() -> int:
    return shutil.get_terminal_size((WIDTH, 24)).columns


def fitted(rows: Sequence[Row]) -> list[str]:
    """The same from the edge of the line on, every column to the left."""
    return table(rows, indent=0)
