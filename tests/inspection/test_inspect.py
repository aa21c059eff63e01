"""Honest recordings fit; each kind of tampering, made by changing a real one, is found, or is said not to be."""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from auditor.audit import judge_folder
from auditor.cli import main
from auditor.core.claim.claim import parse_claim
from auditor.core.folder import LEDGER, WIRE
from auditor.core.imports.format import File
from auditor.core.imports.reading import read_files
from auditor.core.imports.record import Imported
from auditor.core.inspection.inspect import Known, inspect
from auditor.core.inspection.record import Inspection
from auditor.errors import UsageError
from auditor.review.inspecting import inspect_path

DATA = Path(__file__).resolve().parents[1] / "data"
NOW = 1_800_000_000 * 10**9
KNOWN = Known(now_ns=NOW)
CLAIM = """\
schema: 1
id: bound
title: Bound
hardware: {gpu: rtx-pro-6000-blackwell, count: 4}
model: {id: qwen3.5-397b-a17b, quantisation: NVFP4}
reported: {value: 50, streams: 1}
"""
Change = Callable[[dict[str, Any]], None]


def imported(change: Change | None = None) -> Imported:
    """A real file of vLLM's bench, changed."""
    data = json.loads((DATA / "imports" / "vllm" / "ngram-detailed.json").read_text())
    if change:
        change(data)
    ((read, _),) = read_files([File("result.json", json.dumps(data).encode())])
    return read


def vllm(change: Change | None = None, known: Known = KNOWN) -> dict[str, str]:
    """What is found in it: strength by id."""
    return strengths(inspect(imported(change), known))


def strengths(found: Inspection) -> dict[str, str]:
    return {one.id: one.strength for _, one in found.all_found}


def every_gap(change: Callable[[float], float]) -> Change:
    def changed(data: dict[str, Any]) -> None:
        data["itls"] = [[change(gap) for gap in gaps] for gaps in data["itls"]]

    return changed


def test_honest_files_hold_nothing_odd_and_no_contradiction() -> None:
    looked = gaps = 0
    for path in sorted((DATA / "imports").rglob("*")):
        if not path.is_file() or "documented" in path.parts or path.name == "README.md":
            continue
        try:
            found, _ = inspect_path(str(path), KNOWN)
        except UsageError:
            continue
        for one in found:
            assert set(strengths(one).values()) <= {"note"}, path
            looked += len(one.results)
            gaps += sum(result.gaps >= 30 for result in one.results)
    assert looked >= 45
    assert gaps >= 15


@pytest.mark.parametrize("run", ["draft", "ngram", "telemetry"])
def test_honest_wire_logs_of_a_real_server_hold_nothing_odd(run: str) -> None:
    (found,), _ = inspect_path(str(DATA / "h200" / run / WIRE), KNOWN)
    assert set(strengths(found).values()) <= {"note"}


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (every_gap(lambda gap: round(gap, 2) or 0.01), "gaps-round"),
        (every_gap(lambda gap: 0.0394), "gaps-even"),
        (lambda data: data["itls"].__setitem__(1, data["itls"][0]), "gaps-copied"),
    ],
)
def test_gaps_that_were_made_up_are_odd(change: Change, found: str) -> None:
    assert found not in vllm()
    assert vllm(change)[found] == "odd"


def test_a_table_without_times_finer_than_hundredths_is_odd() -> None:
    (result,) = imported().results
    rows = ["request,t_s,tokens"]
    for number, one in enumerate(result.requests):
        rows += [f"{number},{at / 1e9 + number:.2f},1" for at in one.events_ns or ()]
    ((table, _),) = read_files([File("times.csv", "\n".join(rows).encode())])
    assert strengths(inspect(table, KNOWN))["clock-coarse"] == "odd"


def double(data: dict[str, Any]) -> None:
    data["output_lens"] = [2 * length for length in data["output_lens"]]


def backwards(data: dict[str, Any]) -> None:
    data["itls"][0][3] = -0.5


def accept_more(data: dict[str, Any]) -> None:
    data["spec_decode_accepted_tokens"] = 10 * data["spec_decode_draft_tokens"]


@pytest.mark.parametrize(
    ("change", "found"), [(double, "figure-differs"), (accept_more, "drafts-impossible")]
)  # fmt: skip
def test_counts_and_times_that_cannot_be_are_contradictions(change: Change, found: str) -> None:
    assert found not in vllm()
    assert vllm(change)[found] == "contradiction"


