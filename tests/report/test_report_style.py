"""Colours that can be read, in light and in dark."""

import re
from pathlib import Path

import pytest

import auditor.report
from auditor.report.svg import COLORS

CSS = (Path(auditor.report.__file__).parent / "templates" / "style.css").read_text()
TEXT = [
    ("ink", "paper"), ("ink", "panel"), ("faint", "paper"), ("faint", "panel"), ("link", "paper"), ("claim", "paper"),
    ("ok", "ok-back"), ("bad", "bad-back"), ("warn", "warn-back"),
]  # fmt: skip
MARKS = ["claim", "delivered", "bonus", "quiet", "rejected", "overshoot", "plain", "first"]


def palettes() -> dict[str, dict[str, str]]:
    light, dark, printed = re.findall(r":root \{(.*?)\}", CSS, re.S)
    found = {"light": light, "dark": dark, "print": printed}
    return {name: dict(re.findall(r"--([\w-]+): (#\w+)", block)) for name, block in found.items()}


def luminance(color: str) -> float:
    digits = color[1:] if len(color) == 7 else "".join(2 * digit for digit in color[1:])
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_text_and_marks_stand_out(theme: str) -> None:
    colors = palettes()[theme]
    for text, ground in TEXT:
        assert contrast(colors[text], colors[ground]) >= 4.5, (text, ground)
    for mark in MARKS:
        assert contrast(colors[mark], colors["paper"]) >= 3, mark


def test_every_colour_of_a_chart_is_one_of_the_page() -> None:
    for colors in palettes().values():
        assert set(COLORS) <= set(colors)
