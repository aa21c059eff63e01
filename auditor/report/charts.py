"""The charts of the page, each drawn for a wide and for a narrow screen. The rows come from the view as they are."""

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from auditor.report.svg import COLORS, ROOM, to_svg
from auditor.report.views import Chart, ReportView

WIDE, NARROW = 700, 330
"""Widths in pixels."""
TEXT = 12 * ROOM
TIMELINE_EXTENT = 46
"""Room for the labels of the vertical axis, so that charts on one time axis lie under each other."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawn chart."""

    wide: str
    narrow: str


def draw_all(view: ReportView) -> dict[str, Drawing]:
    """Every chart of the page by name."""
    charts = [block.chart for section in view.sections for block in section.blocks if block.chart is not None]
    return {chart.name: Drawing(_draw(chart, WIDE), _draw(chart, NARROW)) for chart in charts}


def _draw(chart: Chart, width: int) -> str:
    rows = [{**row, "fill": COLORS[row["color"]]} if "color" in row else dict(row) for row in chart.rows]
    drawn = _DRAW[chart.draw](rows, width, chart.options)
    styled = drawn.configure(**_config()).properties(autosize={"type": "fit-x", "contains": "padding"})
    return to_svg(styled, chart.text)


def _config() -> dict[str, Any]:
    ink, faint, grid = COLORS["ink"], COLORS["faint"], COLORS["grid"]
    axis = {
        "labelColor": ink, "titleColor": faint, "tickColor": grid, "domainColor": grid, "gridColor": grid,
        "labelFontSize": TEXT, "titleFontSize": TEXT, "titleFontWeight": "normal", "labelLimit": 0,
    }  # fmt: skip
    return {
        "font": "Liberation Sans, Arial, Helvetica, sans-serif",
        "background": "transparent",
        "view": {"stroke": None},
        "axis": axis,
        "padding": 2,
    }


def _data(rows: list[dict[str, Any]]) -> Any:
    import altair as alt

    return alt.Chart(alt.InlineData(values=rows))


def _wrapped(rows: list[dict[str, Any]], name: str, width: int) -> tuple[list[dict[str, Any]], int]:
    """Rows with their labels broken into lines that leave room for the chart, and the height of a row in pixels."""
    letters, most = (46, 3) if width == WIDE else (18, 4)
    lines = [textwrap.wrap(str(row[name]), letters)[:most] or [""] for row in rows]
    made = [{**row, name: "\n".join(found)} for row, found in zip(rows, lines, strict=True)]
    return made, 10 + 15 * max(map(len, lines), default=1)


def _cut(rows: list[dict[str, Any]], name: str, letters: int) -> list[dict[str, Any]]:
    """Rows with labels of one line, all different, so that none lies over another."""
    seen: dict[str, int] = {}
    made = []
    for row in rows:
        text = str(row[name])
        text = text if len(text) <= letters else text[: letters - 1].rstrip() + "…"
        number = seen[text] = seen.get(text, 0) + 1
        made.append({**row, name: text if number == 1 else f"{text} ({number})"})
    return made


def _labels(name: str) -> Any:
    """A vertical axis of labels in the order of the rows."""
    import altair as alt

    axis = alt.Axis(title=None, ticks=False, domain=False, labelExpr="split(datum.label, '\\n')", labelPadding=8)
    return alt.Y(f"{name}:N", sort=None, axis=axis)


def _points(rows: list[dict[str, Any]], name: str, axis: Any, scale: Any, width: int) -> Any:
    """Values with their intervals, each beside its label and with its figure on the side that has room."""
    import altair as alt

    rows, height = _wrapped(rows, name, width)
    fill = alt.Color("fill:N", scale=None)
    base = _data(rows).encode(y=_labels(name))
    x = alt.X("low:Q", axis=axis, scale=scale)
    bars = base.mark_bar(height=8, cornerRadius=2).encode(x=x, x2="high:Q", color=fill)
    points = base.transform_filter("isValid(datum.value)").mark_point(filled=True, size=70, opacity=1)
    style = {"fontSize": TEXT, "color": COLORS["ink"]}
    right = base.transform_filter("!datum.is_far").mark_text(align="left", dx=9, **style)
    left = base.transform_filter("datum.is_far").mark_text(align="right", dx=-9, **style)
    words = right.encode(x="high:Q", text="text:N") + left.encode(x="low:Q", text="text:N")
    return (bars + points.encode(x="value:Q", color=fill) + words).properties(width=width, height=alt.Step(height))


