"""The labelled hunks are what their README and RUBRIC say: ids, counts, classes, and repositories that can be built."""

import hashlib
import json
import random
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
import zstandard

FORKS = Path(__file__).parents[1] / "data" / "forks"
RUBRIC = (FORKS / "RUBRIC.md").read_text(encoding="utf-8")
CLASSES = set(re.findall(r"^\| `(\w+)` \| [A-Z]", RUBRIC, re.MULTILINE))
KINDS = {"cuda", "cutlass", "triton", "tilelang", "other"}
MADE = json.loads((FORKS / "made" / "labels.json").read_text(encoding="utf-8"))
# The command that the rubric states, so that it is tried.
DIFF = re.search(r"^    git (.+?) BASE HEAD", RUBRIC, re.MULTILINE | re.DOTALL)[1].replace("\\\n", " ").split()


def labelled(part: str) -> list[dict]:
    raw = zstandard.ZstdDecompressor().stream_reader((FORKS / f"{part}.jsonl.zst").read_bytes()).read()
    return [json.loads(line) for line in raw.decode("utf-8").split("\n") if line]


def test_five_hundred_are_held_out_and_none_is_in_both():
    tuning, held_out = labelled("tuning"), labelled("heldout")
    assert len(held_out) >= 500
    assert len(tuning) >= 500
    ids = [(hunk["history"], hunk["id"]) for hunk in tuning + held_out]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("part", ["tuning", "heldout"])
def test_every_class_occurs_and_no_other(part):
    hunks = labelled(part)
    assert {hunk["label"] for hunk in hunks} == CLASSES
    assert {kind for hunk in hunks if (kind := hunk["kernel"])} == KINDS
    for hunk in hunks:
        assert (hunk["kernel"] is not None) == (hunk["label"] == "kernel"), hunk["id"]
        assert set(hunk["also"]) <= CLASSES - {hunk["label"]}, hunk["id"]


@pytest.mark.parametrize("part", ["tuning", "heldout"])
def test_whole_hunks_have_the_digest_and_counts_of_their_text(part):
    for hunk in labelled(part):
        lines = hunk["text"].removesuffix("\n").split("\n")
        if hunk["cut_after"] is not None:
            assert len(lines) == 300, hunk["id"]
            continue
        path, start, digest = hunk["id"].rsplit(":", 2)
        assert path == hunk["path"]
        assert f"+{start}" in hunk["header"], hunk["id"]
        assert hashlib.sha256(hunk["text"].encode()).hexdigest()[:12] == digest, hunk["id"]
        assert sum(line[0] == "+" for line in lines) == hunk["added"], hunk["id"]
        assert sum(line[0] == "-" for line in lines) == hunk["removed"], hunk["id"]


@pytest.mark.parametrize("case", MADE)
def test_a_made_up_fork_builds_and_has_the_labelled_hunks(case, tmp_path):
    commit_patches(tmp_path, "base", case)
    listed = [(path, start) for path, start, *_ in MADE[case]["hunks"]]
    assert hunks_of(git(tmp_path, *DIFF, "HEAD~1", "HEAD")) == listed
    for _, _, label, *rest in MADE[case]["hunks"]:
        assert label in CLASSES
        assert (label == "kernel") == (bool(rest) and rest[0] in KINDS)


def commit_patches(repo: Path, *names: str) -> None:
    git(repo, "init", "-q")
    for name in names:
        git(repo, "apply", "--index", "--whitespace=nowarn", str(FORKS / "made" / f"{name}.patch"))
        git(repo, "-c", "user.name=t", "-c", "user.email=t@example.invalid", "commit", "-qm", name)


def git(repo: Path, *arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=repo, check=True, capture_output=True, text=True).stdout


def hunks_of(diff: str) -> list[tuple[str, int]]:
    found, path = [], ""
    for line in diff.splitlines():
        if match := re.match(r"(?:---|\+\+\+) [ab]/(.+)", line):
            path = match[1]
        elif match := re.match(r"@@ -\S+ \+(\d+)", line):
            found.append((path, int(match[1])))
    return found


def test_the_second_reader_agrees_as_far_as_the_readme_says():
    second = json.loads((FORKS / "second_reader.json").read_text(encoding="utf-8"))
    first = {hunk["id"]: hunk for hunk in labelled("heldout")}
    assert sorted(second["labels"]) == sorted(random.Random(second["seed"]).sample(sorted(first), 120))
    assert set(second["labels"].values()) <= CLASSES
    readme = (FORKS / "README.md").read_text(encoding="utf-8")
    for name, weigh in (("hunks", lambda _: 1), ("changed lines", lambda hunk: hunk["added"] + hunk["removed"])):
        agreed, (ours, theirs), total = 0, (Counter(), Counter()), 0
        for key, label in second["labels"].items():
            weight = weigh(first[key])
            agreed += weight * (label == first[key]["label"])
            ours[first[key]["label"]] += weight
            theirs[label] += weight
            total += weight
        chance = sum(ours[label] * theirs[label] for label in ours) / total**2
        kappa = (agreed / total - chance) / (1 - chance)
        assert re.search(
            rf"^\| {name} \| {agreed:,} \| {total:,} \| {agreed / total:.1%}".replace("%", " %"), readme, re.M
        )
        assert re.search(rf"^\| {name} \| .* \| {kappa:.3f} \|$", readme, re.M)
