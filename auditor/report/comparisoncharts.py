"""The charts of a comparison: the sides of each load on one axis, and their gaps beside each other."""

from collections.abc import Iterator, Sequence

from auditor.core.comparing.quantities import BY_ID
from auditor.core.comparing.record import Comparison, Pair
from auditor.core.comparing.side import Run, Side, load_words, sides_of
from auditor.report.gaps import gap_block, gap_domain
from auditor.report.shown import figure
from auditor.report.views import Block, Chart, Key, Section

_COLORS = ("delivered", "claim", "bonus", "rejected", "quiet", "overshoot")
"""Of the sides in turn."""
_DRAWN = ("decode-rate", "ttft-median")


def charts_sections(comparison: Comparison, runs: Sequence[Run]) -> Iterator[Section]:
    """Rates and first tokens by repeat, and gaps between events, for every pair."""
    sides = {(side.letter, load_words(side.load)): side for side in sides_of(runs)}
    letters = [side.letter for side in comparison.sides]
    colors = {letter: _COLORS[index % len(_COLORS)] for index, letter in enumerate(letters)}
    for number, pair in enumerate(comparison.pairs):
        blocks = [_by_repeat(number, pair, name, colors) for name in _DRAWN if name in pair.values]
        if blocks:
            title = f"{pair.one} and {pair.other}, repeat by repeat: {pair.load}"
            yield Section(f"repeats-{number}", title, (), tuple(blocks))
        own = [(letter, _gaps(sides[letter, pair.load])) for letter in (pair.one, pair.other)]
        own = [(letter, gaps) for letter, gaps in own if gaps]
        domain = gap_domain([gaps for _, gaps in own])
        drawn = [
            gap_block(
                f"{letter}: gaps between events", f"gaps-{number}-{letter}", "events", gaps, domain, colors[letter]
            )
            for letter, gaps in own
        ]
        if drawn:
            title = f"Gaps between events, {pair.one} and {pair.other}: {pair.load}"
            lead = "All complete answers, on one axis. An event may carry several tokens."
            yield Section(f"gaps-{number}", title, (lead,), tuple(drawn))


def _by_repeat(number: int, pair: Pair, name: str, colors: dict[str, str]) -> Block:
    quantity = BY_ID[name]
    rows = [
        {"repeat": repeat, "value": value, "color": colors[letter], "side": letter}
        for repeat, values in enumerate(pair.values[name], 1)
        for letter, value in zip((pair.one, pair.other), values, strict=True)
    ]
    parts = [
        f"{letter} {', '.join(figure(values[index]) for values in pair.values[name])}"
        for index, letter in enumerate((pair.one, pair.other))
    ]
    text = f"{quantity.label}, {quantity.unit}, by repeat: {'; '.join(parts)}."
    keys = tuple(Key(colors[letter], letter) for letter in (pair.one, pair.other))
    chart = Chart(f"repeats-{number}-{name}", "repeats", text, tuple(rows), keys, {"unit": quantity.unit})
    heading = f"{quantity.label[:1].upper()}{quantity.label[1:]}"
    return Block(heading, chart=chart, is_half=True)


def _gaps(side: Side) -> list[int]:
    """The gaps between the events of a side's complete answers, in order."""
    import numpy as np

    counted = [item for item in side.run.account.counted if item.line.cell == side.cell.key]
    gaps = [np.diff(item.stream.deliveries.at_ns) for item in counted if item.line.status == "complete"]
    found: list[int] = np.sort(np.concatenate(gaps)).tolist() if gaps else []
    return found