def test_a_gap_below_zero_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 0"):
        vllm(backwards)


def test_texts_that_are_another_length_or_a_copy_are_found() -> None:
    def copied(data: dict[str, Any]) -> None:
        data["generated_texts"] = [data["generated_texts"][0]] * len(data["generated_texts"])
        data["output_lens"][0] -= 5

    counted = replace(KNOWN, count=lambda text: len(text) // 40, tokenizer="another")
    assert vllm(known=counted)["text-against-count"] == "odd"
    assert "text-against-count" not in vllm()
    found = vllm(copied)
    assert (found["text-repeated"], found["text-counted-twice"]) == ("note", "odd")


def test_times_after_now_and_after_the_file_are_found() -> None:
    path = DATA / "imports" / "aiperf" / "plain" / "profile_export.jsonl"
    ((aiperf, _),) = read_files([File("profile_export.jsonl", path.read_bytes())])
    begun = min(one.send_ns or 0 for one in aiperf.results[0].requests)
    week = 7 * 86_400 * 10**9
    assert strengths(inspect(aiperf, Known(begun - week)))["future"] == "contradiction"
    assert strengths(inspect(aiperf, Known(begun + week, dated_ns=begun - week)))["after-file"] == "odd"
    assert not {"future", "after-file"} & set(strengths(inspect(aiperf, Known(begun + week, dated_ns=begun + week))))


def test_a_rate_above_the_hard_bound_of_the_claim_is_a_contradiction() -> None:
    def faster(data: dict[str, Any]) -> None:
        for name in ("itls", "ttfts"):
            data[name] = [[gap / 1e4 for gap in one] if isinstance(one, list) else one / 1e4 for one in data[name]]
        data["duration"] /= 1e4
        data["start_times"] = [at / 1e4 for at in data["start_times"]]

    known = replace(KNOWN, case=parse_claim(CLAIM, "bound.yaml").case(None))
    assert "above-bound" not in vllm(known=known)
    assert vllm(faster, known)["above-bound"] == "contradiction"


def test_what_is_made_with_a_plausible_jitter_is_not_found() -> None:
    """Stated in docs/inspect.md: gaps drawn anew with the spread and the tail of real ones pass."""
    chance = random.Random(7)

    def drawn(data: dict[str, Any]) -> None:
        pool = [gap for gaps in data["itls"] for gap in gaps]
        data["itls"] = [[chance.choice(pool) * chance.uniform(0.98, 1.02) for _ in gaps] for gaps in data["itls"]]

    assert not [name for name in vllm(drawn) if name.startswith("gaps-")]


def test_a_run_whose_ledger_was_changed_does_not_fit(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(DATA / "h200" / "ngram", folder)
    judge_folder(folder)
    (found,), _ = inspect_path(str(folder), KNOWN)
    assert set(strengths(found).values()) <= {"note"}
    ledger = json.loads((folder / LEDGER).read_text())
    ledger["exchanges"][0]["tally"]["delivered"] += 500
    ledger["cells"][0]["tally"]["delivered"] += 500
    (folder / LEDGER).write_text(json.dumps(ledger))
    (found,), _ = inspect_path(str(folder), KNOWN)
    expected = dict.fromkeys(("changed-since", "ledger-against-wire", "identity"), "contradiction")
    assert {name: strength for name, strength in strengths(found).items() if strength != "note"} == expected


def test_the_command_prints_each_with_its_strength(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    data = json.loads((DATA / "imports" / "vllm" / "ngram-detailed.json").read_text())
    every_gap(lambda gap: 0.0394)(data)
    path = tmp_path / "made.json"
    path.write_text(json.dumps(data))
    for more in ((), ("--json",)):
        with pytest.raises(SystemExit) as ended:
            main(["inspect", str(path), *more])
        assert not ended.value.code
        said = capsys.readouterr().out
        assert "gaps lies within 0 % of the median" in " ".join(said.split())
    (found,) = json.loads(said)["inspections"]
    assert {"gaps-even", "figure-differs"} <= {one["id"] for one in found["results"][0]["found"]}
    with pytest.raises(SystemExit) as ended:
        main(["inspect", str(tmp_path / "none.json")])
    assert ended.value.code == 2
