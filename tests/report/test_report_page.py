"""The page: whole, well formed, escaped, the same every time, and small."""

import base64
import hashlib
import re
import shutil
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import orjson
import pytest
from made_runs import Made, make_run

from auditor.core.folder import RunFolder
from auditor.core.judging.verdict import Verdict
from auditor.errors import EvidenceError
from auditor.report.page import page_of, write_report
from auditor.report.text import markdown, terminal
from auditor.terms import VerdictKind

SECTIONS = (
    "claimed", "rest", "counting", "possible", "pairs", "timeline", "gaps", "acceptance", "compared", "findings", "unknown",
    "questions", "repeat", "files", "glossary",
)  # fmt: skip
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Outline(HTMLParser):
    """The headings, ids, tables and elements of a page; fails when tags do not nest."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.headings: list[int] = []
        self.ids: list[str] = []
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id" and value]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def page(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_every_run_has_every_section_in_order(any_run: Path) -> None:
    outline = Outline(page(any_run))
    assert [found for found in outline.ids if found in SECTIONS] == list(SECTIONS)
    assert len(outline.ids) == len(set(outline.ids))


def test_headings_go_down_one_at_a_time(any_run: Path) -> None:
    headings = Outline(page(any_run)).headings
    assert headings[0] == 1
    assert headings.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(headings))


def test_tables_say_what_their_heads_are_for(any_run: Path) -> None:
    text = page(any_run)
    assert text.count("<table ") == text.count("<caption ") > 0
    assert not re.search(r"<th(?![^>]*scope=)[ >]", text)


def test_charts_have_words_and_a_table_beside_them(runs: dict[str, Path]) -> None:
    text = page(runs["spec"])
    charts = re.findall(r"<svg [^>]*>", text)
    assert len(charts) >= 14
    assert all('role="img"' in chart and re.search('aria-label="[^"]{20,}"', chart) for chart in charts)


def test_the_page_asks_for_nothing_and_runs_nothing(any_run: Path) -> None:
    text = page(any_run)
    outline = Outline(text)
    assert not outline.names & {"script", "link", "iframe", "object", "embed", "img", "form", "base", "foreignobject"}
    for tag, name, value in outline.attributes:
        assert not name.startswith("on"), (tag, name)
        assert name not in ("style", "src", "srcset", "xlink:href")
        if name == "href":
            assert (value or "").startswith(("#", "https://", "http://"))
    assert "url(" not in text
    assert "@import" not in text


def test_the_policy_allows_this_style_sheet_alone(runs: dict[str, Path]) -> None:
    text = page(runs["spec"])
    css = re.search("<style>(.*?)</style>", text, re.S)
    assert css is not None
    digest = base64.b64encode(hashlib.sha256(css[1].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'sha256-{digest}'" in text


def test_hostile_text_stays_text(runs: dict[str, Path]) -> None:
    text = page(runs["hostile"])
    outline = Outline(text)
    assert "onload" not in {name for _, name, _ in outline.attributes}
    assert "b" in outline.names  # the tiles' own
    seen = "".join(outline.texts)
    assert "</script></title><svg onload=alert(1)>" in seen
    assert "\\u202E" in seen
    assert "\\u2028" in seen
    assert "\\u0000" in seen
    assert "\\u001B" in seen
    assert "{{ view }}" in seen
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u2028\u2029\u202a-\u202e\u2066-\u2069]", text)


def test_hostile_text_in_a_chart_stays_text(tmp_path: Path) -> None:
    def renamed(plan):  # type: ignore[no-untyped-def]
        cells = [c.model_copy(update={"key": f"<svg onload=alert(1)>{c.key}"}) for c in plan.cells]
        return plan.model_copy(update={"cells": tuple(cells)})

    text = page(make_run(tmp_path / "run", Made(repeats=2, tokens=20, change_plan=renamed)))
    assert "&lt;svg onload=alert(1)&gt;subject</text>" in text
    assert "onload" not in {name for _, name, _ in Outline(text).attributes}


def test_the_same_folder_gives_the_same_bytes_anywhere(runs: dict[str, Path], tmp_path: Path) -> None:
    first = (runs["spec"] / "report.html").read_bytes()
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(runs["spec"], copy)
    write_report(copy)
    assert (copy / "report.html").read_bytes() == first
    assert str(tmp_path).encode() not in first
    assert str(runs["spec"]).encode() not in first


def test_what_is_absent_is_not_known_and_never_nought(runs: dict[str, Path]) -> None:
    text = page(runs["silent"])
    assert "not known" in text
    assert "nothing to show" in text
    counts = re.search(r"<caption[^>]*><span>Counts by load</span></caption>(.*?)</table>", text, re.S)
    assert counts is not None
    assert re.findall("<bdi>(.*?)</bdi>", counts[1])[1:7] == ["not known"] * 6
    tiles = re.search('<dl class="tiles">(.*?)</dl>', text, re.S)
    assert tiles is not None
    assert "not known" in tiles[1]
    assert "Claimed / delivered" not in tiles[1]


def test_the_rules_stand_in_order_with_the_claim_in_its_place(runs: dict[str, Path]) -> None:
    text = page(runs["spec"])
    table = re.search(
        r"<caption[^>]*><span>Counting rules, the largest first \(n = 3\)</span></caption>(.*?)</table>", text, re.S
    )
    assert table is not None
    rows = re.findall("<tr.*?</tr>", table[1], re.S)[1:]
    values = [
        float(re.findall("<bdi>(.*?)</bdi>", row)[1].replace(",", ""))
        for row in [re.sub("<small>.*?</small>", "", row, flags=re.S) for row in rows]
    ]
    assert values == sorted(values, reverse=True)
    assert 130.0 in values
    met = [row for row in rows if "meets the claim" in row]
    verdict = RunFolder(runs["spec"]).record("verdict.json", Verdict)
    assert len(met) == len(verdict.matching) > 0
    assert "arithmetic, not proof" in text


def test_the_claim_is_run_backwards(runs: dict[str, Path]) -> None:
    explanation = RunFolder(runs["spec"]).record("verdict.json", Verdict).explanation
    assert explanation is not None
    assert explanation.backwards
    seen = "".join(Outline(page(runs["spec"])).texts)
    assert all(one.sentence in seen for one in explanation.backwards)
    assert all(words in seen for words in explanation.words[1:])


def test_what_cannot_be_compared_has_no_factor(any_run: Path) -> None:
    verdict = RunFolder(any_run).record("verdict.json", Verdict)
    seen = "".join(Outline(page(any_run)).texts)
    shown = (seen, terminal(any_run), markdown(any_run))
    if verdict.kind is VerdictKind.NOT_COMPARABLE:
        assert not any(re.search(r"The claim is \S+( to \S+)? times", text) for text in shown)
        assert "Claim / value" not in seen
        assert all("not comparable" in text for text in shown)
    elif verdict.factor is not None:
        assert "Claim / value" in seen
        assert all("not comparable" not in text for text in shown)


def test_the_headline_is_rounded_as_the_figures_are(tmp_path: Path, runs: dict[str, Path]) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(runs["spec"], copy)
    verdict = orjson.loads((copy / "verdict.json").read_bytes())
    for basis in [verdict["delivered"], *verdict["bases"]]:
        if basis["id"] == "delivered/decode":
            basis["estimate"] |= {"value": 56.7344, "low": 55.5023, "high": 57.9661}
    verdict["sentence"] = "not-comparable: delivered 56.7344 tok/s (55.5023 to 57.9661, 3 repeats)"
    (copy / "verdict.json").write_bytes(orjson.dumps(verdict))
    for text in (page_of(copy), terminal(copy), markdown(copy)):
        assert "56.73 tok/s (55.5 to 57.97, 3 repeats)" in " ".join(text.split())


def test_what_misses_the_claim_is_folded_away(runs: dict[str, Path]) -> None:
    verdict = RunFolder(runs["spec"]).record("verdict.json", Verdict)
    open_page = re.sub("<details>.*?</details>", "", page(runs["spec"]), flags=re.S)
    section = re.search(r'<section id="counting".*?</section>', open_page, re.S)
    assert section is not None
    rules = re.search("Counting rules, the largest first.*?</table>", section[0], re.S)
    assert rules is not None
    shown = set(re.findall('<th scope="row"[^>]*><bdi>(.*?)</bdi>', rules[0])) - {"claimed"}
    wanted = {one.name for one in verdict.bases if one.id in verdict.matching or one.id == verdict.claimed.judged_on}
    assert wanted <= shown
    assert shown < {one.name for one in verdict.bases if one.estimate}


def test_whether_it_is_possible_is_said(runs: dict[str, Path]) -> None:
    ceiling = RunFolder(runs["spec"]).record("verdict.json", Verdict).ceiling
    assert ceiling is not None
    for text in (page(runs["spec"]), terminal(runs["spec"]), markdown(runs["spec"])):
        assert ceiling.sentence[1:] in " ".join(text.split())


def test_a_partial_run_says_so(runs: dict[str, Path]) -> None:
    assert "6 of 18 planned requests are in the record" in page(runs["partial"])
    assert "Partial run" not in page(runs["spec"])


def test_without_steps_the_page_says_why_there_are_none(runs: dict[str, Path]) -> None:
    text = page(runs["generic"])
    assert "The server does not show its steps" in text
    assert "origin not told by the server" in text
    assert "not every event carried exactly one token" in text


def test_a_number_is_not_rounded_to_the_claim(runs: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(runs["spec"], copy)
    verdict = orjson.loads((copy / "verdict.json").read_bytes())
    for basis in [verdict["delivered"], *verdict["bases"]]:
        if basis["id"] == "delivered/decode":
            basis["estimate"] |= {"value": 129.96, "low": 129.9996, "high": 130.2}
    (copy / "verdict.json").write_bytes(orjson.dumps(verdict))
    text = page_of(copy)
    assert "129.96 tok/s" in text
    assert "129.9996 to 130.2" in text
    assert "130 tok/s</bdi></b><small>95" not in text


def test_the_steps_of_the_close_look_are_those_of_the_stream(runs: dict[str, Path]) -> None:
    text = page(runs["spec"])
    table = re.search(r"<caption[^>]*><span>Single steps</span></caption>(.*?)</table>", text, re.S)
    assert table is not None
    rows = [re.findall("<bdi>(.*?)</bdi>", row) for row in re.findall("<tr>(.*?)</tr>", table[1], re.S)[1:]]
    assert [row[3:7] for row in rows[:4]] == [
        ["1", "0", "0", "0"],
        ["1", "0", "0", "0"],
        ["5", "4", "4", "0"],
        ["2", "4", "1", "3"],
    ]


def test_digests_are_those_of_the_files(runs: dict[str, Path]) -> None:
    text, folder = page(runs["spec"]), RunFolder(runs["spec"])
    for name, digest in folder.manifest().items():
        assert (digest in text) == (name != "report.html"), name


def test_a_thousand_streams_and_a_long_answer_stay_small(tmp_path: Path) -> None:
    many = make_run(tmp_path / "many", Made(streams=1024, tokens=6, repeats=1))
    long = make_run(tmp_path / "long", replace(Made(), tokens=5_000, repeats=1, rounds=1, is_finished=False))
    for folder in (many, long):
        text = page(folder)
        assert len(text) < 500_000
        assert max(map(len, re.findall("<svg .*?</svg>", text, re.S))) < 150_000
    assert RunFolder(many).record("verdict.json", Verdict).cells[0].streams == 1024


def test_a_token_log_that_is_none_is_one_clear_line(runs: dict[str, Path], tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(runs["single"], copy)
    with (copy / "tokens.jsonl").open("a") as file:
        file.write("nonsense\n")
    with pytest.raises(EvidenceError, match=r"tokens.jsonl:\d+: is not a line of a token log"):
        write_report(copy)
    (copy / "tokens.jsonl").unlink()
    with pytest.raises(EvidenceError, match=r"cannot be read|is missing"):
        write_report(copy)
