"""A comparison as Markdown, to paste into a thread."""

from auditor.core.comparing import words
from auditor.core.comparing.record import Comparison, Pair
from auditor.report.comparisonshown import difference_row, held_words, pair_title, side_words
from auditor.report.text import safe

_MOST = 400


def markdown(comparison: Comparison) -> str:
    """The sides, and for each pair what stands against it, what was shown, and the table."""
    lines = [f"- **{side.letter}**: {safe(side_words(side), _MOST)}" for side in comparison.sides]
    for pair in comparison.pairs:
        lines += ["", *_pair(comparison, pair)]
    lines += ["", *(f"- compared with nothing: {safe(alone, _MOST)}" for alone in comparison.alone)]
    return "\n".join(lines).rstrip() + "\n"


def _pair(comparison: Comparison, pair: Pair) -> list[str]:
    lines = [f"**{safe(words.headline(comparison, pair), _MOST)}**", "", safe(pair_title(pair), _MOST), ""]
    lines += [f"- {safe(note, _MOST)}" for note in pair.notes]
    lines += ["", f"| | {pair.one} | {pair.other} | {pair.other} / {pair.one} | 95 % interval | |"]
    lines.append("|---|---:|---:|---:|---|---|")
    for found in pair.differences:
        *texts, outcome = difference_row(found)
        lines.append(f"| {' | '.join(texts)} | {outcome} {held_words(found)} |")
    reaches = [found.reach for found in pair.differences if found.reach is not None]
    return lines + [line for reach in reaches for line in ("", words.reach(reach))]
