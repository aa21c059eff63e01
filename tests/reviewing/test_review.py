"""`audit review` with real files, logs and a fork: the verdict under its grade, the folder, the row, hostile names."""

import json
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from auditor.cli import main
from auditor.core.imports.record import Grade
from auditor.core.record import sha256
from auditor.core.reviewing.make import decide
from auditor.core.reviewing.record import Said
from auditor.reviewing import read_review
from auditor.terms import VerdictKind

DATA = Path(__file__).resolve().parents[1] / "data"
VLLM = DATA / "imports" / "vllm" / "ngram-detailed.json"
LOGS = Path(__file__).resolve().parents[1] / "enginelog" / "data"
MADE = DATA / "forks" / "made"
MARKUP = "</script></title><svg onload=alert(1)><b>x"
CLAIM = """\
schema: 1
id: reviewed
title: {title}
engine: {{name: vLLM}}
model: {{id: {model}}}
reported: {{value: {value}{more}}}
"""
Run = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture
def review(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`review(...)` runs the command in an empty folder and gives exit code and document."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str, command: str = "review") -> tuple[int, dict[str, Any]]:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([command, *words, "--json"])
        return int(ended.value.code or 0), json.loads(capsys.readouterr().out)

    return run


def claim(value: object, model: str = "SmolLM2-135M", more: str = "", title: str = "A claim") -> str:
    """A claim file in the working folder."""
    text = CLAIM.format(title=json.dumps(title), model=model, value=value, more=more)
    Path("claim.yaml").write_text(text)
    return "claim.yaml"


def fork(path: Path, *patches: str, more: str = "") -> Path:
    """A clone of the small engine of the fork tests, with patches on top of the tag `base`."""
    path.mkdir()

    def git(*words: str) -> None:
        who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
        subprocess.run(["git", "-C", str(path), *who, *words], check=True, capture_output=True)

    git("init", "-q", "-b", "main")
    for name in ("base", *patches):
        git("apply", "--index", str(MADE / f"{name}.patch"))
        if more and name != "base":
            (path / "tinyserve" / "metrics" / f"{more}.py").write_text("tokens_per_second = drafted / seconds\n")
            git("add", ".")
        git("commit", "-q", "-m", f"{name} {more}")
        if name == "base":
            git("tag", "base")
    return path


def test_a_number_that_counts_events_is_miscounted_and_its_right_figure_stands_beside(review: Run) -> None:
    code, found = review(claim(50, more=", basis: output, streams: 2"), "--import", str(VLLM))
    assert (code, found["verdict"], found["grade"]) == (3, "miscounted", "timed")
    wrong = {one["figure"]: one for one in found["imports"][0]["results"][0]["wrong"]}
    assert (wrong["max_output_tokens_per_s"]["printed"], wrong["max_output_tokens_per_s"]["right"]) == (50.0, 144.0)
    page = (Path(found["folder"]) / "report.html").read_text()
    assert "max_output_tokens_per_s" in page
    assert ">144<" in page.replace("<bdi>", "").replace("</bdi>", "")


def test_a_log_alone_carries_no_miscount(review: Run) -> None:
    log = LOGS / "vllm-0.20-sm120-mtp3.log"
    code, found = review(claim("109.80", "GLM-5.1-MTP"), "--log", str(log))
    assert (code, found["verdict"], found["grade"]) == (4, "inconclusive", "aggregate")
    assert "carries no `miscounted`" in found["sentence"]
    assert any("VLLM_SPEC_ACCEPT_THRESHOLD_SINGLE" in words for words in found["switches"])
    reading = found["logs"][0]["reading"]
    assert (reading["acceptance"]["rate"], reading["rates"]["alone"]["mean"]) == ("0.534", "68.8")
    assert found["logs"][0]["explanation"]["delivered"]["value"] == pytest.approx(68.8)


def test_a_log_and_a_claim_that_differ_are_said(review: Run) -> None:
    name = claim(99.8, "GLM-5.1-MTP", "}\nspeculation: {method: mtp, draft_tokens: 2, acceptance: 0.9")
    _, found = review(name, "--log", str(LOGS / "vllm-0.20-sm120-mtp3.log"))
    assert any("drafts 2 tokens a step" in words for words in found["contradictions"])
    assert any("states acceptance 0.9" in words for words in found["contradictions"])


def test_a_file_of_another_model_decides_nothing_beside_one_of_the_claims(review: Run) -> None:
    log = LOGS / "vllm-0.20-sm120-mtp3.log"
    words = ("--import", str(VLLM), "--log", str(log))
    _, found = review(claim(50, more=", basis: output, streams: 2"), *words)
    assert found["verdict"] == "miscounted"
    code, found = review(claim(50, "GLM-4"), *words)
    assert (code, found["verdict"]) == (4, "not-comparable")


def test_the_best_grade_decides_and_evidence_against_itself_is_inconclusive() -> None:
    def said(kind: VerdictKind) -> Said:
        return Said(verdict=kind, sentence=kind.value)

    weak = (Grade.AGGREGATE, said(VerdictKind.UNLABELLED), "weak")
    strong = (Grade.RAW, said(VerdictKind.INCONCLUSIVE), "strong")
    other = (Grade.RAW, said(VerdictKind.NOT_COMPARABLE), "other")
    grade, decided = decide([weak, other, strong])
    assert (grade, decided.verdict) == (Grade.RAW, VerdictKind.INCONCLUSIVE)
    assert "weak: unlabelled" in decided.reasons


def test_pieces_that_speak_for_and_against_are_said_and_decide_nothing(review: Run, tmp_path: Path) -> None:
    """A table of times with 50 tok/s delivered, beside the file whose 50 counts events."""
    rows = ["t_s,event,tokens", "0.0,send,0", *(f"{second / 100:.4f},token,1" for second in range(2, 402, 2))]
    table = tmp_path / "times.csv"
    table.write_text("\n".join([*rows, "4.0,end,0"]))
    name = claim(50, more=", basis: output")
    code, found = review(name, "--import", str(table), "--import", str(VLLM))
    assert (code, found["verdict"]) == (4, "inconclusive")
    assert any("times.csv holds the number on the claim's own basis" in words for words in found["contradictions"])


def test_a_fork_is_answered_with_its_lines_and_says_nothing_of_the_number(review: Run, tmp_path: Path) -> None:
    path = fork(tmp_path / "theirs", "drafts-counted-as-generated", "acceptance-forced")
    code, found = review(claim(130), "--fork", str(path), "--upstream", "base")
    assert (code, found["verdict"], found["grade"]) == (4, "inconclusive", "prose")
    answers = {one["id"]: one for one in found["forks"][0]["answers"]}
    assert {answers[name]["outcome"] for name in ("counting", "acceptance")} == {"yes"}
    line = answers["counting"]["sure"]["lines"][0]
    page = (Path(found["folder"]) / "report.html").read_text()
    assert line["path"] in page
    assert f"line {line['number']}" in page


def test_the_same_inputs_give_the_same_bytes_and_a_row(review: Run, tmp_path: Path) -> None:
    database = ("--database", f"sqlite:///{tmp_path / 'a.db'}")
    review("upgrade", *database, command="db")
    path = fork(tmp_path / "theirs", "drafts-counted-as-generated")
    words = (claim(50, more=", basis: output, streams: 2"), "--import", str(VLLM), "--fork", str(path), "--upstream",
             "base", *database)  # fmt: skip
    folders = [Path(review(*words, "--reports", name)[1]["folder"]) for name in ("one", "two")]
    files = [{file.name: file.read_bytes() for file in folder.iterdir()} for folder in folders]
    assert files[0] == files[1]
    assert set(files[0]) == {
        "claim.yaml", "import-1-original-ngram-detailed.json", "manifest.json", "report.html", "report.md", "review.json"
    }  # fmt: skip
    manifest = json.loads(files[0]["manifest.json"])
    assert manifest == {name: sha256(data) for name, data in files[0].items() if name != "manifest.json"}
    assert read_review(folders[0]).verdict is VerdictKind.MISCOUNTED
    rows = review(*database, command="list")[1]["imports"]
    assert {(row["format"], row["tool"], row["verdict"]) for row in rows} == {
        ("review", "1 file, 1 fork", "miscounted")
    }


class _Elements(HTMLParser):
    """The elements and attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.handlers: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.handlers |= {name for name, _ in attrs if name.startswith("on")}


def test_hostile_names_in_claim_file_log_and_fork_leak_nothing_into_the_page(review: Run, tmp_path: Path) -> None:
    plain = review(claim(50, more=", basis: output, streams: 2"), "--import", str(VLLM))[1]
    data = json.loads(VLLM.read_text())
    data["model_id"] = f"SmolLM2-135M{MARKUP}"
    hostile = tmp_path / "<img src=x onerror=alert(1)>.json"
    hostile.write_text(json.dumps(data))
    log = tmp_path / "<script>alert(2)<.log"
    shutil.copy(LOGS / "vllm-0.32-cpu-ngram.log", log)
    path = fork(tmp_path / "<svg onload=alert(3)>", "usage-and-rate-inflated", more="<b onclick=x>\u202e")
    name = claim(50, more=", basis: output, streams: 2", title=MARKUP)
    words = (name, "--import", str(hostile), "--log", str(log), "--fork", str(path), "--upstream", "base")
    _, found = review(*words)
    seen, expected = _Elements(), _Elements()
    page = (Path(found["folder"]) / "report.html").read_text()
    seen.feed(page)
    expected.feed((Path(plain["folder"]) / "report.html").read_text())
    assert seen.handlers == set()
    assert seen.names - expected.names <= {"li", "ul", "ol"}
    assert "alert(1)" in page
    assert "\u202e" not in page
    text = (Path(found["folder"]) / "report.md").read_text()
    assert not [line for line in text.splitlines() if "<svg" in line.replace("\\<svg", "")]


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--upstream", "base"),
        ("--import", "missing.json"),
        ("--log", "missing.log"),
        ("--fork", "missing"),
        ("--row", "none"),
    ],
)
def test_what_cannot_be_read_is_one_line(review: Run, words: tuple[str, ...]) -> None:
    code, found = review(claim(50), *words)
    assert code == 2
    assert "\n" not in found["error"]["what"]
    assert not Path("reports").exists()
