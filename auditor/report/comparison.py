"""A comparison as one HTML file in the style of a run's report; it needs no network and no script."""

from collections.abc import Sequence

from auditor.core.comparing import words
from auditor.core.comparing.quantities import BY_ID
from auditor.core.comparing.record import Comparison, Difference, Pair
from auditor.core.comparing.side import Run
from auditor.core.wording import plural
from auditor.report.comparisoncharts import charts_sections
from auditor.report.comparisonshown import difference_row, held_words, pair_title, prompt_words, side_words
from auditor.report.page import render
from auditor.report.shown import NOT_KNOWN, figure
from auditor.report.views import Block, Cell, Chart, Head, ReportView, Section, Table, Tile, cells, columns
from auditor.terms import Match

_MARKS = {"faster": "ok", "slower": "warn", "none shown": "plain", "no interval": "plain"}
_METHOD = (
    "The unit is the repeat: each quantity has one value a repeat, made of the requests that completed on both sides.",
    "The ratio is that of geometric means, its interval Student’s t on the logarithms: paired, repeat by repeat, where "
    "both sides were sent the same requests; else each side varies by itself (Welch).",
    "The conclusion is about one quantity, over all pairs together; all other quantities are a second family. Each "
    "errs in 5 % of cases at most (Holm).",
    "The ratio is about these prompts. How far it goes for others, the ratios by prompt say.",
    "No difference shown says that none larger than the interval is likely. It is not equality.",
)


def comparison_page(comparison: Comparison, runs: Sequence[Run]) -> str:
    """The page of a comparison of these runs, whose texts are already safe to be seen."""
    sections = [
        *(_difference(number, pair) for number, pair in enumerate(comparison.pairs)),
        *charts_sections(comparison, runs),
        *(_conditions(number, pair) for number, pair in enumerate(comparison.pairs)),
        Section("method", "How it was compared", blocks=(Block(items=_METHOD),)),
    ]
    footer = f"auditor {comparison.tool_version}, comparison version {comparison.comparison_version}"
    return render(ReportView(head=_head(comparison), sections=tuple(sections), footer=footer), "comparison.html")


def _head(comparison: Comparison) -> Head:
    lines = [words.headline(comparison, pair) for pair in comparison.pairs]
    lines = [f"{line[:1].upper()}{line[1:]}." for line in lines]
    first = comparison.pairs[0]
    found = next((one for one in first.differences if one.quantity == comparison.headline), None)
    kind = "not comparable" if not comparison.is_comparable else _kind(found)
    notes = list(dict.fromkeys(note for pair in comparison.pairs for note in pair.notes))
    return Head(
        title=" and ".join(f"{side.letter}: {side.server} of {side.run}" for side in comparison.sides[:4]),
        kind=kind,
        tone="ok" if kind == "difference shown" else "warn",
        sentence=lines[0],
        meaning=f"What it is about: {BY_ID[comparison.headline].label}.",
        reasons=(*lines[1:], *notes, *(f"compared with nothing: {alone}" for alone in comparison.alone)),
        flags=(),
        tiles=() if found is None else _tiles(first, found),
        facts=tuple((side.letter, side_words(side)) for side in comparison.sides),
        source_url=None,
    )


def _kind(found: Difference | None) -> str:
    if found is None or found.outcome == "no interval":
        return "no conclusion"
    return "no difference shown" if found.outcome == "none shown" else "difference shown"


def _tiles(pair: Pair, found: Difference) -> tuple[Tile, ...]:
    row = difference_row(found)
    reach = f"{figure((found.reach.smallest - 1) * 100, (), 2)} %" if found.reach else NOT_KNOWN
    return (
        Tile(pair.one, row[1], found.label),
        Tile(pair.other, row[2], found.label),
        Tile(f"{pair.other} / {pair.one}", row[3], row[4]),
        Tile("Least that would show", reach, f"nine times in ten, {plural(pair.repeats, 'repeat')}"),
    )


def _difference(number: int, pair: Pair) -> Section:
    heads = columns("", f"#{pair.one}", f"#{pair.other}", f"#{pair.other} / {pair.one}", "#95 % interval", "shown")
    rows = []
    for found in pair.differences:
        *texts, outcome = difference_row(found)
        rows.append(cells(*texts, Cell(outcome, held_words(found), _MARKS[found.outcome])))
    blocks = [Block(chart=_ratios(number, pair))] if pair.differences else []
    blocks.append(Block(table=Table(pair_title(pair), heads, tuple(rows))))
    blocks += [
        Block(heading="What it could have shown", paragraphs=(words.reach(found.reach),))
        for found in pair.differences
        if found.reach is not None
    ]
    if len(pair.by_prompt) > 1:
        blocks.append(_prompts(pair))
    return Section(f"difference-{number}", f"{pair.other} beside {pair.one}: {pair.load}", (), tuple(blocks))


def _ratios(number: int, pair: Pair) -> Chart:
    rows = []
    for found in pair.differences:
        ratio = found.ratio
        ends = {"low": ratio.low or ratio.value, "high": ratio.high or ratio.value, "value": ratio.value}
        text = figure(ratio.value, (1,), 3)
        color = "delivered" if found.reach is not None else "quiet"
        rows.append({"label": found.label, "text": text, "color": color, **ends})
    text = "; ".join(f"{row['label']} {row['text']}" for row in rows)
    floor = max((found.floor or 1.0 for found in pair.differences[:1]), default=1.0)
    options = {"low": 1 / floor, "high": floor, "title": f"{pair.other} / {pair.one}, logarithmic"}
    return Chart(f"ratios-{number}", "bases", f"{pair.other} by {pair.one}: {text}.", tuple(rows), (), options)


def _prompts(pair: Pair) -> Block:
    ordered = sorted(pair.by_prompt.items(), key=lambda item: item[1].value)
    rows = tuple(cells(name, figure(one.value, (1,), 3), f"{one.n:,}") for name, one in ordered)
    table = Table("Ratio of decode rates by prompt", columns("prompt", f"#{pair.other} / {pair.one}", "#repeats"), rows)
    return Block(table=table, summary=prompt_words(pair))


_WEIGHTS = {"compared": ("what is compared", "plain"), "decisive": ("", "bad"), "minor": ("", "warn")}


def _conditions(number: int, pair: Pair) -> Section:
    rows = []
    for row in pair.conditions:
        note, mark = _WEIGHTS[row.weight] if row.match is Match.DIFFERS else ("", "")
        text = {Match.EQUAL: "same", Match.DIFFERS: "differs"}.get(row.match, NOT_KNOWN)
        match = Cell(text, note, mark)
        rows.append(cells(row.field, row.one or NOT_KNOWN, row.other or NOT_KNOWN, match))
    table = Table(f"{pair.one} and {pair.other}", columns("field", pair.one, pair.other, ""), tuple(rows))
    return Section(f"conditions-{number}", f"What was equal: {pair.one} and {pair.other}", (), (Block(table=table),))
