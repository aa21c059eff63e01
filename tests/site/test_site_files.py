"""The files of the site: the same bytes for the same input, nothing forgotten, nothing foreign touched, all valid."""

import re
import shutil
from collections import Counter
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin
from xml.etree import ElementTree

import orjson
import pytest
from published import MARKUP, START_NS, Audit, amend

from auditor.core.folder import AMENDMENTS, MANIFEST, PLAN, TOKENS, WIRE, RunFolder
from auditor.core.record import canonical_json, sha256
from auditor.report.site.entries import Audits

Publish = Callable[..., tuple[Path, dict[str, object]]]
ATOM = "{http://www.w3.org/2005/Atom}"


def files_of(site: Path) -> dict[str, bytes]:
    """Every file, by its path."""
    return {path.relative_to(site).as_posix(): path.read_bytes() for path in site.rglob("*") if path.is_file()}


def audits_of(site: Path) -> Audits:
    """What the site says of itself."""
    return Audits.from_json((site / "audits.json").read_bytes())


def row(site: Path, name: str) -> str:
    """The row of an audit on the front page, as text without its markup."""
    html = (site / "index.html").read_text()
    found = [one for one in html.split("<tr>") if f" · {name}</bdi>" in one]
    assert len(found) == 1, name
    return re.sub(r"<[^>]+>", " ", found[0])


class Ids(HTMLParser):
    """Collects ids and what is opened and closed."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value or "" for name, value in attrs if name == "id"]
        if tag not in ("meta", "link", "input", "br", "rect"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Opens nothing."""

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_pages_close_what_they_open_and_name_each_id_once(site: Path) -> None:
    for path in site.rglob("index.html"):
        parser = Ids()
        # Optional end tags are what the browser's own parser is for.
        parser.feed(re.sub(r"</?option[^>]*>", "", path.read_text()))
        assert parser.open == [], path
        assert max(Counter(parser.ids).values()) == 1, path


def test_pictures_and_feeds_are_xml(site: Path) -> None:
    for path in [*site.rglob("*.svg"), site / "feed.xml"]:
        ElementTree.parse(path)


def test_badges_say_what_was_claimed_delivered_and_found(site: Path) -> None:
    texts = {path.parent.name: ElementTree.parse(path).getroot().get("aria-label") for path in site.rglob("badge.svg")}
    assert texts["second-2"] == "claimed 130 · delivered 17.42 · inconclusive"
    assert texts["two-runs"] == texts["second-2"]
    assert texts["first-1"] == "claimed 130 · withdrawn"
    assert texts["fork-130tps"] == "claimed 130 to 150 · not-comparable"
    assert texts["glm5-8cards"] == "0 of 11 numbers audited"
    assert texts["qwen397-72tps"] == "claimed 72 · not audited"


def test_cards_are_pictures_of_their_size(site: Path) -> None:
    for path in site.rglob("card.png"):
        data = path.read_bytes()
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        assert (int.from_bytes(data[16:20]), int.from_bytes(data[20:24])) == (1200, 630)
        assert len(data) < 60_000


def test_feeds_tell_the_newest_first_with_what_was_said_since(site: Path) -> None:
    feed = ElementTree.parse(site / "feed.xml").getroot()
    entries = feed.findall(f"{ATOM}entry")
    updated = [one.findtext(f"{ATOM}updated") for one in entries]
    assert updated == sorted(updated, reverse=True)
    assert feed.findtext(f"{ATOM}updated") == updated[0]
    ids = [one.findtext(f"{ATOM}id") for one in (feed, *entries)]
    assert len(set(ids)) == len(ids)
    withdrawn = next(one for one in entries if "withdrawn" in str(one.findtext(f"{ATOM}title")))
    assert "Withdrawn: The wrong model was served." in str(withdrawn.findtext(f"{ATOM}summary"))
    for one in entries:
        assert (site / str(one.find(f"{ATOM}link").get("href"))).is_file()  # type: ignore[union-attr]
    items = orjson.loads((site / "feed.json").read_bytes())["items"]
    assert [one["id"] for one in items] == ids[1:]
    assert any(MARKUP in one["content_text"] for one in items)


def test_a_base_address_makes_links_whole(publish: Publish) -> None:
    site, _ = publish("--base-url", "https://example.org/audits")
    base = "https://example.org/audits/"
    feed = ElementTree.parse(site / "feed.xml").getroot()
    links = [str(one.get("href")) for one in feed.iter(f"{ATOM}link")]
    links += [one["url"] for one in orjson.loads((site / "feed.json").read_bytes())["items"]]
    html = (site / "claims" / "two-runs" / "index.html").read_text()
    links += re.findall(r'<meta property="og:(?:url|image)" content="([^"]+)"', html)
    assert len(links) > 15
    for link in links:
        path = site / urljoin(base, link).removeprefix(base)
        assert link.startswith(base)
        assert path.is_file() or (path / "index.html").is_file()
    assert f"[![claimed 130 · delivered 17.42 · inconclusive]({base}claims/two-runs/badge.svg)]" in html


