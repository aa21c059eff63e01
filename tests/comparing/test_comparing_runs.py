"""Runs beside each other, made of recorded streams of a real server: what may be compared, and what is said of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from runs import CLAIM_TEXT, Cells, Recording, Round, make_run, recording

from auditor.cli.root import _run, root
from auditor.core.facts import known
from auditor.report.shown import one_line

BASE = recording("llamacpp", "draft/chat_stream_tpt")
NOISE = (1.0, 1.02, 0.99, 1.01, 0.98)


def paced(one: Recording, factor: float) -> Recording:
    """The same stream, everything after the sending as much slower."""
    start = one.send_ns

    def at(t_ns: int) -> int:
        return start + round((t_ns - start) * factor)

    return replace(one, reads=tuple((at(t), data) for t, data in one.reads), end_ns=at(one.end_ns))


def rounds(speed: float = 1.0, repeats: int = 3, shift: int = 0) -> tuple[Round, ...]:
    """Repeats of one request, each a little faster or slower than the last."""
    return tuple((paced(BASE, NOISE[(number + shift) % len(NOISE)] / speed),) for number in range(repeats))


def cut(one: Recording) -> Recording:
    """An answer that broke off."""
    return replace(one, reads=one.reads[: len(one.reads) // 2], how="eof")


def run_of(folder: Path, cells: Cells, name: str, **fields: Any) -> Path:
    """A run folder with an id of its own."""
    made = make_run(folder / name, cells, **fields)
    record = json.loads((made / "run.json").read_text())
    (made / "run.json").write_text(json.dumps({**record, "run": name}))
    return made


def audit(*words: object) -> Result:
    return CliRunner().invoke(root, ["compare", *map(str, words)], standalone_mode=False, catch_exceptions=False)


def compared(*words: object) -> Any:
    return json.loads(audit(*words, "--json").stdout)


def headline(document: Any, pair: int = 0) -> Any:
    return document["pairs"][pair]["differences"][0]


@pytest.fixture
def pair(tmp_path: Path) -> Path:
    """A run on two servers, the judged one half as fast again as the other."""
    return run_of(tmp_path, Cells(subject=rounds(1.5, shift=1), plain=rounds()), "both")


def test_two_servers_of_a_run_are_paired_and_the_faster_is_named(pair: Path) -> None:
    document = compared(pair)
    found = headline(document)
    assert (found["outcome"], found["is_paired"], found["floor"]) == ("faster", True, None)
    assert found["ratio"]["low"] < 1.5 < found["ratio"]["high"]
    assert [side["server"] for side in document["sides"]] == ["plain", "subject"]
    by_id = {one["quantity"]: one for one in document["pairs"][0]["differences"]}
    assert by_id["tpot-median"]["ratio"]["value"] == pytest.approx(1 / found["ratio"]["value"], rel=1e-4)
    assert by_id["tpot-median"]["outcome"] == "faster"


def test_one_repeat_gives_no_conclusion(tmp_path: Path) -> None:
    run = run_of(tmp_path, Cells(subject=rounds(2.0, 1), plain=rounds(1.0, 1)), "one")
    done = audit(run)
    assert done.return_value == 0
    assert "No conclusion about A and B" in done.stdout
    assert "one repeat gives no interval" in done.stdout


def test_repeats_that_do_not_vary_give_no_interval(tmp_path: Path) -> None:
    same = ((BASE,), (BASE,), (BASE,))
    run = run_of(tmp_path, Cells(subject=same, plain=same), "still")
    found = headline(compared(run))
    assert (found["outcome"], found["ratio"]["low"], found["p"]) == ("no interval", None, None)
    assert "do not vary" in found["sentence"]


def test_what_did_not_complete_on_one_side_counts_on_neither(tmp_path: Path) -> None:
    broken = rounds(1.5, 4, shift=1)
    broken = (*broken[:2], (cut(broken[2][0]),), broken[3])
    run = run_of(tmp_path, Cells(subject=broken, plain=rounds(1.0, 4)), "broken")
    (found,) = compared(run)["pairs"]
    assert (found["repeats"], found["requests"]) == (3, 3)
    assert "1 of 4 requests did not complete on both sides and count on neither" in found["notes"]


def test_nothing_that_completed_on_both_is_no_comparison(tmp_path: Path) -> None:
    broken = tuple((cut(one),) for (one,) in rounds())
    run = run_of(tmp_path, Cells(subject=broken, plain=rounds()), "none")
    done = audit(run)
    assert done.return_value == 4
    assert "Not comparable: no repeat has enough requests" in done.stdout


def test_a_partial_run_is_compared_as_far_as_it_goes_and_said(tmp_path: Path) -> None:
    run = run_of(tmp_path, Cells(subject=rounds(1.5, shift=1), plain=rounds(), is_finished=False), "partial")
    assert "the run of A did not reach its end" in compared(run)["pairs"][0]["notes"]


def test_runs_apart_say_that_the_machine_may_have_drifted(tmp_path: Path) -> None:
    one = run_of(tmp_path, Cells(subject=rounds()), "one")
    other = run_of(tmp_path, Cells(subject=rounds(1.5, shift=1)), "other", claim=CLAIM_TEXT.replace("130", "99"))
    document = compared(one, other)
    found, notes = headline(document), " ".join(document["pairs"][0]["notes"])
    assert found["floor"] == pytest.approx(1.03, abs=0.01)
    assert (found["outcome"], document["pairs"][0]["is_interleaved"]) == ("faster", False)
    assert "one after the other" in notes


def test_less_than_the_repeats_went_apart_by_themselves_is_not_shown(tmp_path: Path) -> None:
    """Ten repeats that fall by 10 %, against the same 4 % faster: paired by their nonces the difference is clear, but
    runs apart cannot tell it from what the machine does."""

    def falling(speed: float, shift: int) -> tuple[Round, ...]:
        noise = (1.0, 1.002, 0.999, 1.001, 0.998)
        return tuple((paced(BASE, (1 + n / 90) * noise[(n + shift) % 5] / speed),) for n in range(10))

    one = run_of(tmp_path, Cells(subject=falling(1.0, 0)), "one")
    other = run_of(tmp_path, Cells(subject=falling(1.04, 2)), "other")
    found = headline(compared(one, other))
    assert found["is_paired"]
    assert found["p"] < 0.001
    assert found["outcome"] == "none shown"
    assert "went" in found["sentence"]


def test_another_nonce_is_not_paired(tmp_path: Path) -> None:
    one = run_of(tmp_path, Cells(subject=rounds()), "one")
    other = run_of(tmp_path, Cells(subject=rounds(1.5, shift=1)), "other", seed=2)
    document = compared(one, other)
    assert not headline(document)["is_paired"]
    assert "--seed" in " ".join(document["pairs"][0]["notes"])


def test_what_matters_and_differs_comes_first_unless_it_is_compared(tmp_path: Path) -> None:
    facts = [{"gpu": known(name, "x")} for name in ("NVIDIA RTX PRO 6000 Blackwell", "NVIDIA H200")]
    runs = [run_of(tmp_path, Cells(subject=rounds(shift=n)), f"r{n}", facts=one) for n, one in enumerate(facts)]
    done = audit(*runs)
    assert done.return_value == 4
    first = next(line for line in done.stdout.splitlines() if line.startswith("Not comparable"))
    assert "GPU differs" in first
    assert audit(*runs, "--of", "gpu").return_value == 0
    assert audit(*runs, "--of", "GPU").stdout.count("what differs: GPU") == 1


def test_three_runs_are_each_held_against_the_first_together(tmp_path: Path) -> None:
    runs = [run_of(tmp_path, Cells(subject=rounds(1 + n / 100, shift=n)), f"r{n}") for n in range(3)]
    document = compared(*runs)
    assert [(one["one"], one["other"]) for one in document["pairs"]] == [("A", "B"), ("A", "C")]
    p, adjusted = zip(*((one["p"], one["adjusted"]) for one in map(headline, [document] * 2, (0, 1))), strict=True)
    assert min(adjusted) == pytest.approx(2 * min(p), rel=1e-4)


@pytest.mark.parametrize(("margin", "words"), [(20, "lies within"), (0.5, "does not lie within")])
def test_near_each_other_is_said_only_of_an_interval_within_the_margin(
    tmp_path: Path, margin: float, words: str
) -> None:
    run = run_of(tmp_path, Cells(subject=rounds(1.0, 5, shift=2), plain=rounds(1.0, 5)), "near")
    found = headline(compared(run, "--margin", margin))
    assert found["outcome"] == "none shown"
    assert f"the interval {words} the" in found["sentence"]
    assert "equal" not in found["sentence"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--on", "speed"], "there is no quantity speed"),
        (["--of", "colour"], "there is no field colour"),
        (["again"], "the same run is given twice"),
    ],
)
def test_what_cannot_be_compared_is_one_line(
    pair: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [str(pair) if word == "again" else word for word in words]
    assert _run(["compare", str(pair), *words]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--server", "http://127.0.0.1:9", "--beside", "http://127.0.0.1:9"], "--beside is the same server"),
        (["--beside", "http://127.0.0.1:9"], "--beside needs --server"),
    ],
)
def test_a_server_beside_needs_another(
    tmp_path: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "claim.yaml").write_text(CLAIM_TEXT)
    assert _run(["run", str(tmp_path / "claim.yaml"), *words]) == 2
    assert said in capsys.readouterr().err


def test_loads_that_differ_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = run_of(tmp_path, Cells(subject=rounds()), "alone")
    assert _run(["compare", str(run)]) == 2
    assert "no load was measured on two servers" in capsys.readouterr().err


def test_the_page_is_the_same_bytes_and_holds_no_text_of_others_as_markup(tmp_path: Path, pair: Path) -> None:
    for name in ("one.html", "two.html"):
        audit(pair, "--out", tmp_path / name)
    page = (tmp_path / "one.html").read_text()
    assert page == (tmp_path / "two.html").read_text()
    assert "Comparison of servers" in page
    assert page.count("<svg") >= 6
    assert "http://" not in page.replace("http://www.w3.org", "")
    hostile = {"version": known("<script>alert(1)</script>\u202e", "x")}
    bad = run_of(tmp_path, Cells(subject=rounds(1.5, shift=1), plain=rounds()), "bad", facts=hostile)
    done = audit(bad, "--out", tmp_path / "bad.html")
    page = (tmp_path / "bad.html").read_text()
    assert "<script" not in page
    assert "\u202e" not in page + done.stdout
    assert one_line("\u202e") in done.stdout


def test_markdown_is_a_table_with_its_sentence(pair: Path) -> None:
    text = audit(pair, "--markdown").stdout
    assert "**B is faster than A" in text
    assert "| decode rate of one stream |" in text


@pytest.mark.parametrize("width", [360, 1440])
def test_the_page_fits_the_screen(browser: Any, tmp_path: Path, pair: Path, width: int) -> None:
    audit(pair, "--out", tmp_path / "page.html")
    page = browser.new_context(viewport={"width": width, "height": 800}).new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((tmp_path / "page.html").as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert asked == [(tmp_path / "page.html").as_uri()]
    page.context.close()
