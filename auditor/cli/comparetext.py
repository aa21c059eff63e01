"""A comparison as text."""

from collections.abc import Iterator

from auditor.cli.columns import Row, table, wrapped
from auditor.core.comparing import words
from auditor.core.comparing.record import Comparison, Pair
from auditor.report.comparisonshown import difference_row, held_words, pair_title, prompt_words, side_words
from auditor.report.shown import one_line


def comparison_text(comparison: Comparison) -> str:
    """The comparison for a terminal; what stands against it comes first."""
    parts = [
        [line for side in comparison.sides for line in wrapped(f"{side.letter}  {side_words(side)}", "  ", " " * 5)],
        *(list(_pair(comparison, pair)) for pair in comparison.pairs),
        [line for alone in comparison.alone for line in wrapped(f"Compared with nothing: {alone}.", rest="  ")],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _pair(comparison: Comparison, pair: Pair) -> Iterator[str]:
    headline = one_line(words.headline(comparison, pair))
    yield from wrapped(f"{headline[:1].upper()}{headline[1:]}.", rest="  ")
    for note in pair.notes:
        yield from wrapped(one_line(note), "  - ", "    ")
    yield f"  {pair_title(pair)}"
    rows: list[Row] = [("", pair.one, pair.other, f"{pair.other} / {pair.one}", "95 % interval", "", "")]
    rows += [(*difference_row(found), held_words(found)) for found in pair.differences]
    yield from table(rows, right=(1, 2, 3))
    if len(pair.by_prompt) > 1:
        yield from wrapped(prompt_words(pair), "  ", "  ")
    for found in pair.differences:
        if found.reach is not None:
            yield from wrapped(words.reach(found.reach), "  ", "  ")