def test_every_state_is_a_row_with_its_reason(site: Path) -> None:
    assert "not readable" in row(site, "broken")
    assert "is missing" in row(site, "broken")
    assert "verdict.json was changed since it was written" in row(site, "changed")
    assert "audit judge" in row(site, "unjudged")
    assert "withdrawn, reply" in row(site, "first-1")
    assert "corrected" in row(site, "second-2")
    assert "rehearsal" in row(site, "20261201T123503Z-5cc7")
    assert "seen: NVIDIA H200" in row(site, "20261201T132428Z-5517")


def test_the_same_input_gives_the_same_bytes(publish: Publish, tmp_path: Path) -> None:
    site, first = publish()
    before, stamps = files_of(site), {path: path.stat().st_mtime_ns for path in site.rglob("*") if path.is_file()}
    _, again = publish()
    assert files_of(site) == before
    assert (again["written"], again["removed"]) == (0, 0)
    assert again["unchanged"] == first["written"]
    stamps.pop(site / "site.json")
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps
    shutil.move(site, tmp_path / "other")
    publish()
    assert files_of(site) == before


def test_only_what_is_new_is_written(publish: Publish, own_tree: tuple[Path, str]) -> None:
    site, _ = publish("--no-cards")
    before = files_of(site)
    amend(own_tree[0] / "low" / "low-1", ("reply", "It ran on battery."))
    _, said = publish("--no-cards")
    after = files_of(site)
    changed = {path for path in after if after[path] != before.get(path)} - {"site.json"}
    run = "claims/low/runs/low-1"
    assert changed == {
        "index.html", "audits.json", "feed.json", "feed.xml", "claims/low/index.html", f"{run}/index.html",
        f"{run}/amendments.jsonl", f"{run}/manifest.json",
    }  # fmt: skip
    assert said["written"] == len(changed)


def test_a_deleted_run_stays_as_removed_without_its_files(publish: Publish, own_tree: tuple[Path, str]) -> None:
    site, _ = publish("--no-cards")
    shutil.rmtree(own_tree[0] / "low" / "low-1")
    publish("--no-cards")
    page = site / "claims" / "low" / "runs" / "low-1"
    assert sorted(path.name for path in page.iterdir()) == ["badge.svg", "index.html"]
    assert "no longer among the reports" in (page / "index.html").read_text()
    assert "removed" in row(site, "low-1")
    entry = next(one for one in audits_of(site).entries if one.id == "low-1")
    assert (entry.verdict, entry.words) == ("inconclusive", ("removed",))
    before = files_of(site)
    publish("--no-cards")
    assert files_of(site) == before


def test_a_run_that_the_database_knows_is_shown_without_its_folder(
    publish: Publish, own_tree: tuple[Path, str]
) -> None:
    shutil.rmtree(own_tree[0] / "two-runs" / "second-2")
    site, said = publish("--no-cards")
    assert "only what the database holds is shown" in row(site, "second-2")
    assert "17.42" in row(site, "second-2")
    assert said["audits"] == 10


def test_a_verdict_that_was_replaced_stays_in_the_history(publish: Publish, own_tree: tuple[Path, str]) -> None:
    site, _ = publish("--no-cards")
    folder = own_tree[0] / "low" / "low-1"
    verdict = orjson.loads((folder / "verdict.json").read_bytes())
    verdict |= {"kind": "not-reproduced", "exit_code": 3, "sentence": "not-reproduced: another tool said so"}
    (folder / "verdict.json").write_bytes(canonical_json(verdict))
    (folder / MANIFEST).write_bytes(canonical_json(RunFolder(folder).manifest()))
    publish("--no-cards")
    for page in ("claims/low/index.html", "claims/low/runs/low-1/index.html"):
        html = (site / page).read_text()
        assert "Judged again: not-reproduced" in html
        assert "Verdict then: inconclusive" in html


def test_an_amendment_that_was_cut_off_stays(publish: Publish, own_tree: tuple[Path, str]) -> None:
    site, _ = publish("--no-cards")
    folder = own_tree[0] / "two-runs" / "first-1"
    lines = (folder / AMENDMENTS).read_bytes().splitlines(keepends=True)
    (folder / AMENDMENTS).write_bytes(lines[0])
    (folder / MANIFEST).write_bytes(canonical_json(RunFolder(folder).manifest()))
    publish("--no-cards")
    assert "withdrawn" in row(site, "first-1")
    assert "amendments that were published are no longer in its folder" in row(site, "first-1")


