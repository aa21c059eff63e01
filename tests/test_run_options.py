"""What `audit run` does with its options before anything is measured, and what it learns after a first request."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

CLAIM = """\
schema: 1
id: own-server
title: A claim that names its own server
server: {url: "URL"}
reported: {value: 100}
"""


def audit(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "auditor", *words]
    return subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **env}, check=False)


def test_a_key_goes_to_no_server_that_only_the_claim_names(tmp_path: Path, serve) -> None:
    asked: list[str] = []
    url = serve({}, asked)
    claim = tmp_path / "claim.yaml"
    claim.write_text(CLAIM.replace("URL", url))
    done = audit("run", str(claim), "--reports", str(tmp_path / "r"), AUDIT_API_KEY="sk-very-secret")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "give --server" in done.stderr
    assert "sk-very-secret" not in done.stderr
    assert not asked


def quick_run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """A short run of a small claim; everything that it writes is below the folder."""
    claim = folder / "claim.yaml"
    claim.write_text("schema: 1\nid: a\ntitle: a\nreported: {value: 100}\n")
    short = ("--repeats", "1", "--quick", "--json", "--no-canaries")
    places = ("--reports", str(folder / "r"), "--database", f"sqlite:///{folder / 'a.db'}")
    return audit("run", str(claim), *words, *short, *places)


@pytest.mark.local
def test_llamacpp_tells_its_speculation_after_a_first_request(tmp_path: Path, local_ngram) -> None:
    words = ["--server", local_ngram.url, "--tokens", "8"]
    done = quick_run(tmp_path, *words)
    assert done.returncode == 4, done.stderr
    rows = {row["field"]: row for row in json.loads(done.stdout)["comparisons"]}
    assert rows["speculation"]["observed"] == "on"
    assert rows["speculation method"]["observed"] == "ngram-simple"
    assert rows["speculation method"]["source"].startswith("GET /slots")


def tokenizer_file(path: Path, *, by_word: bool) -> Path:
    """A real tokenizer file: one token a word, or one a character."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers

    one = Tokenizer(models.WordLevel({"?": 0}, unk_token="?"))
    split = Regex(r"\s+") if by_word else Regex("")
    one.pre_tokenizer = pre_tokenizers.Split(split, "removed" if by_word else "isolated")
    one.save(str(path))
    return path


@pytest.mark.local
def test_the_text_is_counted_again_by_event_and_with_another_tokenizer(tmp_path: Path, local_plain) -> None:
    words = [
        *("--server", local_plain.url, "--tokens", "40"),
        *("--tokenizer", str(tokenizer_file(tmp_path / "own.json", by_word=True))),
        *("--other-tokenizer", str(tokenizer_file(tmp_path / "other.json", by_word=False))),
    ]
    done = quick_run(tmp_path, *words)
    assert done.returncode == 4, done.stderr
    document = json.loads(done.stdout)
    values = {basis["id"]: basis["estimate"] for basis in document["bases"]}
    whole, by_event = values["retokenised/request"]["value"], values["retokenised-events/request"]["value"]
    assert by_event >= whole > 0, "words that two events share are counted twice"
    assert values["other-tokenizer/request"]["value"] > whole, "there are more characters than words"
    recount = json.loads((Path(document["folder"]) / "recount.json").read_bytes())
    assert recount["is_independent"] is True
    assert recount["tokenizer_sha256"] != recount["other_sha256"]
