"""Reviews of claims and sweeps on the site: shown once, with verdict and grade, their pages beside them."""

import json
import shutil
from pathlib import Path
from typing import Any

import orjson
import pytest
from published import ROOT, Audit, claim_text

from auditor.core.claim.claim import parse_claim
from auditor.core.folder import MANIFEST, REPORT
from auditor.core.sweeping.matrix import parse_matrix, recipes_of
from auditor.core.sweeping.result import State, failed_row, sweep_of

BENCH = ROOT / "tests" / "data" / "imports" / "vllm" / "ngram-detailed.json"
SWEEP = "sweep-20261201T120000Z-abcd"


@pytest.fixture
def words(tmp_path: Path) -> tuple[str, ...]:
    """Options for a reports folder and a database of the test's own."""
    return ("--reports", str(tmp_path / "reports"), "--database", f"sqlite:///{tmp_path / 'audit.db'}")


@pytest.fixture
def kept(audit: Audit, tmp_path: Path, words: tuple[str, ...]) -> Path:
    """The folder of a review of a result file, which the database knows too."""
    assert audit("db", "upgrade", *words[2:]).code == 0
    claim = tmp_path / "claim.yaml"
    claim.write_text(claim_text("reviewed", "50 <b>tok/s", value="reported: {value: 50, basis: output, streams: 2}"))
    said = audit("review", str(claim), "--import", str(BENCH), *words, "--json")
    return Path(orjson.loads(said.stdout)["folder"])


def published(audit: Audit, tmp_path: Path, words: tuple[str, ...]) -> tuple[Path, list[dict[str, Any]]]:
    """The site, and the entries that it holds but for claims."""
    site = tmp_path / "site"
    said = audit("publish", "--out", str(site), *words, "--no-cards")
    assert said.code == 0, said.stderr
    entries = orjson.loads((site / "audits.json").read_bytes())["entries"]
    return site, [one for one in entries if one["kind"] != "claim"]


def test_a_review_is_shown_once_with_its_verdict_and_grade(
    audit: Audit, tmp_path: Path, words: tuple[str, ...], kept: Path
) -> None:
    site, entries = published(audit, tmp_path, words)
    review = json.loads((kept / "review.json").read_text())
    assert [(one["kind"], one["verdict"], one["grade"]) for one in entries] == [
        ("claim-review", review["verdict"], review["grade"])
    ]
    assert entries[0]["started"] is not None, "the database tells when it was made"
    place = site / "claims" / "reviewed" / "reviews" / kept.name
    page = (site / "claims" / "reviewed" / "index.html").read_text()
    assert f"reviews/{kept.name}/index.html" in page
    assert f"grade {review['grade']}" in page
    assert f"Reviewed: {review['verdict']}" in page
    for name in ("review.json", REPORT, "report.md", MANIFEST):
        assert (place / name).read_bytes() == (kept / name).read_bytes()
    assert f'href="{REPORT}"' in (place / "index.html").read_text()
    assert "<b>tok/s" not in page


def test_a_review_of_which_only_the_database_knows_is_shown_with_its_reason(
    audit: Audit, tmp_path: Path, words: tuple[str, ...], kept: Path
) -> None:
    shutil.rmtree(kept)
    _, entries = published(audit, tmp_path, words)
    assert [one["kind"] for one in entries] == ["claim-review"]
    assert entries[0]["grade"] == "timed"
    assert "only what the database holds" in entries[0]["problem"]


def test_a_review_that_an_earlier_site_showed_as_an_import_is_not_shown_as_removed(
    audit: Audit, tmp_path: Path, words: tuple[str, ...], kept: Path
) -> None:
    site, _ = published(audit, tmp_path, words)
    audits = site / "audits.json"
    audits.write_bytes(audits.read_bytes().replace(b'"claim-review"', b'"import"'))
    _, entries = published(audit, tmp_path, words)
    assert [one["kind"] for one in entries] == ["claim-review"]


