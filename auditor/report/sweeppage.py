"""The result of a sweep as one HTML file, in the style of a run's report; it needs no network and no script."""

from collections import Counter

from auditor import __version__
from auditor.core.sweeping.result import OUTCOMES, RowResult, Sweep
from auditor.core.sweeping.words import HEADS, LADDER_HEADS, ladder_of, notes_of, table_of
from auditor.core.wording import listed, plural
from auditor.report.page import render
from auditor.report.shown import figure, one_line, seconds, visible
from auditor.report.views import Block, Cell, Head, ReportView, Row, Section, Table, Tile, cells, columns
from auditor.terms import VerdictKind

_GOOD = (VerdictKind.REPRODUCED, VerdictKind.EXCEEDED)
_OPEN = (VerdictKind.UNLABELLED, VerdictKind.NOT_COMPARABLE, VerdictKind.INCONCLUSIVE)
_LADDER = (
    "Output is what all streams delivered over one window, total is the same with the prompts, and the peak is the "
    "best second, which is not sustained; none of them is shown as another.",
    "The knee is the number of streams at which output squared by streams in flight is largest (Kleinrock's power, "
    "with Little's law): up to it twice the streams give more than 1.41 times the output.",
)


def sweep_page(sweep: Sweep) -> str:
    """The page; the same sweep gives the same bytes."""
    return render(_view(visible(sweep)), "sweep.html")


def _view(sweep: Sweep) -> ReportView:
    ladders = [one for one in sweep.rows if one.knee is not None]
    return ReportView(
        head=_head(sweep),
        sections=(
            Section("rows", "Rows", blocks=(Block(table=_table(sweep)),)),
            *((Section("ladders", "By streams", _LADDER, tuple(map(_ladder, ladders))),) if ladders else ()),
            Section("notes", "Row by row", blocks=tuple(map(_row, sweep.rows))),
        ),
        footer=f"auditor {__version__}, sweep {sweep.sweep}, matrix {sweep.matrix_digest[:12]}",
    )


def _head(sweep: Sweep) -> Head:
    said = Counter(one.said for one in sweep.rows)
    counts = listed([f"{number} {word}" for word, number in sorted(said.items())])
    done = f"{len(sweep.rows)} of {plural(len(sweep.rows) + len(sweep.left), 'row')}"
    valid = [one for one in sweep.rows if one.outcome == "judged" and one.verdict is not VerdictKind.INVALID_OUTPUT]
    best = max((one for one in valid if one.delivered), key=_delivered, default=None)
    tiles = [Tile("Rows measured", done, counts)]
    if best is not None:
        tiles.append(
            Tile(
                "Most delivered",
                f"{figure(_delivered(best))} tok/s",
                f"by {best.row}; of rows whose output was not found invalid",
            )
        )
    return Head(
        title=one_line(sweep.title, 200),
        kind="complete" if not sweep.left else "incomplete",
        tone="ok" if not sweep.left else "warn",
        sentence=f"{done}: {counts}.",
        meaning="Each row was started, measured and stopped in turn; a row that failed is a result of its own.",
        reasons=(),
        flags=(("incomplete", f"not measured yet: {listed(sweep.left)}"),) if sweep.left else (),
        tiles=tuple(tiles),
        facts=(("Matrix", sweep.matrix), ("Sweep", sweep.sweep), ("Seed of the nonces", str(sweep.seed))),
        source_url=None,
    )


def _delivered(one: RowResult) -> float:
    return one.delivered.value if one.delivered else 0.0


def _table(sweep: Sweep) -> Table:
    names = [head.lower() for head in HEADS]
    rows = [_linked(one, line) for one, line in zip(sweep.rows, table_of(sweep), strict=True)]
    return Table("Claimed and delivered, row by row; rates in tokens per second", columns(*names), tuple(rows))


def _linked(one: RowResult, line: tuple[str, ...]) -> Row:
    row, claimed, delivered, factor, said, accepted, knee, notes = line
    href = f"../../{one.run}/report.html" if one.run else ""
    head = Cell(row, note=one.title if one.title != row else "", href=href)
    return cells(head, claimed, delivered, factor, Cell(said, mark=_mark(one)), accepted, knee, notes)


def _mark(one: RowResult) -> str:
    if one.outcome != "judged" or one.verdict is None:
        return "bad"
    return "ok" if one.verdict in _GOOD else "warn" if one.verdict in _OPEN else "bad"


def _ladder(one: RowResult) -> Block:
    first, *others = (head.lower() for head in LADDER_HEADS)
    heads = [first, *(f"#{head}" for head in others)]
    table = Table(f"{one.row}, by streams", columns(*heads), tuple(cells(*line) for line in ladder_of(one)))
    return Block(heading=one.row, table=table, note=f"Knee {one.knee.sentence}." if one.knee else "")


def _row(one: RowResult) -> Block:
    facts = [f"{one.sentence.rstrip('.')}."]
    if one.outcome != "judged":
        facts.append(f"{one.outcome}: {OUTCOMES[one.outcome]}.")
    if one.ready_ns is not None:
        facts.append(f"Ready after {seconds(one.ready_ns)}.")
    if one.speculation:
        facts.append(f"Speculation: {one.speculation}.")
    if one.judged_on:
        facts.append(f"Judged on `{one.judged_on}`.")
    notes = "; ".join(note for note in notes_of(one) if note != one.sentence)
    where = f"`{one.run}`" if one.run else "none, since nothing was judged"
    return Block(
        heading=one.row,
        paragraphs=(" ".join(facts), *((f"Notes: {notes}.",) if notes else ())),
        code="\n".join(one.log_lines),
        note=f"Run folder: {where}. Whole log: `{one.log}`, in the folder of the sweep.",
    )
