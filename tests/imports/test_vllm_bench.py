"""vLLM's result file: what is recomputed, and the miscounts that it is known for."""

from collections.abc import Iterable
from typing import Any

import pytest
from documented import as_bytes, vllm

from auditor.core.imports.format import File
from auditor.core.imports.reading import read_files
from auditor.core.imports.record import Grade, Imported, ImportFinding
from auditor.terms import Outcome

DETAILS = ("input_lens", "output_lens", "ttfts", "itls", "generated_texts", "errors", "start_times")


def read(*values: dict[str, Any]) -> Imported:
    data = b"\n".join(map(as_bytes, values))
    ((imported, _),) = read_files([File("result.json", data)])
    return imported


def failing(findings: Iterable[ImportFinding]) -> dict[str, ImportFinding]:
    return {one.figure or one.id: one for one in findings if one.outcome is Outcome.FAILS}


def test_a_peak_below_its_mean_is_shown_with_the_right_peak() -> None:
    document = vllm(per_event=3)
    (result,) = read(document).results
    assert result.grade is Grade.TIMED
    assert document["max_output_tokens_per_s"] < document["output_throughput"]
    peak = failing(result.findings)["max_output_tokens_per_s"]
    assert peak.id == "peak-below-mean"
    assert peak.printed == document["max_output_tokens_per_s"]
    assert peak.right == pytest.approx(3 * document["max_output_tokens_per_s"], rel=0.01)


def test_the_gap_between_events_is_not_that_between_tokens() -> None:
    document = vllm(per_event=3)
    itl = failing(read(document).results[0].findings)["mean_itl_ms"]
    assert itl.right == pytest.approx(document["mean_itl_ms"] / 3, rel=1e-6)


def test_with_one_token_an_event_nothing_is_wrong() -> None:
    (result,) = read(vllm(per_event=1)).results
    assert failing(result.findings) == {}


def test_a_changed_figure_does_not_add_up() -> None:
    document = vllm(per_event=1)
    (result,) = read(document | {"output_throughput": 2 * document["output_throughput"]}).results
    found = failing(result.findings)["output_throughput"]
    assert (found.id, found.gravity) == ("figure-differs", "dirty")
    assert found.right == pytest.approx(document["output_throughput"])


def test_appended_results_are_several() -> None:
    imported = read(vllm(), vllm(seed=2), vllm(seed=3))
    assert len(imported.results) == 3


def test_without_details_the_grade_is_aggregate_and_sums_are_checked() -> None:
    document = {name: value for name, value in vllm(per_event=1).items() if name not in DETAILS}
    (result,) = read(document).results
    assert (result.grade, len(result.requests)) == (Grade.AGGREGATE, 0)
    (broken,) = read(document | {"total_token_throughput": 1.0}).results
    assert "total_token_throughput" in failing(broken.findings)