@pytest.mark.parametrize("name", ["review.json", "claim.yaml", REPORT])
def test_a_review_that_was_changed_is_a_row_with_its_reason_and_no_files(
    audit: Audit, tmp_path: Path, words: tuple[str, ...], kept: Path, name: str
) -> None:
    (kept / name).write_bytes((kept / name).read_bytes().replace(b"50", b"51"))
    _, entries = published(audit, tmp_path, words)
    assert len(entries) == 1
    assert f"{name} was changed since it was written" in entries[0]["problem"]
    assert entries[0]["files"] == []


def test_a_review_of_another_claim_than_lies_beside_it_is_not_shown_as_one_of_it(
    audit: Audit, tmp_path: Path, words: tuple[str, ...], kept: Path
) -> None:
    (kept / MANIFEST).unlink()
    (kept / "claim.yaml").write_text(claim_text("other", "Another"))
    site, entries = published(audit, tmp_path, words)
    assert "not the claim that was reviewed" in entries[0]["problem"]
    assert not (site / "claims" / "other").exists()


def sweep_folder(reports: Path) -> Path:
    """A sweep of one server that did not start, and of one that is left."""
    claim = parse_claim("schema: 1\nid: c\ntitle: C\nmeasurements: [{id: a}, {id: b}]\n", "c.yaml")
    text = "schema: 1\nid: m\ntitle: 'Two <b>servers'\nlaunch: {argv: [x]}\nrows: [{id: a}, {id: b}]\n"
    recipe = recipes_of(*parse_matrix(text, "m.yaml"), claim)[0]
    row = failed_row(recipe, claim.case("a"), "failed-to-start", "it ended with <i>1", "logs/a.log", (), None)
    state = State(
        sweep=SWEEP, matrix="m", matrix_title="Two <b>servers", matrix_digest="d" * 64, order=("a", "b"), seed=1,
        owner_pid=1, owner_started_ns=1, rows=(row,),
    )  # fmt: skip
    folder = reports / "m" / SWEEP
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "a.log").write_text("a prompt")
    (folder / "sweep.json").write_bytes(sweep_of(state).to_json())
    (folder / "sweep.md").write_text("the table")
    return folder


def test_a_sweep_is_a_row_with_its_table_and_without_its_logs(
    audit: Audit, tmp_path: Path, words: tuple[str, ...]
) -> None:
    folder = sweep_folder(tmp_path / "reports")
    site, entries = published(audit, tmp_path, words)
    assert [(one["kind"], one["started"]) for one in entries] == [("sweep", "2026-12-01T12:00:00+00:00")]
    front = (site / "index.html").read_text()
    assert f'href="sweeps/{SWEEP}/index.html"' in front
    assert "Two &lt;b&gt;servers" in front
    place = site / "sweeps" / SWEEP
    page = (place / "index.html").read_text()
    assert "failed-to-start" in page
    assert "<i>1" not in page
    assert sorted(path.name for path in place.iterdir()) == ["index.html", "sweep.json", "sweep.md"]
    shutil.rmtree(folder)
    site, entries = published(audit, tmp_path, ("--reports", str(folder.parent), *words[2:]))
    assert entries[0]["removed_ns"] is not None
    assert "removed" in (place / "index.html").read_text()


def test_a_sweep_that_is_damaged_is_a_row_with_its_reason(audit: Audit, tmp_path: Path, words: tuple[str, ...]) -> None:
    (sweep_folder(tmp_path / "reports") / "sweep.json").write_text('{"sweep": NaN}')
    site, entries = published(audit, tmp_path, words)
    assert "sweep.json is damaged" in entries[0]["problem"]
    assert "sweep.json is damaged" in (site / "sweeps" / SWEEP / "index.html").read_text()


def test_nothing_is_copied_of_a_folder_that_holds_a_key(
    audit: Audit, tmp_path: Path, words: tuple[str, ...], kept: Path
) -> None:
    (kept / MANIFEST).unlink()
    for file in (kept / "report.md", sweep_folder(tmp_path / "reports") / "sweep.md"):
        file.write_text("-----BEGIN PRIVATE KEY-----\n")
    site, entries = published(audit, tmp_path, words)
    assert [one["files"] for one in entries] == [[], []]
    assert all("holds a private key" in one["problem"] for one in entries)
    assert not [path for path in site.rglob("*") if path.is_file() and b"BEGIN PRIVATE" in path.read_bytes()]
