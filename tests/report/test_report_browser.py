"""The page in a real browser: no request, nothing run, nothing wider than the screen."""

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser


def opened(browser: Any, folder: Path, **context: Any) -> tuple[Any, list[str]]:
    """A page of the report with everything that it does besides showing itself."""
    deeds: list[str] = []
    page = browser.new_context(**context).new_page()
    page.on("request", lambda request: deeds.append(request.url))
    page.on("console", lambda message: deeds.append(message.text))
    page.on("dialog", lambda dialog: deeds.append(dialog.message))
    page.on("pageerror", lambda error: deeds.append(str(error)))
    page.goto((folder / "report.html").as_uri())
    deeds.remove((folder / "report.html").as_uri())
    return page, deeds


@pytest.mark.parametrize("width", [360, 1440])
def test_it_fits_the_screen_and_does_nothing(browser: Any, any_run: Path, width: int) -> None:
    page, deeds = opened(browser, any_run, viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert deeds == []
    page.context.close()


def test_on_a_phone_the_tables_of_figures_are_not_cut_off(browser: Any, any_run: Path) -> None:
    page, _ = opened(browser, any_run, viewport={"width": 360, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    wide = """[...document.querySelectorAll('.scroll:has(.numbers, .pairs, .stack)')]
        .filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"""
    assert page.evaluate(wide) == []
    labels = page.evaluate("[...document.querySelectorAll('.numbers tbody td')].map(one => one.dataset.label)")
    assert labels
    assert all(labels)
    page.context.close()


def test_one_drawing_of_each_chart_is_shown(browser: Any, runs: dict[str, Path]) -> None:
    for width in (360, 1440):
        page, _ = opened(browser, runs["spec"], viewport={"width": width, "height": 800})
        drawn = page.locator("figure svg").all()
        seen = [one for one in drawn if one.is_visible()]
        assert len(drawn) == 2 * len(seen) > 0
        for box in (one.bounding_box() for one in seen):
            assert box["width"] <= width
        page.context.close()


def test_light_and_dark_differ_and_charts_follow(browser: Any, runs: dict[str, Path]) -> None:
    colors = {}
    script = "getComputedStyle(document.querySelector('figure .wide svg text')).fill"
    for scheme in ("light", "dark"):
        page, _ = opened(browser, runs["spec"], color_scheme=scheme)
        colors[scheme] = (page.evaluate("getComputedStyle(document.body).backgroundColor"), page.evaluate(script))
        page.context.close()
    assert colors["light"] == ("rgb(255, 255, 255)", "rgb(27, 31, 36)")
    assert colors["dark"] == ("rgb(15, 19, 24)", "rgb(230, 237, 243)")


def test_hostile_text_makes_no_element(browser: Any, runs: dict[str, Path]) -> None:
    page, deeds = opened(browser, runs["hostile"])
    assert page.locator("script, [onload], svg svg").count() == 0
    assert deeds == []
    assert "<svg onload=alert(1)>" in page.locator("h1").inner_text()
    page.context.close()


def test_it_prints(browser: Any, runs: dict[str, Path]) -> None:
    page, _ = opened(browser, runs["spec"])
    page.emulate_media(media="print")
    assert page.locator("nav").is_hidden()
    assert len(page.pdf()) > 20_000
    page.context.close()