def test_a_run_that_breaks_later_keeps_its_verdict_beside_the_reason(
    publish: Publish, own_tree: tuple[Path, str]
) -> None:
    site, _ = publish("--no-cards")
    (own_tree[0] / "low" / "low-1" / PLAN).write_bytes(b"{}")
    _, said = publish("--no-cards")
    assert "inconclusive" in row(site, "low-1")
    assert "plan.json" in row(site, "low-1")
    assert "low/low-1" in {one["folder"] for one in said["problems"]}  # type: ignore[attr-defined,index]
    assert not (site / "claims/low/runs/low-1/verdict.json").exists()


def test_wire_logs_only_where_asked_for_and_large_files_never(publish: Publish, own_tree: tuple[Path, str]) -> None:
    folder = own_tree[0] / "low" / "low-1"
    (folder / TOKENS).write_bytes(b"{}\n" * 400_000)
    (folder / ".env").write_text("KEY=1")
    (folder / "notes.txt").write_text("mine")
    (folder / "metrics.jsonl").unlink()
    (folder / "metrics.jsonl").symlink_to(own_tree[0].parent / "audit.db")
    (folder / MANIFEST).write_bytes(canonical_json(RunFolder(folder).manifest()))
    site, _ = publish("--no-cards")
    page = site / "claims" / "low" / "runs" / "low-1"
    entry = next(one for one in audits_of(site).entries if one.id == "low-1")
    left = {one.name: one.left_out for one in entry.files if one.left_out}
    assert left == {WIRE: "wire logs are left out unless asked for", TOKENS: "larger than 1 MiB"}
    names = {path.name for path in page.iterdir()}
    assert names.isdisjoint({WIRE, TOKENS, ".env", "notes.txt", "metrics.jsonl"})
    html = (page / "index.html").read_text()
    for name in left:
        assert sha256((folder / name).read_bytes()) in html
    publish("--no-cards", "--wire-logs")
    assert (page / WIRE).read_bytes() == (folder / WIRE).read_bytes()


def test_a_folder_that_holds_a_key_is_not_copied(publish: Publish, own_tree: tuple[Path, str]) -> None:
    folder = own_tree[0] / "low" / "low-1"
    (folder / "metrics.jsonl").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    (folder / MANIFEST).write_bytes(canonical_json(RunFolder(folder).manifest()))
    site, _ = publish("--no-cards")
    assert "holds a private key" in row(site, "low-1")
    assert "inconclusive" in row(site, "low-1")
    assert all(b"PRIVATE KEY-----" not in data for data in files_of(site).values())


def test_files_of_somebody_else_are_never_touched(
    publish: Publish, audit: Audit, own_tree: tuple[Path, str], tmp_path: Path
) -> None:
    site, _ = publish("--no-cards")
    (site / "CNAME").write_text("example.org")
    publish("--no-cards")
    assert (site / "CNAME").read_text() == "example.org"
    foreign = tmp_path / "mine"
    foreign.mkdir()
    (foreign / "index.html").write_text("mine")
    said = audit("publish", "--out", str(foreign), "--reports", str(own_tree[0]), "--database", own_tree[1])
    assert said.code == 2
    assert "no making of this site wrote it" in said.stderr
    assert files_of(foreign) == {"index.html": b"mine"}


def test_a_site_that_cannot_be_remembered_is_not_overwritten(
    publish: Publish, audit: Audit, own_tree: tuple[Path, str]
) -> None:
    site, _ = publish("--no-cards")
    (site / "audits.json").write_bytes(b'{"entries": 1}')
    said = audit("publish", "--out", str(site), "--reports", str(own_tree[0]), "--database", own_tree[1])
    assert said.code == 2
    assert said.stderr.count("\n") == 1
    assert "audits.json" in said.stderr


@pytest.mark.parametrize(
    "address",
    ["example.org", "ftp://example.org", "https://u:p@example.org", "https://e.org/?a", "javascript:1", "https://[x"],
)
def test_a_base_address_must_be_one(audit: Audit, tmp_path: Path, address: str) -> None:
    said = audit("publish", "--out", str(tmp_path / "site"), "--base-url", address)
    assert said.code == 2
    assert said.stderr.count("\n") == 1
    assert not (tmp_path / "site").exists()


def test_nothing_to_publish(audit: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = audit("publish", "--out", "site")
    assert said.code == 2
    assert "no such folder" in said.stderr
    (tmp_path / "reports").mkdir()
    said = audit("publish", "--out", "site")
    assert said.code == 0
    assert "Nothing was audited yet" in (tmp_path / "site" / "index.html").read_text()


def test_nothing_of_this_machine_is_published(site: Path, tree: tuple[Path, str]) -> None:
    own = str(tree[0].parent).encode()
    assert [path for path, data in files_of(site).items() if own in data] == []


def test_dates_are_those_of_the_runs(site: Path) -> None:
    entries = {one.id: one for one in audits_of(site).entries}
    assert entries["first-1"].started_ns == START_NS
    order = [one.started_ns or 0 for one in audits_of(site).entries]
    assert order == sorted(order, reverse=True)
