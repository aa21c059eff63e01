"""`audit import` from a file to its folder, its row in the database and what it says of a claim."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from documented import as_bytes, sglang, vllm

from auditor.cli import main
from auditor.core.record import sha256
from auditor.db.engine import locate
from auditor.db.migrate import upgrade
from auditor.review import imports as door

DATA = Path(__file__).resolve().parents[1] / "data" / "imports"
CLAIM = """\
schema: 1
id: a-claim
title: A claim
model: {{id: {model}}}
reported: {{value: {value}{more}}}
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with its tables, made once."""
    path = tmp_path_factory.mktemp("database") / "audit.db"
    upgrade(locate(f"sqlite:///{path}"))
    return path


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, database: Path) -> None:
    shutil.copy(database, tmp_path)
    monkeypatch.chdir(tmp_path)


def audit(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main([*words])
    return int(ended.value.code or 0)


def document(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    audit(*words, "--json")
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def claim(value: float, *, model: str = "test-7b", more: str = "") -> str:
    Path("claim.yaml").write_text(CLAIM.format(model=model, value=value, more=more))
    return "claim.yaml"


def result(document: dict[str, Any], name: str = "result.json") -> str:
    Path(name).write_bytes(as_bytes(document))
    return name


def test_the_original_bytes_are_kept_by_digest_with_a_manifest(capsys: pytest.CaptureFixture[str]) -> None:
    source = DATA / "vllm" / "ngram-detailed.json"
    assert audit("import", str(source)) == 0
    (folder,) = Path("reports/imports").iterdir()
    kept = folder / "original-ngram-detailed.json"
    assert kept.read_bytes() == source.read_bytes()
    record = door.read_import(folder)
    assert len(record.results[0].requests) == 6
    assert record.originals[0].sha256 == sha256(source.read_bytes())
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest == {
        path.name: sha256(path.read_bytes()) for path in folder.iterdir() if path.name != "manifest.json"
    }
    assert "The best second held" in " ".join(capsys.readouterr().out.split())


def test_the_list_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    audit("import", result(vllm()), "--claim", claim(1.0))
    (row,) = document(capsys, "import", "result.json")["imports"]
    listed = document(capsys, "list")["imports"]
    assert {one["claim_id"] for one in listed} == {None, "a-claim"}
    assert row["folder"] in {one["folder"] for one in listed}
    audit("list")
    assert "import-" in capsys.readouterr().out


def test_again_is_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    for _ in range(2):
        audit("import", result(vllm()))
    capsys.readouterr()
    assert len(document(capsys, "list")["imports"]) == 1


def test_a_number_that_counts_events_is_miscounted(capsys: pytest.CaptureFixture[str]) -> None:
    made = vllm(per_event=3)
    more = ", basis: output, streams: 8"
    words = ("import", result(made), "--claim", claim(made["max_output_tokens_per_s"], more=more))
    found = document(capsys, *words)["imports"][0]["beside"][0]
    assert audit(*words) == 3
    assert (found["verdict"], found["judged_on"]) == ("miscounted", "delivered/system")
    assert "max_output_tokens_per_s" in found["figures"]
    assert found["explanation"]["explained_by"] == ["peak-events/second"]


def test_of_another_model_nothing_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    made = vllm(per_event=3)
    words = ("import", result(made), "--claim", claim(made["max_output_tokens_per_s"], model="GLM-4.5"))
    assert audit(*words) == 4
    assert "not-comparable" in capsys.readouterr().out


def test_without_the_model_there_is_no_witness(capsys: pytest.CaptureFixture[str]) -> None:
    made = vllm(per_event=3) | {"model_id": None}
    more = ", basis: output, streams: 8"
    found = document(capsys, "import", result(made), "--claim", claim(made["max_output_tokens_per_s"], more=more))
    assert found["imports"][0]["beside"][0]["verdict"] == "inconclusive"


def test_the_grade_caps_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """The same number of the same tool: with its requests it is miscounted, without them that cannot be said."""
    made = vllm(per_event=3)
    details = ("input_lens", "output_lens", "ttfts", "itls", "generated_texts", "errors", "start_times")
    bare = {name: value for name, value in made.items() if name not in details}
    more = ", basis: output, streams: 8"
    found = document(capsys, "import", result(bare), "--claim", claim(made["max_output_tokens_per_s"], more=more))
    first = found["imports"][0]["beside"][0]
    assert (first["grade"], first["verdict"]) == ("aggregate", "inconclusive")
    assert "evidence of grade aggregate carries no `miscounted`" in first["sentence"]


def test_a_total_shown_without_its_label_is_unlabelled(capsys: pytest.CaptureFixture[str]) -> None:
    made = vllm(per_event=1)
    total = round(made["total_token_throughput"], 2)
    assert audit("import", result(made), "--claim", claim(total, more=", streams: 8")) == 4
    assert "unlabelled" in capsys.readouterr().out


def test_no_file_reproduces_a_claim(capsys: pytest.CaptureFixture[str]) -> None:
    made = vllm(per_event=1)
    more = ", basis: output, streams: 8"
    assert audit("import", result(made), "--claim", claim(round(made["output_throughput"], 1), more=more)) == 4
    said = " ".join(capsys.readouterr().out.split())
    assert "inconclusive" in said
    assert "only a replay can reproduce it" in said


def test_a_file_that_does_not_add_up_proves_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    made = vllm(per_event=3)
    made["output_throughput"] *= 3
    more = ", basis: output, streams: 8"
    found = document(capsys, "import", result(made), "--claim", claim(round(made["output_throughput"], 1), more=more))
    first = found["imports"][0]["beside"][0]
    assert (first["verdict"], first["sentence"]) == ("inconclusive", "the file does not add up")


def test_a_file_with_a_credential_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    audit("import", result(sglang()))
    (folder,) = Path("reports/imports").iterdir()
    assert sorted(path.name for path in folder.iterdir()) == ["import.json", "manifest.json", "requests.jsonl"]
    assert all(b"sk-not-to-be-shown" not in path.read_bytes() for path in folder.iterdir())
    assert "not kept" in capsys.readouterr().out


def test_a_folder_holds_the_parts_of_one_result(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "import", str(DATA / "aiperf" / "vllm-ngram"))
    (one,) = found["imports"]
    assert {original["part"] for original in one["originals"]} == {"records", "raw", "aggregate", "server-metrics"}
    assert found["passed_over"] == ["printed.txt: is no result file that is known"]


def test_several_files_of_one_part_are_several_results(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(document(capsys, "import", str(DATA / "vllm"))["imports"]) == len(list((DATA / "vllm").glob("*.json")))


def test_sizes_are_capped_while_reading(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door, "MAX_BYTES", 1 << 20)
    with Path("big.json").open("wb") as file:
        file.truncate(1 << 40)  # a terabyte that takes no room
    assert audit("import", "big.json") == 2
    assert "larger than 1 MiB" in capsys.readouterr().err


def test_what_is_no_file_is_refused_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    assert audit("import", "pipe") == 2
    assert audit("import", "missing.json") == 2
    assert audit("import", "/dev/zero") == 2
    Path("empty").mkdir()
    assert audit("import", "empty") == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 4
    assert all(line.startswith("audit: ") for line in said)


def test_a_folder_of_folders_is_one_result_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "import", str(DATA / "aiperf"))
    assert sorted(len(one["originals"]) for one in found["imports"]) == [3, 4, 4]


def test_one_bad_file_of_a_folder_is_named_and_the_others_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    Path("runs").mkdir()
    Path("runs/good.json").write_bytes(as_bytes(vllm()))
    Path("runs/bad.json").write_bytes(as_bytes(vllm() | {"duration": "long"}))
    found = document(capsys, "import", "runs")
    assert len(found["imports"]) == 1
    assert found["passed_over"] == ["bad.json: duration: must be a number, and is text 'long'"]
    Path("runs/good.json").unlink()
    assert audit("import", "runs") == 2
