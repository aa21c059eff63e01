"""The site in a real browser: links, accessibility, keyboard, widths, light and dark, hostile text, 2,000 rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from published import MARKUP, many_audits

from auditor.report.site.building import Site, front
from auditor.report.site.filing import Rule
from auditor.report.site.gathering import Gathered
from auditor.report.site.writing import Place

pytestmark = pytest.mark.browser


@contextmanager
def screen(browser: Any, **context: Any) -> Iterator[tuple[Any, list[str]]]:
    """A page, with everything that is done there: requests, messages, dialogs, errors."""
    deeds: list[str] = []
    page = browser.new_context(**context).new_page()
    page.on("request", lambda request: deeds.append(request.url))
    page.on("console", lambda message: deeds.append(message.text))
    page.on("dialog", lambda dialog: deeds.append(dialog.message))
    page.on("pageerror", lambda error: deeds.append(str(error)))
    yield page, deeds
    page.context.close()


@contextmanager
def opened(browser: Any, address: str, **context: Any) -> Iterator[tuple[Any, list[str]]]:
    """The same at an address, with what is done there besides showing it."""
    with screen(browser, **context) as (page, deeds):
        page.goto(address)
        deeds.remove(address)
        yield page, deeds


def pages_of(site: Path) -> list[str]:
    """The site's own pages; reports are tested in their own room."""
    return sorted(path.relative_to(site).as_posix() for path in site.rglob("index.html"))


def each_kind(site: Path) -> list[str]:
    """A page of every kind and state."""
    kinds = (
        "index.html", "claims/two-runs/index.html", "claims/glm5-8cards/index.html", "claims/hostile/index.html",
        "claims/two-runs/runs/first-1/index.html", "claims/hostile/runs/hostile-1/index.html",
        "claims/low/runs/broken/index.html", next(name for name in pages_of(site) if name.startswith("imports/")),
        next(name for name in pages_of(site) if name.startswith("forks/")),
    )  # fmt: skip
    assert all((site / name).is_file() for name in kinds)
    return list(kinds)


@pytest.mark.parametrize("where", ["folder", "sub-path"])
def test_every_link_leads_somewhere_and_nothing_is_asked_elsewhere(
    browser: Any, site: Path, served: str, where: str
) -> None:
    root = f"{site.as_uri()}/" if where == "folder" else served
    waiting, seen, broken, elsewhere = [f"{root}index.html"], set(), [], set()
    with screen(browser) as (page, deeds):
        while waiting:
            address = waiting.pop()
            if address in seen:
                continue
            seen.add(address)
            if not (site / unquote(address.removeprefix(root))).is_file():
                broken.append(address)
            elif address.endswith(".html"):
                page.goto(address)
                found = page.eval_on_selector_all("a[href], link[href]", "all => all.map(one => one.href)")
                ids = page.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
                own = [urldefrag(link) for link in found if link.startswith(root)]
                broken += [link for link, mark in own if link == address and mark and mark not in ids]
                waiting += [link for link, _ in own]
                elsewhere |= {urlsplit(link).hostname for link in found if not link.startswith(root)}
    assert broken == []
    assert elsewhere <= {"forum.example", "git.example", "www.reddit.com"}
    written = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert {unquote(one.removeprefix(root)) for one in seen if one.endswith(".html")} == written
    assert sorted(deeds) == sorted(one for one in seen if one.endswith(".html"))


