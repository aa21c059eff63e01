"""`audit claims`, through the real command, real files and a real database."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from auditor.cli import main
from auditor.core.record import sha256

ROOT = Path(__file__).parents[2]
FORK = str(ROOT / "claims" / "fork-130tps.yaml")
MATRIX = str(ROOT / "claims" / "sm120-16-configs.yaml")
NO_NUMBER = "no number stated; a run can still look for tokens counted wrongly, but has no number to compare with"
SMALL = "schema: 1\nid: small\ntitle: A small claim\n"


class Ran:
    """What a command said and how it ended."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs a command in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AUDIT_DATABASE_URL", raising=False)

    def run(*arguments: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(list(arguments))
        out, err = capsys.readouterr()
        return Ran(int(ended.value.code or 0), out, err)

    return run


def test_validate_says_what_each_file_is(audit, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL + "reported: {value: 130}\n")
    ran = audit("claims", "validate", "small.yaml", MATRIX)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"small.yaml: valid, 1 measurement\n{MATRIX}: valid, 11 measurements\n"


def test_validate_goes_on_after_a_bad_file_and_ends_with_2(audit, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(SMALL + "hardwear: {}\nreported: {basis: fast}\n")
    (tmp_path / "latin.yaml").write_bytes(SMALL.encode() + b"notes: caf\xe9\n")
    (tmp_path / "good.yaml").write_text(SMALL)
    (tmp_path / "folder").mkdir()
    ran = audit("claims", "validate", "bad.yaml", "latin.yaml", "gone.yaml", "folder", "good.yaml")
    assert ran.code == 2
    assert ran.out == "good.yaml: valid, 1 measurement\n"
    assert ran.err.splitlines() == [
        "audit: bad.yaml:4: unknown field hardwear; did you mean hardware?",
        "audit: bad.yaml:5: reported.basis is 'fast'; allowed: decode, request, output, total, aggregate, peak, "
        "per_user, per_gpu, prefill, drafted, chunks",
        "audit: latin.yaml:4: not UTF-8; save the file as UTF-8",
        "audit: gone.yaml: cannot be read: No such file or directory",
        "audit: folder: is a folder; name a file",
        f"audit: good.yaml: {NO_NUMBER}",
    ]


def test_two_files_with_one_id_are_refused(audit, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(SMALL)
    (tmp_path / "b.yaml").write_text(SMALL + "notes: other\n")
    for command in ("validate", "add"):
        ran = audit("claims", command, "a.yaml", "b.yaml")
        assert ran.code == 2
        assert "audit: b.yaml:1: id small is also that of a.yaml; rename one" in ran.err
    assert not (tmp_path / "audit.db").exists()


def test_a_10_mb_file_is_not_read(audit, tmp_path: Path) -> None:
    big = tmp_path / "big.yaml"
    with big.open("wb") as file:
        file.truncate(10_000_000)
    ran = audit("claims", "validate", "big.yaml")
    assert (ran.code, ran.err) == (2, "audit: big.yaml: larger than 1,000,000 bytes; give a shorter text\n")
    # A file without end is given up after as many bytes.
    assert audit("claims", "validate", "/dev/zero").code == 2


def test_a_file_full_of_errors_is_not_told_in_full(audit, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(SMALL + "".join(f"field{n}: 1\n" for n in range(20_000)))
    ran = audit("claims", "validate", "bad.yaml")
    assert ran.code == 2
    told = ran.err.splitlines()
    assert len(told) == 21
    assert told[0].startswith("audit: bad.yaml:4: unknown field field0; ")
    assert told[-1] == "audit: bad.yaml: there may be more; mend these first"


def test_validate_as_json_is_one_document(audit, tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text(SMALL + "x: 1\n")
    ran = audit("claims", "validate", "--json", FORK, "bad.yaml")
    assert ran.code == 2
    fork, bad = json.loads(ran.out)["files"]
    assert fork == {
        "file": FORK,
        "id": "fork-130tps",
        "measurements": ["fork-130tps"],
        "without_number": [],
        "warnings": [],
        "errors": [],
    }
    assert bad["errors"][0]["where"] == "bad.yaml:4"
    assert "fork-130tps.yaml: valid" in ran.err


def test_show_says_what_is_stated_and_what_is_open(audit) -> None:
    ran = audit("claims", "show", FORK)
    assert (ran.code, ran.err) == (0, "")
    stated, opened = ran.out.split("Left open:")
    assert "130 to 150 tok/s, basis not stated" in stated
    assert 'disputer says               The forks have "zero kernel-level changes".' in stated
    for word in ("Basis:", "Streams:", "Draft width:", "Acceptance:", "Quantisation:", "Commit:", "Prompt:", "Share:"):
        assert word in opened


def test_show_lists_the_rows_of_a_matrix_and_shows_one(audit) -> None:
    ran = audit("claims", "show", MATRIX)
    assert ran.code == 0
    assert "11 measurements:" in ran.out
    assert "sglang-0.5.8                NaN, no rate\n" in ran.out
    assert "Left open:" not in ran.out
    row = audit("claims", "show", MATRIX, "--row", "marlin-mtp2")
    assert "speculation.acceptance      0.61 to 0.85" in row.out
    assert "Acceptance: what is 0.61 to 0.85 a share of" in row.out
    bad = audit("claims", "show", MATRIX, "--row", "nope")
    assert bad.code == 2
    assert "choose one with --row: marlin-tp4, marlin-tp2-pp2" in bad.err


def test_a_claim_without_a_number_is_said_to_have_none(audit, tmp_path: Path) -> None:
    rows = "measurements:\n- {id: one, reported: {value: 5}}\n- {id: two}\n- {id: three, reported: {outcome: failed}}\n"
    (tmp_path / "rows.yaml").write_text(SMALL + rows)
    ran = audit("claims", "validate", "rows.yaml")
    assert (ran.code, ran.err) == (0, f"audit: rows.yaml: {NO_NUMBER.replace(';', ' in 1 of 3 measurements (two);')}\n")
    assert "No number stated: a run can" in audit("claims", "show", "rows.yaml", "--row", "two").out
    assert "No number stated" not in audit("claims", "show", "rows.yaml", "--row", "one").out
    assert "No number stated" not in audit("claims", "show", "rows.yaml", "--row", "three").out


@pytest.mark.parametrize("width", [50, 80, 300])
def test_show_keeps_to_the_width_of_the_terminal(audit, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    wide = audit("claims", "show", FORK).out
    monkeypatch.setenv("COLUMNS", str(width))
    ran = audit("claims", "show", FORK)
    assert ran.out.split() == wide.split()
    too_long = [line for line in ran.out.splitlines() if len(line) > min(width, 110)]
    assert all(len(line.split()) == 1 for line in too_long)


def test_show_as_json_holds_every_case(audit) -> None:
    document = json.loads(audit("claims", "show", MATRIX, "--json").out)
    assert document["claim"]["id"] == "sm120-16-configs"
    assert len(document["cases"]) == 11
    best = document["cases"][0]
    assert (best["id"], best["reported_text"], best["interval"]) == ("marlin-tp4", "50.5 tok/s", [50.45, 50.55])
    assert any(question.startswith("Counter:") for question in best["questions"])


def test_add_list_and_show_by_id(audit, tmp_path: Path) -> None:
    small = tmp_path / "small.yaml"
    small.write_text(SMALL)
    assert audit("claims", "list").out == "no claims stored; `audit claims add FILE` stores one\n"
    assert audit("claims", "add", "small.yaml", FORK).out == (
        "small: revision 1 stored\nfork-130tps: revision 1 stored\n"
    )
    assert audit("claims", "add", "small.yaml").out == "small: revision 1 already stored\n"
    small.write_text(SMALL.replace("small claim", "changed claim"))
    added = json.loads(audit("claims", "add", "small.yaml", "--json").out)["claims"]
    assert added == [
        {"file": "small.yaml", "id": "small", "revision": 2, "is_new": True, "digest": sha256(small.read_bytes())}
    ]
    small.unlink()
    assert audit("claims", "show", "small").out.startswith("small: A changed claim\n")
    listed = json.loads(audit("claims", "list", "--json").out)["claims"]
    assert [(claim["id"], claim["revision"], claim["runs"], claim["last_verdict"]) for claim in listed] == [
        ("fork-130tps", 1, 0, None),
        ("small", 2, 0, None),
    ]
    text = audit("claims", "list").out
    assert "not audited" in text
    assert "A changed claim" in text
    (tmp_path / "small").mkdir()
    assert audit("claims", "show", "small").out.startswith("small: A changed claim\n")
    assert audit("claims", "show", "x" * 300).err.startswith(f"audit: {'x' * 300}: cannot be read: ")
    gone = audit("claims", "show", "smal")
    assert gone.code == 2
    assert "there is no claim 'smal' in the database; did you mean small?" in gone.err


def test_add_stores_nothing_if_one_file_is_bad(audit, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "bad.yaml").write_text("schema: 1\n")
    ran = audit("claims", "add", "small.yaml", "bad.yaml")
    assert (ran.code, ran.err) == (
        2,
        "audit: bad.yaml:1: id is missing; none of the 2 files was stored\n",
    )
    assert audit("claims", "add", "bad.yaml").err == "audit: bad.yaml:1: id is missing\n"
    assert not (tmp_path / "audit.db").exists()


def test_a_database_of_ones_own(audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    missing = audit("claims", "list", "--database", "nonsense://x")
    assert missing.code == 2
    assert missing.err.count("\n") == 1
    url = f"sqlite:///{tmp_path}/mine.db"
    assert audit("db", "upgrade", "--database", url).code == 0
    assert audit("claims", "add", "small.yaml", "--database", url).code == 0
    monkeypatch.setenv("AUDIT_DATABASE_URL", url)
    assert "A small claim" in audit("claims", "list").out
    assert not (tmp_path / "audit.db").exists()


@pytest.mark.parametrize("command", ["validate", "show", "add", "list", "schema"])
def test_help_names_the_exit_codes(audit, command: str) -> None:
    ran = audit("claims", command, "--help")
    assert ran.code == 0
    assert "Exit codes:" in ran.out
    assert "--json" in ran.out


def test_the_installed_command_ends_with_the_same_codes(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("schema: 1\n")
    command = [str(Path(sys.executable).parent / "audit"), "claims", "validate"]
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    good = subprocess.run([*command, FORK], capture_output=True, text=True, env=environment, check=False)
    bad = subprocess.run([*command, "bad.yaml"], capture_output=True, text=True, cwd=tmp_path, check=False)
    piped = subprocess.run([*command, "-"], capture_output=True, text=True, input=SMALL, check=False)
    assert (good.returncode, good.stderr) == (0, "")
    assert (bad.returncode, bad.stderr) == (
        2,
        "audit: bad.yaml:1: id is missing\naudit: bad.yaml:1: title is missing\n",
    )
    assert piped.stderr == f"audit: -: {NO_NUMBER}\n"
    assert (piped.returncode, piped.stdout) == (0, "-: valid, 1 measurement\n")
