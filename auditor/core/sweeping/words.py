"""A sweep in words: the recipes before they run, the table afterwards, the lines of a log that tell why."""

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath

from auditor.core.stats import Estimate
from auditor.core.sweeping.matrix import Recipe
from auditor.core.sweeping.result import RowResult, Sweep
from auditor.core.wording import figure, plural

MOST_LINES = 6
_TELLING = re.compile(
    r"error|exception|traceback|fatal|abort|fail|cannot|unable|not found|no such|out of memory|unsupported|killed",
    re.IGNORECASE,
)
HEADS = ("ROW", "CLAIMED", "DELIVERED", "FACTOR", "VERDICT", "ACCEPTANCE LENGTH", "KNEE", "NOTES")
"""Columns of the table; the knee is in streams."""
LADDER_HEADS = ("STREAMS", "OUTPUT", "TOTAL", "PEAK SECOND", "ONE STREAM", "IN FLIGHT", "ANSWERS")


def recipe_words(recipe: Recipe) -> list[str]:
    """What will be started for a row and how it is stopped, line by line."""
    launch, load, target = recipe.launch, recipe.load, recipe.server
    given = "" if launch.embedded is None else ", ".join(_pairs(launch.embedded.model_dump(exclude_none=True)))
    lines = [f"{recipe.row}: {recipe.title}" if recipe.title != recipe.row else recipe.row]
    lines.append(f"  start   embedded server, {given}" if launch.embedded else f"  start   {shlex.join(launch.argv)}")
    if launch.cwd:
        lines.append(f"  in      {launch.cwd}")
    lines += [f"  env     {name}={shlex.quote(value)}" for name, value in sorted(launch.env.items())]
    if launch.secrets:
        lines.append(f"  secret  {', '.join(launch.secrets)}, from the environment")
    lines.append(f"  ready   {target.url or 'a free port of 127.0.0.1'}{launch.ready.path}, {launch.ready.timeout_s} s")
    if target.key_from:
        lines.append(f"  key     {target.key_from}, from the environment, is sent to the server")
    after = f"; first {shlex.join(launch.stop.argv)}" if launch.stop.argv else ""
    lines.append(f"  stop    {launch.stop.signal}, killed after {launch.stop.grace_s} s{after}")
    asked = ", ".join(_pairs(load.model_dump(exclude_none=True, exclude_defaults=True)))
    lines.append(f"  load    {asked or 'as the claim says'}; judged by {recipe.case}")
    return lines


def _pairs(fields: dict[str, object]) -> list[str]:
    def shown(value: object) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        return " ".join(map(str, value)) if isinstance(value, tuple) else str(value)

    return [f"{name.replace('_', ' ')} {shown(value)}" for name, value in fields.items()]


def telling_lines(text: str) -> tuple[str, ...]:
    """The lines of a log that tell why: the first and the last with words of failure, else the last ones."""
    lines = [line.strip()[:300] for line in text.splitlines() if line.strip()]
    telling = list(dict.fromkeys(line for line in lines if _TELLING.search(line)))
    if not telling:
        return tuple(lines[-3:])
    half = MOST_LINES // 2
    return tuple(telling if len(telling) <= MOST_LINES else telling[:half] + telling[-half:])


def table_of(sweep: Sweep) -> list[tuple[str, ...]]:
    """The table, one line a row of the matrix that was measured; `HEADS` are its columns."""
    return [_line(one) for one in sweep.rows]


def _line(one: RowResult) -> tuple[str, ...]:
    return (
        one.row,
        one.claimed,
        rate(one.delivered) if one.run else "-",
        "-" if one.factor is None else figure(one.factor, (1,), 3),
        one.said,
        "-" if one.acceptance_length is None else figure(one.acceptance_length, (1,), 3),
        _knee(one),
        "; ".join(notes_of(one)),
    )


def _knee(one: RowResult) -> str:
    if one.knee is None:
        return "-"
    return "none" if one.knee.streams is None else str(one.knee.streams)


def notes_of(one: RowResult) -> tuple[str, ...]:
    """What a reader must know beside: why it failed, and the caveats."""
    if one.outcome == "judged":
        return one.notes
    last = (f"its log: {one.log_lines[-1]}",) if one.log_lines else ()
    return (one.sentence, *last, *one.notes)


def rate(value: Estimate | None) -> str:
    """A rate with its interval, tokens per second."""
    if value is None:
        return "not measured"
    if value.low is None or value.high is None:
        return f"{figure(value.value)} tok/s"
    return f"{figure(value.value)} tok/s ({figure(value.low)} to {figure(value.high)})"


def ladder_of(one: RowResult) -> list[tuple[str, ...]]:
    """The ladder of a row; `LADDER_HEADS` are its columns."""
    return [
        (
            f"{rung.streams:,}",
            rate(rung.output),
            rate(rung.total),
            rate(rung.peak),
            rate(rung.decode),
            "not known" if rung.effective_streams is None else figure(rung.effective_streams, (), 3),
            f"{rung.complete:,} of {rung.sent:,}",
        )
        for rung in one.rungs
    ]


def markdown(sweep: Sweep) -> str:
    """The table, the ladders and what is left, as Markdown."""
    parts = [f"# {_safe(sweep.title)}", "", *_markdown_table(HEADS, table_of(sweep))]
    for one in sweep.rows:
        if one.knee is not None:
            parts += ["", f"## {one.row}: by streams", "", *_markdown_table(LADDER_HEADS, ladder_of(one))]
            parts += ["", f"Knee: {one.knee.sentence}."]
    if sweep.left:
        parts += ["", f"Not measured yet: {', '.join(sweep.left)}."]
    return "\n".join([*parts, "", f"Matrix {sweep.matrix_digest[:12]}, {plural(len(sweep.rows), 'row')}.", ""])


def _markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [[_safe(cell) for cell in row] for row in rows]
    names = [head.capitalize() for head in heads]
    return ["| " + " | ".join(row) + " |" for row in (names, ["---"] * len(names), *lines)]


def _safe(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", " ".join(text.split()))


def log_name(row: str, attempt: int) -> str:
    """Name of a row's whole log in the folder of the sweep; that of an attempt that was killed stays."""
    return str(PurePath("logs") / (f"{row}.log" if attempt == 1 else f"{row}.{attempt}.log"))
