"""The records that the page is made of: every value already as it is shown, every chart as its plain rows."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a table."""

    text: str
    note: str = ""
    """Small print beneath."""
    mark: str = ""
    """Name of a badge: `ok`, `bad`, `warn` or `plain`; empty for none."""
    href: str = ""
    """The page that its text leads to; empty for none."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    label: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One row; its first cell heads it."""

    cells: tuple[Cell, ...]
    mark: str = ""
    """`strong` for the row that the section is about, `claim` for the claim among measured rows, `met`
    for one that meets it."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table with its caption."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a chart's legend."""

    color: str
    """Name of a colour of the page."""
    label: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart before it is drawn."""

    name: str
    """Unique on the page."""
    draw: str
    """Name of the function of `auditor.report.charts`."""
    text: str
    """What it shows, for those who cannot see it."""
    rows: tuple[dict[str, Any], ...]
    keys: tuple[Key, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page."""

    id: str
    title: str
    lead: tuple[str, ...] = ()
    """Paragraphs ahead of everything else."""
    blocks: tuple["Block", ...] = ()
    is_half: bool = False
    """Whether a wide screen shows it beside its neighbour."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of a section: one of a heading, paragraphs, a chart, a table, a list, code; the rest is empty."""

    heading: str = ""
    paragraphs: tuple[str, ...] = ()
    chart: Chart | None = None
    table: Table | None = None
    items: tuple[str, ...] = ()
    numbered: bool = False
    first: int = 1
    """Number of the first item of a numbered list."""
    code: str = ""
    summary: str = ""
    """Where it is not empty, the block is folded away beneath these words."""
    note: str = ""
    """Small print after it."""
    is_half: bool = False
    """Whether a wide screen shows it beside its neighbour."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A headline number."""

    label: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Head:
    """The top of the page."""

    title: str
    kind: str
    tone: str
    """`ok`, `bad` or `warn`."""
    sentence: str
    meaning: str
    reasons: tuple[str, ...]
    flags: tuple[tuple[str, str], ...]
    """Label and sentence: rehearsal, quick, partial."""
    tiles: tuple[Tile, ...]
    facts: tuple[tuple[str, str], ...]
    """Claim, source, who disputes, run."""
    source_url: str | None
    """The source, where it is an address of the web."""


@dataclass(frozen=True, slots=True)
class Remark:
    """A reply, correction or withdrawal."""

    label: str
    tone: str
    """`plain`, `warn` or `bad`."""
    about: str
    """By whom and when."""
    paragraphs: tuple[str, ...]
    is_long: bool
    """Whether the paragraphs are folded away."""
    url: str | None


@dataclass(frozen=True, slots=True)
class ReportView:
    """The page."""

    head: Head
    sections: tuple[Section, ...]
    footer: str
    remarks: tuple[Remark, ...] = ()
    """What was said of the verdict since."""


def cells(*texts: str | Cell, mark: str = "") -> Row:
    """A row from texts."""
    return Row(tuple(text if isinstance(text, Cell) else Cell(text) for text in texts), mark)


def columns(*labels: str) -> tuple[Column, ...]:
    """Columns from labels; one that begins with `#` holds numbers."""
    return tuple(Column(label.removeprefix("#"), label.startswith("#")) for label in labels)