def intervals(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """Ranges and points on one axis from 0."""
    import altair as alt

    most = max(row["high"] for row in rows) or 1
    rows = [{**row, "is_far": row["low"] > 0.6 * most} for row in rows]
    axis = alt.Axis(title="tokens per second", tickCount=6 if width == WIDE else 4)
    return _points(rows, "label", axis, alt.Scale(domain=[0, most * 1.03], nice=False), width)


def bases(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """Counting rules, or ratios, as points, with a band behind them; equal factors are equal distances."""
    import altair as alt

    ends = [row[end] for row in rows for end in ("low", "value", "high") if row[end] > 0]
    ends += [end for end in (options["low"], options["high"]) if end]
    least, most = 0.85 * min(ends), 1.1 * max(ends)
    far = least * (most / least) ** (0.88 if width == WIDE else 0.7)
    rows = [{**row, "is_far": row["high"] > far} for row in rows if row["low"] > 0]
    scale = alt.Scale(type="log", domain=[least, most], nice=False)
    title = options.get("title", "tokens per second, logarithmic")
    axis = alt.Axis(title=title, values=_ticks(least, most, width), format=",~g")
    layers = _points(_cut(rows, "label", 76 if width == WIDE else 68), "label", axis, scale, width)
    if options["low"]:
        band = _data([{"low": options["low"], "high": options["high"]}])
        x = alt.X("low:Q", scale=scale, axis=axis)
        if options["low"] == options["high"]:
            return band.mark_rule(color=COLORS["ink"]).encode(x=x) + layers
        layers = band.mark_rect(color=COLORS["claim"], opacity=0.35).encode(x=x, x2="high:Q") + layers
    return layers


def _ticks(least: float, most: float, width: int) -> list[float]:
    """1, 2, 5 of every power of ten within the axis; on a narrow screen or a long axis the powers alone."""
    decades = range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)
    steps = (1, 2, 5) if most / least < (1000 if width == WIDE else 100) else (1,)
    return [tick for decade in decades for step in steps if least <= (tick := step * 10.0**decade) <= most]


def split(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """What was delivered beside what was not, per 100 delivered tokens."""
    import altair as alt

    axis = alt.Axis(title="tokens per 100 delivered", tickCount=6)
    rows, height = _wrapped(rows, "cell", width)
    base = _data(rows).encode(y=_labels("cell"))
    bars = base.mark_bar(height=20).encode(
        x=alt.X("from:Q", axis=axis), x2="to:Q", color=alt.Color("fill:N", scale=None)
    )
    edge = _data([{"at": 100}]).mark_rule(color=COLORS["ink"], strokeWidth=1.5).encode(x="at:Q")
    return (bars + edge).properties(width=width, height=alt.Step(height + 6))


def line(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """Delivered so far, over time."""
    import altair as alt

    x = _seconds(options, width)
    y = alt.Y("n:Q", axis=alt.Axis(title=None, tickCount=5, minExtent=TIMELINE_EXTENT))
    drawn = _data(rows).mark_line(interpolate="step-after", color=COLORS["delivered"], strokeWidth=2)
    return drawn.encode(x=x, y=y).properties(width=width, height=220)


def gpu(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """One thing that the GPUs did, a line a GPU, on the time axis of the delivered tokens; slowed stretches behind."""
    import altair as alt

    x = _seconds(options, width)
    scale = alt.Scale(zero=options["from_zero"])
    y = alt.Y("v:Q", axis=alt.Axis(title=None, tickCount=3, minExtent=TIMELINE_EXTENT), scale=scale)
    points = [row for row in rows if row["row"] == "point"]
    many = len({row["gpu"] for row in points}) > 1
    drawn = _data(points).mark_line(color=COLORS["delivered"], strokeWidth=1.5, opacity=0.6 if many else 1)
    drawn = drawn.encode(x=x, y=y, detail="gpu:N")
    spans = [row for row in rows if row["row"] == "span"]
    if spans:
        behind = _data(spans).mark_rect(color=COLORS["rejected"], opacity=0.25)
        drawn = behind.encode(x=x, x2="t2:Q") + drawn
    style = {"anchor": "start", "fontSize": TEXT, "fontWeight": "normal", "color": COLORS["faint"]}
    title = alt.TitleParams(options["title"], **style)
    return drawn.properties(width=width, height=80, title=title)


def _seconds(options: dict[str, Any], width: int) -> Any:
    """The time axis that the delivered tokens and the GPUs under them share."""
    import altair as alt

    title, ticks = f"seconds since {options['since']}", 6 if width == WIDE else 4
    axis = alt.Axis(title=title, tickCount=ticks, grid=False)
    return alt.X("t:Q", axis=axis, scale=alt.Scale(domain=options["domain"], nice=False))


def zoom(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """Single steps: as wide as the time they took, as high as what they delivered."""
    import altair as alt

    axis = alt.Axis(title=f"seconds since {options['since']}", tickCount=6, grid=False)
    x = alt.X("t:Q", axis=axis, scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("y:Q", axis=alt.Axis(title="tokens", tickCount=6, labelExpr="format(abs(datum.value), 'd')"))
    bars = _data(rows).mark_bar(stroke=COLORS["paper"], strokeWidth=1 if width == WIDE else 0.5)
    drawn = bars.encode(x=x, x2="t2:Q", y=y, y2="y2:Q", color=alt.Color("fill:N", scale=None))
    zero = _data([{"at": 0}]).mark_rule(color=COLORS["ink"]).encode(y="at:Q")
    return (drawn + zero).properties(width=width, height=240)


def gaps(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """How many gaps of which size."""
    import altair as alt

    least, most = options["domain"]
    title, values = f"milliseconds between {options['unit']}", _ticks(least, most, NARROW)
    axis = alt.Axis(title=title, grid=False, values=values, format="~g", labelFlush=False)
    x = alt.X("from:Q", axis=axis, scale=alt.Scale(type="log", domain=[least, most], nice=False))
    y = alt.Y("n:Q", axis=alt.Axis(title="gaps", tickCount=4))
    bars = _data(rows).mark_bar(stroke=COLORS["paper"], strokeWidth=1)
    drawn = bars.encode(x=x, x2="to:Q", y=y, y2=alt.datum(0), color=alt.Color("fill:N", scale=None))
    return drawn.properties(width=width, height=150)


def repeats(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """A value of each side for every repeat, from 0, with those of one side joined."""
    import altair as alt

    x = alt.X("repeat:O", axis=alt.Axis(title="repeat", labelAngle=0, ticks=False, labelOverlap=True))
    y = alt.Y("value:Q", axis=alt.Axis(title=options["unit"], tickCount=5))
    base = _data(rows).encode(x=x, y=y, color=alt.Color("fill:N", scale=None), detail="side:N")
    drawn = base.mark_line(strokeWidth=2) + base.mark_point(filled=True, size=50, opacity=1)
    return drawn.properties(width=width, height=200)


def shares(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """A share for each whole number."""
    import altair as alt

    x = alt.X("number:O", axis=alt.Axis(title=options["title"], labelAngle=0, ticks=False, labelOverlap=True))
    scale = alt.Scale(domain=[0, 1])
    y = alt.Y("share:Q", axis=alt.Axis(title=options["of"], format="%", tickCount=4), scale=scale)
    bars = _data(rows).mark_bar(color=COLORS["delivered"]).encode(x=x, y=y)
    return bars.properties(width=min(width, max(260, 60 + 48 * len(rows))), height=150)


_DRAW: dict[str, Callable[[list[dict[str, Any]], int, dict[str, Any]], Any]] = {
    "intervals": intervals,
    "bases": bases,
    "split": split,
    "line": line,
    "gpu": gpu,
    "zoom": zoom,
    "gaps": gaps,
    "repeats": repeats,
    "shares": shares,
}
