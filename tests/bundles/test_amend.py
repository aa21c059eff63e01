"""Replies, corrections and withdrawals: added, shown everywhere, and found when they are changed or taken out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from bundled import Audit

from auditor.audit import judge_folder
from auditor.bundles import make_bundle
from auditor.core.amendment import amendments_of
from auditor.core.bundle.pack import unpack
from auditor.core.folder import AMENDMENTS, MANIFEST, REPORT, VERDICT, RunFolder
from auditor.errors import EvidenceError, Exit, UsageError
from auditor.publish.amending import amend
from auditor.verifying import verify_bundle, verify_folder

NOW_NS = 1796200000 * 10**9
HOSTILE = "<script>alert(1)</script>\n\u202eback\x1b[2J {{ 7 * 7 }}"


def add(folder: Path, kind: str = "reply", text: str = "We used k=3.", **more: str) -> None:
    """An amendment by hand."""
    amend(folder, kind, text, by=more.get("by"), url=more.get("url"), now_ns=NOW_NS)


@pytest.fixture
def database(tmp_path: Path, audit: Audit) -> str:
    url = f"sqlite:///{tmp_path}/a.db"
    assert audit("db", "upgrade", "--database", url).returncode == 0
    return url


def test_what_is_added_is_shown_in_page_terminal_list_database_and_bundle(
    own_run: Path, audit: Audit, database: str, tmp_path: Path
) -> None:
    verdict = (own_run / VERDICT).read_bytes()
    audit("judge", str(own_run), "--database", database)
    (tmp_path / "reply.txt").write_text("We ran with k=3.\n\nNot with k=2.\n")
    shared = (str(own_run), "--database", database)
    said = audit(
        "amend", *shared, "--reply", str(tmp_path / "reply.txt"), "--by", "the claimant", "--url", "https://x.example/1"
    )
    assert said.returncode == 0, said.stderr
    assert audit("amend", *shared, "--withdraw", "--reason", "The clock was wrong.", "--by", "us").returncode == 0
    assert (own_run / VERDICT).read_bytes() == verdict
    page = (own_run / REPORT).read_text()
    assert page.index("Withdrawn") < page.index("Not with k=2.") < page.index('class="verdict')
    assert 'href="https://x.example/1"' in page
    terminal = audit("judge", *shared)
    assert terminal.words.startswith("Reply by the claimant")
    assert "Withdrawn by us" in terminal.words
    document = json.loads(audit("judge", *shared, "--json").stdout)
    assert [one["kind"] for one in document["amendments"]] == ["reply", "withdrawal"]
    assert "The clock was wrong." in audit("report", str(own_run), "--markdown").stdout
    assert (own_run / VERDICT).read_bytes() == verdict
    listed = audit("list", "--database", database, "--json")
    (row,) = json.loads(listed.stdout)["runs"]
    assert row["amendments"] == ["reply", "withdrawal"]
    table = audit("list", "--database", database).stdout
    assert "No run of another is stored." in audit("list", "--claim", "another", "--database", database).stdout
    assert "withdrawn," in table
    assert "reply)" in table
    found = verify_bundle(make_bundle(own_run), "bundle")
    assert found.exit_code == Exit.OK
    assert [line.partition(",")[0] for line in found.amendments] == ["Reply by the claimant", "Withdrawn by us"]
    assert any("2 amendments, each bound to the one before" in check.sentence for check in found.checks)


def test_hostile_text_is_only_text(own_run: Path, audit: Audit) -> None:
    add(own_run, text=HOSTILE, by="<b>me\x1b[0m")
    judge_folder(own_run)
    page = (own_run / REPORT).read_text()
    assert "<script>alert" not in page
    assert "&lt;script&gt;" in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert "\x1b" not in audit("judge", str(own_run)).stdout
    assert "\x1b" not in audit("verify", str(own_run)).stdout


@pytest.mark.parametrize(
    "damage",
    [
        lambda lines: [lines[0].replace(b"k=3", b"k=2"), *lines[1:]],
        lambda lines: lines[1:],
        lambda lines: [lines[0], lines[2]],
        lambda lines: [lines[1], lines[0], lines[2]],
        lambda lines: [*lines, lines[2]],
        lambda lines: [lines[0].replace(b"{", b"{ ", 1), *lines[1:]],
        lambda lines: [*lines, b"{}\n"],
        lambda lines: [*lines[:-1], lines[-1].rstrip(b"\n")],
    ],
    ids=["changed", "first out", "middle out", "swapped", "doubled", "spelled", "empty added", "newline out"],
)
def test_a_line_that_is_changed_or_taken_out_is_found_without_any_other_file(own_run: Path, damage) -> None:
    for number in range(3):
        add(own_run, text=f"k=3, said {number}")
    lines = (own_run / AMENDMENTS).read_bytes().splitlines(keepends=True)
    (own_run / AMENDMENTS).write_bytes(b"".join(damage(lines)))
    with pytest.raises(EvidenceError, match=r"amendments\.jsonl:"):
        amendments_of(RunFolder(own_run))
    with pytest.raises(EvidenceError, match="was changed since it was written"):
        add(own_run)
    assert verify_folder(own_run).exit_code == Exit.REFUTED


@pytest.mark.parametrize("keep", [0, 1, None])
def test_the_last_line_out_is_found_by_the_manifest(own_run: Path, keep: int | None) -> None:
    for text in ("one", "two"):
        add(own_run, "correction", text)
    lines = (own_run / AMENDMENTS).read_bytes().splitlines(keepends=True)
    if keep is None:
        (own_run / AMENDMENTS).unlink()
    else:
        (own_run / AMENDMENTS).write_bytes(b"".join(lines[:keep]))
    with pytest.raises(EvidenceError):
        judge_folder(own_run)
    assert verify_folder(own_run).exit_code == Exit.REFUTED


def test_lines_out_are_found_by_the_database_too(own_run: Path, audit: Audit, database: str) -> None:
    """Where the manifest went with them."""
    for text in ("one", "two"):
        add(own_run, "correction", text)
    audit("judge", str(own_run), "--database", database)
    first, _ = (own_run / AMENDMENTS).read_bytes().splitlines(keepends=True)
    (own_run / AMENDMENTS).write_bytes(first)
    (own_run / MANIFEST).unlink()
    again = audit("judge", str(own_run), "--database", database)
    assert "2 of its amendments are stored, and the folder's do not begin with them" in again.stderr


def test_an_amendment_of_another_run_is_none_of_this(own_run: Path, judged_run: Path, tmp_path: Path) -> None:
    add(own_run)
    run = json.loads((own_run / "run.json").read_text())
    (own_run / "run.json").write_text(json.dumps({**run, "run": "another"}, indent=2, sort_keys=True) + "\n")
    with pytest.raises(EvidenceError, match="does not follow the line before"):
        amendments_of(RunFolder(own_run))


def test_amending_does_not_make_a_changed_folder_whole(own_run: Path) -> None:
    data = (own_run / "tokens.jsonl").read_bytes()
    (own_run / "tokens.jsonl").write_bytes(data + b"{}\n")
    with pytest.raises(EvidenceError, match=r"tokens\.jsonl"):
        add(own_run)
    assert not (own_run / AMENDMENTS).exists()


def test_several_at_once_lose_none(own_run: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from auditor.publish.amending import amend\n"
        "for n in range(5): amend(Path(sys.argv[1]), 'reply', f'{sys.argv[2]} {n}', by=None, url=None, now_ns=1)"
    )
    words = [sys.executable, "-c", code, str(own_run)]
    running = [subprocess.Popen([*words, name]) for name in ("a", "b", "c")]
    assert [one.wait() for one in running] == [0, 0, 0]
    found = amendments_of(RunFolder(own_run))
    assert {one.text for one in found} == {f"{name} {number}" for name in "abc" for number in range(5)}
    RunFolder(own_run).check(AMENDMENTS)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "give one of --reply, --correct and --withdraw"),
        (["--correct", "--withdraw", "--reason", "x"], "give one of"),
        (["--withdraw"], "--reason belongs to"),
        (["--reply", "FILE", "--reason", "x"], "--reason belongs to"),
        (["--withdraw", "--reason", "  "], "the text is empty"),
        (["--withdraw", "--reason", "x" * 20_001], "20,001 letters"),
        (["--withdraw", "--reason", "x", "--url", "javascript:alert(1)"], "no web address"),
        (["--reply", "no-such-file"], "cannot be read"),
    ],
)
def test_bad_amendments_are_refused_in_one_line(own_run: Path, audit: Audit, words: list[str], said: str) -> None:
    refused = audit("amend", str(own_run), *words)
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
    assert said in refused.stderr
    assert not (own_run / AMENDMENTS).exists()


def test_a_run_that_was_not_judged_is_not_amended(own_run: Path) -> None:
    (own_run / VERDICT).unlink()
    with pytest.raises(UsageError, match="was not judged yet"):
        add(own_run)


def test_amendments_of_a_bundle_hang_together(own_run: Path) -> None:
    """Signed or not, a bundle with a line taken out does not verify."""
    from auditor.core.bundle.pack import STATEMENT, pack
    from auditor.core.bundle.statement import run_statement
    from auditor.publish.envelope import sealed

    add(own_run)
    add(own_run, "withdrawal", "It was wrong.")
    files = unpack(make_bundle(own_run))
    files.pop(STATEMENT)
    files[AMENDMENTS] = files[AMENDMENTS].splitlines(keepends=True)[1]
    found = verify_bundle(pack({**files, STATEMENT: sealed(run_statement(files))}), "bundle")
    assert found.exit_code == Exit.REFUTED
    assert "amendments.jsonl:1" in found.checks[-1].sentence