@pytest.mark.parametrize(("width", "scheme"), [(360, "light"), (360, "dark"), (1440, "light"), (1440, "dark")])
def test_accessibility(browser: Any, site: Path, width: int, scheme: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    looked = {}
    # Every kind once in two settings, the table in all four.
    names = each_kind(site) if (width == 360) == (scheme == "dark") else ["index.html"]
    with screen(browser, viewport={"width": width, "height": 800}, color_scheme=scheme) as (page, _):
        for name in names:
            page.goto((site / name).as_uri())
            found = axe.run(page).response
            assert len(found["passes"]) > 15, name
            looked[name] = [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found["violations"]]
    assert {name: found for name, found in looked.items() if found} == {}


def test_the_accessibility_check_sees_what_is_wrong(browser: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with screen(browser) as (page, _):
        page.set_content("<p style='color: #999; background: #aaa'>pale<input>")
        assert {"color-contrast", "label"} <= {one["id"] for one in axe.run(page).response["violations"]}


@pytest.mark.parametrize("width", [360, 1440])
def test_every_page_fits_the_screen(browser: Any, site: Path, width: int) -> None:
    with screen(browser, viewport={"width": width, "height": 800}) as (page, _):
        for name in pages_of(site):
            page.goto((site / name).as_uri())
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            assert page.evaluate("document.documentElement.scrollWidth") == width, name


def test_light_and_dark_differ(browser: Any, site: Path) -> None:
    colors = {}
    for scheme in ("light", "dark"):
        with opened(browser, (site / "index.html").as_uri(), color_scheme=scheme) as (page, _):
            colors[scheme] = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colors == {"light": "rgb(255, 255, 255)", "dark": "rgb(15, 19, 24)"}


def column(page: Any, number: int) -> list[str]:
    """The texts of a column, of the rows that are shown."""
    cells = page.locator(f"#audits tbody tr:not([hidden]) > :nth-child({number + 1})").all()
    return [
        cell.evaluate("one => (one.querySelector('.badge, bdi') || one.firstChild || one).textContent")
        for cell in cells
    ]


def test_sorting_by_keyboard(browser: Any, site: Path) -> None:
    with opened(browser, (site / "index.html").as_uri()) as (page, _):
        head = page.get_by_role("columnheader", name="Claimed", exact=True)
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        for _ in range(40):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.textContent") == "Claimed":
                break
        page.keyboard.press("Enter")
        assert head.get_attribute("aria-sort") == "ascending"
        script = "all => all.map(one => one.dataset.v === undefined ? null : Number(one.dataset.v))"
        rising = page.eval_on_selector_all("#audits tbody td:nth-child(2)", script)
        known = [one for one in rising if one is not None]
        assert known == sorted(known)
        assert len(known) > 5
        page.keyboard.press("Space")
        assert head.get_attribute("aria-sort") == "descending"
        falling = page.eval_on_selector_all("#audits tbody td:nth-child(2)", script)
        assert falling == sorted(known, reverse=True) + [None] * rising.count(None)
        assert page.url.endswith("#sort=-1")


def test_narrowing_by_keyboard_is_told_and_kept_in_the_address(browser: Any, site: Path) -> None:
    with opened(browser, (site / "index.html").as_uri()) as (page, deeds):
        everything = len(column(page, 0))
        page.locator("#find").focus()
        page.keyboard.type("recording h200")
        shown = column(page, 0)
        assert 0 < len(shown) < everything
        assert all("recording" in title for title in shown)
        assert page.get_by_role("status").inner_text() == f"{len(shown)} of {everything} shown"
        page.keyboard.press("Tab")
        page.keyboard.type("not-comp")
        assert set(column(page, 4)) == {"not-comparable"}
        page.reload()
        assert set(column(page, 4)) == {"not-comparable"}
        page.get_by_role("button", name="Show all").press("Enter")
        assert page.get_by_role("status").inner_text() == f"{everything} shown"
        assert "#" not in page.url
        assert [one for one in deeds if not one.startswith(site.as_uri())] == []


def test_without_script_the_table_is_whole(browser: Any, site: Path) -> None:
    with opened(browser, (site / "index.html").as_uri(), java_script_enabled=False) as (page, _):
        assert page.locator("#narrow").is_hidden()
        assert page.locator("#audits tbody tr").count() > 12
        assert page.locator("#audits tbody tr").last.is_visible()


def test_hostile_text_makes_no_element(browser: Any, site: Path) -> None:
    hostile = [name for name in pages_of(site) if "hostile" in name] + ["index.html"]
    assert len(hostile) >= 3
    for name in hostile:
        with opened(browser, (site / name).as_uri()) as (page, deeds):
            assert page.locator("script").count() == (1 if name == "index.html" else 0)
            assert page.locator("[onload], svg svg").count() == 0
            assert MARKUP in page.locator("main").inner_text()
            assert deeds == []


def test_pictures_with_hostile_text_draw(browser: Any, site: Path) -> None:
    for path in sorted((site / "claims" / "hostile").rglob("badge.svg")):
        with opened(browser, path.as_uri()) as (page, deeds):
            assert page.locator("svg").bounding_box()["height"] == 20
            assert deeds == []


def test_two_thousand_audits_stay_usable(browser: Any, tmp_path: Path) -> None:
    site = Site(title="Many", rule=Rule(), has_cards=False)
    Place(tmp_path / "site").write(front(Gathered(many_audits(2000), {}, {}, ()), site))
    assert (tmp_path / "site" / "index.html").stat().st_size < 2_000_000
    with opened(browser, (tmp_path / "site" / "index.html").as_uri()) as (page, deeds):
        page.get_by_role("columnheader", name="Factor").get_by_role("button").click()
        values = page.eval_on_selector_all(
            "#audits tbody td:nth-child(4)", "all => all.map(one => Number(one.dataset.v))"
        )
        assert values == sorted(values)
        page.locator("#find").fill("claim-1234")
        assert column(page, 0) == ["Claim number 1234"]
        assert deeds == []
