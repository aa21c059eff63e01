"""The charts of the page, each drawn for a wide and for a narrow screen. The rows come from the view as they are."""

import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from auditor.report.svg import COLORS, to_svg
from auditor.report.views import Chart, ReportView

WIDE, NARROW = 700, 330
"""Widths in pixels."""


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
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 0,
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


def _wrapped(rows: list[dict[str, Any]], name: str, width: int) -> list[dict[str, Any]]:
    """Rows with their labels broken into lines that leave room for the chart."""
    letters = 40 if width == WIDE else 17
    return [{**row, name: "\n".join(textwrap.wrap(str(row[name]), letters)[:3])} for row in rows]


def _labels(name: str) -> Any:
    """A vertical axis of labels in the order of the rows."""
    import altair as alt

    axis = alt.Axis(title=None, ticks=False, domain=False, labelExpr="split(datum.label, '\\n')", labelPadding=8)
    return alt.Y(f"{name}:N", sort=None, axis=axis)


def intervals(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """Ranges and points on one axis."""
    import altair as alt

    rows = _wrapped(rows, "label", width)
    fill = alt.Color("fill:N", scale=None)
    base = _data(rows).encode(y=_labels("label"))
    axis = alt.Axis(title="tokens per second", tickCount=6)
    band = base.mark_bar(height=9, cornerRadius=2).encode(x=alt.X("low:Q", axis=axis), x2="high:Q", color=fill)
    points = base.transform_filter("isValid(datum.value)").mark_point(filled=True, size=70, opacity=1)
    words = base.mark_text(align="left", dx=9, fontSize=12, color=COLORS["ink"]).encode(x="high:Q", text="text:N")
    layers = band + points.encode(x="value:Q", color=fill) + words
    return layers.properties(width=width, height=alt.Step(34 if width == WIDE else 46))


def bases(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """Counting rules as points, with the claim as a band behind them."""
    import altair as alt

    name = "label" if width == WIDE else "short"
    rows = _wrapped(_distinct(rows, name), name, width)
    base = _data(rows).encode(y=_labels(name))
    axis = alt.Axis(title="tokens per second", tickCount=6)
    fill = alt.Color("fill:N", scale=None)
    lines = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", axis=axis), x2="high:Q", color=fill)
    points = base.mark_point(filled=True, size=60, opacity=1).encode(x="value:Q", color=fill)
    words = base.mark_text(align="left", dx=8, fontSize=11, color=COLORS["ink"]).encode(x="high:Q", text="text:N")
    layers = lines + points + words
    if options.get("low") is not None:
        claim = _data([{"low": options["low"], "high": options["high"]}])
        layers = claim.mark_rect(color=COLORS["claim"], opacity=0.35).encode(x="low:Q", x2="high:Q") + layers
    return layers.properties(width=width, height=alt.Step(22 if width == WIDE else 34))


def _distinct(rows: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """Rows whose labels are all different, so that none lies over another."""
    seen: dict[str, int] = {}
    made = []
    for row in rows:
        number = seen[row[name]] = seen.get(row[name], 0) + 1
        made.append(row if number == 1 else {**row, name: f"{row[name]} ({number})"})
    return made


def split(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """What was delivered beside what was not, per 100 delivered tokens."""
    import altair as alt

    axis = alt.Axis(title="tokens per 100 delivered", tickCount=6)
    base = _data(_wrapped(rows, "cell", width)).encode(y=_labels("cell"))
    bars = base.mark_bar(height=20).encode(
        x=alt.X("from:Q", axis=axis), x2="to:Q", color=alt.Color("fill:N", scale=None)
    )
    edge = _data([{"at": 100}]).mark_rule(color=COLORS["ink"], strokeWidth=1.5).encode(x="at:Q")
    return (bars + edge).properties(width=width, height=alt.Step(34))


def line(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """Delivered so far, over time."""
    import altair as alt

    x = alt.X("t:Q", axis=alt.Axis(title=f"seconds since {options['since']}", tickCount=6, grid=False))
    y = alt.Y("n:Q", axis=alt.Axis(title=f"{options['unit']} delivered", tickCount=5))
    drawn = _data(rows).mark_line(interpolate="step-after", color=COLORS["delivered"], strokeWidth=2)
    return drawn.encode(x=x, y=y).properties(width=width, height=220)


def zoom(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """Single steps: as wide as the time they took, as high as what they delivered."""
    import altair as alt

    axis = alt.Axis(title=f"seconds since {options['since']}", tickCount=6, grid=False)
    x = alt.X("t:Q", axis=axis, scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("y:Q", axis=alt.Axis(title="tokens", tickCount=6))
    bars = _data(rows).mark_bar(stroke=COLORS["paper"], strokeWidth=1)
    drawn = bars.encode(x=x, x2="t2:Q", y=y, y2="y2:Q", color=alt.Color("fill:N", scale=None))
    zero = _data([{"at": 0}]).mark_rule(color=COLORS["ink"]).encode(y="at:Q")
    return (drawn + zero).properties(width=width, height=240)


def gaps(rows: list[dict[str, Any]], width: int, options: dict[str, Any]) -> Any:
    """How many gaps of which size."""
    import altair as alt

    axis = alt.Axis(title=f"milliseconds between {options['unit']}", grid=False, tickCount=6, format="~g")
    x = alt.X("from:Q", axis=axis, scale=alt.Scale(type="log", domain=options["domain"], nice=False))
    y = alt.Y("n:Q", axis=alt.Axis(title="gaps", tickCount=4))
    bars = _data(rows).mark_bar(stroke=COLORS["paper"], strokeWidth=1)
    drawn = bars.encode(x=x, x2="to:Q", y=y, color=alt.Color("fill:N", scale=None))
    return drawn.properties(width=width, height=150)


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
    "zoom": zoom,
    "gaps": gaps,
    "shares": shares,
}
