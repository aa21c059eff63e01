"""`audit fork` as a process: its words, its page, its document, its exit codes and rules of the user's own."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from forktrees import ENVIRONMENT, Tree

Make = Callable[..., Tree]
KERNEL = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef double(x, n: tl.constexpr):\n    tl.store(x, tl.load(x) * 2)\n"


def audit(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "auditor", "fork", *words]
    return subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT, cwd=cwd, timeout=120)


@pytest.fixture
def fork(tree: Make) -> Tree:
    made = tree("fork")
    made.commit({"engine/ops.py": "x = 1\n", "README.md": "# Engine\n"}, "base")
    made("tag", "base")
    made.commit(
        {"engine/double.py": KERNEL, "README.md": "# Engine\n\n130 tok/s on 4 cards <b>now</b>\n"}, "Double <script>"
    )
    return made


def test_the_answers_come_with_their_lines(fork: Tree) -> None:
    done = audit(str(fork.path), "--upstream", "base")
    assert done.returncode == 0, done.stderr
    text = " ".join(done.stdout.split())
    assert "fork: 2 paths differ, 9 changed lines (+9 -0)" in text
    assert "1 ahead, 0 behind" in text
    assert "Does it change kernels? YES." in text
    assert "engine/double.py:5 + @triton.jit" in text
    assert "Does it ship numbers? YES." in text
    assert "README.md:3 + 130 tok/s on 4 cards" in text
    assert "Does it change how tokens are counted? NO." in text
    assert "kernel (triton)" in text


def test_the_document_holds_the_whole_review(fork: Tree) -> None:
    done = audit(str(fork.path), "--upstream", "base", "--json")
    found = json.loads(done.stdout)
    assert found["history"]["ahead"] == 1
    assert {one["label"]: one["added"] for one in found["classes"]} == {"docs": 2, "kernel": 7}
    assert {one["id"]: one["outcome"] for one in found["answers"]}["kernels"] == "yes"
    assert str(fork.path) not in done.stdout, "no path of this machine"


def test_the_page_is_one_file_without_script_and_with_everything_escaped(fork: Tree, tmp_path: Path) -> None:
    page = tmp_path / "review.html"
    assert audit(str(fork.path), "--upstream", "base", "--out", str(page)).returncode == 0
    text = page.read_text()
    assert "Content-Security-Policy" in text
    assert "Does it change kernels?" in text
    assert "&lt;script&gt;" in text
    assert "<script" not in text
    assert "<b>now" not in text
    assert str(tmp_path) not in text


def test_a_review_is_kept_in_a_folder_of_its_own_with_the_same_bytes_again(fork: Tree, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    done = audit(str(fork.path), "--upstream", "base", "--reports", str(reports), "--json")
    assert done.returncode == 0, done.stderr
    [folder] = (reports / "forks").iterdir()
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert folder.name == f"fork-{hashlib.sha256(files['fork.json']).hexdigest()[:12]}"
    assert json.loads(files["fork.json"]) == json.loads(done.stdout)
    assert json.loads(files.pop("manifest.json")) == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items()
    }
    assert set(files) == {"fork.json", "report.html"}
    assert audit(str(fork.path), "--upstream", "base", "--reports", str(reports)).returncode == 0
    assert list((reports / "forks").iterdir()) == [folder]
    assert all((folder / name).read_bytes() == data for name, data in files.items())


def test_a_folder_that_cannot_be_made_is_one_line(fork: Tree, tmp_path: Path) -> None:
    (tmp_path / "reports").write_text("a file")
    done = audit(str(fork.path), "--upstream", "base", "--reports", str(tmp_path / "reports"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1


def test_a_comparison_that_is_not_sure_exits_with_4(fork: Tree, tree: Make) -> None:
    foreign = tree("foreign")
    foreign.commit({"other.py": "o = 1\n"}, "other")
    done = audit(str(fork.path), "--upstream", str(foreign.path))
    assert done.returncode == 4
    assert "share no commit" in " ".join(done.stdout.split())


def test_rules_of_the_users_own_are_data(fork: Tree, tmp_path: Path) -> None:
    rules = tmp_path / "mine.toml"
    rules.write_text(
        "[[rules]]\nid = 'mine'\nclass = 'metrics'\nweight = 9\npaths = ['double\\.py$']\n"
        "[[rules]]\nid = 'kernel-triton-code'\nclass = 'metrics'\nweight = 9\nlines = ['triton']\n"
        "[[questions]]\nid = 'doubles'\nask = 'Does it double?'\nyes = 'It does.'\nno = 'It does not.'\nsure = [{ lines = ['double'] }]\n"
    )
    found = json.loads(audit(str(fork.path), "--upstream", "base", "--rules", str(rules), "--json").stdout)
    assert {one["label"] for one in found["classes"]} == {"docs", "metrics"}
    assert found["answers"][-1]["outcome"] == "yes"
    assert found["answers"][-1]["sentence"] == "It does."


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("[[rules]]\nid = 'mine'\nclass = 'kernel'\nlines = ['a+']\n", "mine: lines"),
        ("[[rules]]\nid = 'mine'\nclass = 'nothing'\nlines = ['a']\n", "mine: class"),
        ("[[rules]]\nid = 'mine'\nclass = 'kernel'\n", "mine: needs paths, files or lines"),
        ("[[rules]]\nid = 'mine'\nclass = 'comments'\nlines = ['a']\n", "told by their tokens"),
        ("rules = 3\n", "rules"),
        ("[[rules\n", "not TOML"),
    ],
)
def test_a_mistake_in_the_rules_is_told_in_one_line(fork: Tree, tmp_path: Path, rules: str, words: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(rules)
    done = audit(str(fork.path), "--upstream", "base", "--rules", str(file))
    assert done.returncode == 2
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_usage_errors_are_one_line_and_2(fork: Tree) -> None:
    for words in (
        [str(fork.path)],
        [str(fork.path / "no")],
        [str(fork.path), "--upstream", "no"],
        ["--upstream", "base"],
    ):
        done = audit(*words)
        assert done.returncode == 2, words
        assert "Traceback" not in done.stderr
    assert audit(".", "--upstream", "base", "--out", "/nowhere/x.html", cwd=fork.path).returncode == 1
