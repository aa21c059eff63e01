"""Reviews of forks on the site: what `audit fork --json` prints, on the page of the fork that claims name."""

import subprocess
from pathlib import Path

import pytest
from published import Audit, claim_text, recorded

SOURCE = "def accept(draft):\n    return draft\n"


def git(repo: Path, *words: str) -> str:
    """Run git as nobody in particular."""
    who = ("-c", "user.name=ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false")
    return subprocess.run(
        ["git", "-C", str(repo), *who, *words], check=True, capture_output=True, text=True
    ).stdout.strip()


@pytest.fixture
def fork(tmp_path: Path) -> Path:
    """A repository with a commit of its own on top of its base."""
    repo = tmp_path / "their-engine"
    repo.mkdir()
    git(repo, "init", "-q", "-b", "main")
    for text in (SOURCE, SOURCE.replace("return draft", "return draft  # always")):
        (repo / "rejection_sampler.py").write_text(text)
        git(repo, "add", ".")
        git(repo, "commit", "-q", "-m", "work <b>")
    return repo


def published(audit: Audit, tmp_path: Path) -> Path:
    """The site of the reports."""
    words = ("--reports", str(tmp_path / "reports"), "--database", f"sqlite:///{tmp_path / 'none.db'}", "--no-cards")
    said = audit("publish", "--out", str(tmp_path / "site"), *words)
    assert said.code == 0, said.stderr
    return tmp_path / "site"


def test_a_review_stands_on_the_page_of_the_fork_whose_commit_it_is_of(
    audit: Audit, fork: Path, tmp_path: Path
) -> None:
    head = git(fork, "rev-parse", "HEAD")
    review = tmp_path / "reports" / "forks" / "theirs" / "fork.json"
    review.parent.mkdir(parents=True)
    review.write_text(audit("fork", str(fork), "--base", "HEAD~1", "--json").stdout)
    named = f"engine: {{name: vLLM, fork: {{name: fast-fork, commit: {head[:9]}}}}}\n"
    recorded(tmp_path / "reports" / "forked" / "run-1", "run-1", claim_text("forked", "130 tok/s", named))
    site = published(audit, tmp_path)
    assert [path.name for path in (site / "forks").iterdir()] == ["fast-fork"]
    page = (site / "forks" / "fast-fork" / "index.html").read_text()
    href = f"../../reviews/their-engine-{head[:12]}/index.html"
    assert f'<a href="{href}">Review of commit {head[:12]}</a>' in page
    assert "run-1" in page
    assert "rejection_sampler.py" in (site / "forks" / "fast-fork" / href).read_text()
    review.unlink()
    page = (published(audit, tmp_path) / "forks" / "fast-fork" / "index.html").read_text()
    assert href not in page
    assert "<small>removed</small>" in page
    assert not (site / "reviews").exists()


def test_a_review_of_a_fork_that_no_claim_names_has_a_page_of_its_own(audit: Audit, fork: Path, tmp_path: Path) -> None:
    review = tmp_path / "reports" / "theirs" / "fork.json"
    review.parent.mkdir(parents=True)
    review.write_text(audit("fork", str(fork), "--base", "HEAD~1", "--json").stdout)
    site = published(audit, tmp_path)
    assert "Review of commit" in (site / "forks" / "their-engine" / "index.html").read_text()
    assert 'href="forks/their-engine/index.html"' in (site / "index.html").read_text()


def test_a_review_that_the_command_kept_is_found(audit: Audit, fork: Path, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    assert audit("fork", str(fork), "--base", "HEAD~1", "--reports", str(reports)).code == 0
    [folder] = (reports / "forks").iterdir()
    site = published(audit, tmp_path)
    place = site / "reviews" / f"their-engine-{git(fork, 'rev-parse', 'HEAD')[:12]}"
    assert (place / "index.html").read_bytes() == (folder / "report.html").read_bytes()
    (folder / "fork.json").write_bytes((folder / "fork.json").read_bytes().replace(b"their-engine", b"other-engine"))
    site = published(audit, tmp_path)
    assert "fork.json was changed since it was written" in (site / "index.html").read_text()


def test_a_review_that_cannot_be_read_is_a_row(audit: Audit, tmp_path: Path) -> None:
    review = tmp_path / "reports" / "theirs" / "fork.json"
    review.parent.mkdir(parents=True)
    review.write_text("{}")
    site = published(audit, tmp_path)
    assert "fork.json is damaged" in (site / "index.html").read_text()
    assert "fork.json is damaged" in (site / "reviews" / "theirs" / "index.html").read_text()
