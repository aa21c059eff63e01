"""From a chart of altair to inline SVG: converted without a browser, cut to what is drawn, coloured by the page."""

import re
from html import escape
from typing import Any
from xml.etree import ElementTree

COLORS = {
    name: f"#fe{number:02x}dc"
    for number, name in enumerate(
        (
            "ink", "faint", "grid", "claim", "delivered", "first", "plain", "bonus", "quiet", "rejected", "overshoot",
            "paper",
        )
    )
}  # fmt: skip
"""The colours of a chart, by name: each a stand-in that becomes a CSS variable of the page, for light and dark."""
ROOM = 1.17
"""Text is laid out larger than it is shown, so that it fits in the wider letters of another machine too."""
_NAMES = {value: name for name, value in COLORS.items()}
_ELEMENTS = {"svg", "g", "path", "text", "tspan", "rect", "line", "circle"}
_ATTRIBUTES = {
    "d", "transform", "x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "r", "cx", "cy", "width", "height", "viewBox",
    "fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
    "fill-opacity", "stroke-opacity", "text-anchor", "font-size", "font-weight",
}  # fmt: skip
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}(?:e-?\d+)?")


def to_svg(chart: Any, label: str) -> str:
    """The chart as one `<svg>` with `label` for those who cannot see it. Nothing is fetched and nothing can run."""
    import vl_convert

    text = vl_convert.vegalite_to_svg(chart.to_dict())
    root = ElementTree.fromstring(text)
    inner = "".join(_element(child) for child in root)
    width, height = round(float(root.get("width", "0"))), round(float(root.get("height", "0")))
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return f'<svg {size} role="img" aria-label="{escape(label)}">{inner}</svg>'


def _element(node: ElementTree.Element) -> str:
    """The element as text; nothing for what is not drawn or not known."""
    name = node.tag.rpartition("}")[2]
    if name not in _ELEMENTS or node.get("display") == "none" or (name == "path" and not node.get("d")):
        return ""
    attributes = "".join(_attribute(key, value) for key, value in node.attrib.items())
    inner = escape(node.text or "", quote=False) + "".join(_element(child) for child in node)
    if name == "g" and (not attributes or not inner):
        return inner
    if name == "path" and "fill=" not in attributes and "stroke=" not in attributes:
        return ""
    return f"<{name}{attributes}>{inner}</{name}>" if inner else f"<{name}{attributes}/>"


def _attribute(name: str, value: str) -> str:
    if name not in _ATTRIBUTES or (name == "opacity" and value == "1"):
        return ""
    if name == "transform" and value == "translate(0,0)":
        return ""
    if name == "font-size":
        return f' font-size="{float(value.removesuffix("px")) / ROOM:.4g}"'
    if name in ("fill", "stroke") and value in _NAMES:
        return f' {name}="var(--{_NAMES[value]})"'
    return f' {name}="{escape(_LONG_NUMBER.sub(_short, value))}"'


def _short(found: re.Match[str]) -> str:
    return f"{float(found[0]):.2f}".rstrip("0").rstrip(".")
