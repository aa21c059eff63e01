"""Damaged and hostile folders: each is a row with its reason, and the command ends with 0."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from published import MARKUP, Audit, claim_text, recorded

from auditor.core.folder import AMENDMENTS, CLAIM, MANIFEST, RUN, VERDICT, RunFolder
from auditor.core.record import canonical_json
from auditor.report.site.claimwords import slug_of


def again(folder: Path) -> None:
    """A manifest that agrees with whatever the folder holds."""
    (folder / MANIFEST).write_bytes(canonical_json(RunFolder(folder).manifest()))


def edit(folder: Path, name: str, **fields: object) -> None:
    """Change fields of a JSON file, and let the manifest agree."""
    value = orjson.loads((folder / name).read_bytes())
    (folder / name).write_text(json.dumps(value | fields))
    again(folder)


def pipe(folder: Path) -> None:
    (folder / VERDICT).unlink()
    os.mkfifo(folder / VERDICT)


def outside(folder: Path) -> None:
    (folder / VERDICT).unlink()
    (folder / VERDICT).symlink_to("/etc/hostname")


DAMAGES: dict[str, tuple[Callable[[Path], None], str]] = {
    "another time": (lambda folder: edit(folder, RUN, started_ns=10**21), "cannot be read"),
    "deep": (lambda folder: (folder / VERDICT).write_bytes(b"[" * 200_000), "was changed"),
    "deep and agreed": (lambda folder: ((folder / VERDICT).write_bytes(b"[" * 200_000), again(folder))[1], "is damaged"),
    "no number": (lambda folder: edit(folder, VERDICT, exit_code=float("nan")), "is damaged"),
    "newer": (lambda folder: edit(folder, VERDICT, verdict_version=99), "is of version 99"),
    "a list for a manifest": (lambda folder: (folder / MANIFEST).write_bytes(b"[1]"), ""),
    "no manifest": (lambda folder: (folder / MANIFEST).write_bytes(b"{"), "is damaged"),
    "another claim": (lambda folder: (folder / CLAIM).write_text("schema: 1\nid: x\n"), "not the claim that was planned"),
    "amendments": (lambda folder: ((folder / AMENDMENTS).write_bytes(b"{}\n"), again(folder))[1], "no amendment"),
    "a pipe": (pipe, "is no plain file"),
    "a link": (outside, "is no plain file"),
}  # fmt: skip


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A judged run; read only."""
    return recorded(tmp_path_factory.mktemp("good") / "run", "good-1", claim_text("damage", "130 tok/s"))


def published(audit: Audit, tmp_path: Path) -> tuple[dict[str, str], str]:
    """The reasons that the command gives, by folder, and the front page."""
    words = ("--reports", str(tmp_path / "reports"), "--database", f"sqlite:///{tmp_path / 'none.db'}", "--no-cards")
    said = audit("publish", "--out", str(tmp_path / "site"), *words, "--json")
    assert said.code == 0, said.stderr
    problems = orjson.loads(said.stdout)["problems"]
    return {one["folder"]: one["what"] for one in problems}, (tmp_path / "site" / "index.html").read_text()


@pytest.mark.parametrize("name", sorted(DAMAGES))
def test_a_damaged_folder_is_a_row_with_its_reason(audit: Audit, good: Path, tmp_path: Path, name: str) -> None:
    damage, words = DAMAGES[name]
    folder = tmp_path / "reports" / "damage" / "bad"
    shutil.copytree(good, folder)
    shutil.copytree(good, tmp_path / "reports" / "damage" / "good-1")
    edit(folder, RUN, run="bad")
    damage(folder)
    problems, front = published(audit, tmp_path)
    assert words in problems.get("damage/bad", "")
    assert problems.pop("damage/bad", "row")
    assert list(problems) == ["database"]
    assert front.count("<tr><th scope") == 2
    assert str(tmp_path) not in front


def test_a_run_cannot_choose_where_its_page_goes(audit: Audit, good: Path, tmp_path: Path) -> None:
    for number, name in enumerate(("../../../up", "/etc/x", "index.html", MARKUP, "", ".", "a" * 5000)):
        folder = tmp_path / "reports" / "damage" / f"run-{number}"
        shutil.copytree(good, folder)
        edit(folder, RUN, run=name)
    problems, front = published(audit, tmp_path)
    assert list(problems) == ["database"]
    assert front.count("<tr><th scope") == 7
    runs = tmp_path / "site" / "claims" / "damage" / "runs"
    assert len(list(runs.iterdir())) == 7
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reports", "site"]


def test_an_import_cannot_name_a_file_elsewhere_or_a_page(audit: Audit, tmp_path: Path, site: Path) -> None:
    source = next(path.parent for path in site.glob("imports/*/import.json"))
    folder = tmp_path / "reports" / "imports" / source.name
    shutil.copytree(source, folder)
    (folder / "original-page.html").write_text("<script>alert(1)</script>")
    (tmp_path / "secret").write_text("not for you")
    record = orjson.loads((folder / "import.json").read_bytes())
    one = record["originals"][0]
    names = ("../../../secret", "index.html", "original-page.html", "original-gone.json")
    edit(folder, "import.json", originals=[{**one, "stored": name} for name in names])
    problems, _ = published(audit, tmp_path)
    assert list(problems) == ["database"]
    made = tmp_path / "site" / "imports" / source.name
    assert not (made / "original-page.html").exists()
    assert "a browser might run it" in (made / "index.html").read_text()
    assert all(b"not for you" not in path.read_bytes() for path in made.rglob("*") if path.is_file())


def test_two_runs_of_one_name_get_an_address_each_and_one_run_twice_gets_one(
    audit: Audit, good: Path, tmp_path: Path
) -> None:
    reports = tmp_path / "reports"
    for place in ("damage/good-1", "copies/first", "damage/other"):
        shutil.copytree(good, reports / place)
    edit(reports / "damage" / "other", RUN, started_ns=1_796_000_001 * 10**9)
    problems, front = published(audit, tmp_path)
    assert problems.pop("copies/first") == "the same run as damage/good-1, which is shown"
    assert list(problems) == ["database"]
    assert front.count("<tr><th scope") == 2
    assert len(list((tmp_path / "site" / "claims" / "damage" / "runs").iterdir())) == 2


@pytest.mark.parametrize("name", ["a/b", "..", "CON.", "é", "", "x" * 101, "a b", "-x", "\ud800"])
def test_slugs_are_names_of_one_folder(name: str) -> None:
    slug = slug_of(name)
    assert slug == slug_of(name)
    assert slug.isascii()
    assert slug.replace("-", "").replace("_", "").isalnum()
    assert len(slug) <= 70
