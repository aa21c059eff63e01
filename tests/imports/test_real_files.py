"""Files that the tools really wrote import with the numbers that the tools printed."""

import re
from pathlib import Path

import pytest

from auditor.core.imports.format import File
from auditor.core.imports.reading import read_files
from auditor.core.imports.record import Grade, Imported, Result
from auditor.terms import Outcome

DATA = Path(__file__).resolve().parents[1] / "data" / "imports"
VLLM = {
    "Successful requests": "completed",
    "Total input tokens": "total_input_tokens",
    "Total generated tokens": "total_output_tokens",
    "Request throughput (req/s)": "request_throughput",
    "Output token throughput (tok/s)": "output_throughput",
    "Peak output token throughput (tok/s)": "max_output_tokens_per_s",
    "Total token throughput (tok/s)": "total_token_throughput",
    "Mean TTFT (ms)": "mean_ttft_ms",
    "Mean TPOT (ms)": "mean_tpot_ms",
    "Mean ITL (ms)": "mean_itl_ms",
    "P99 ITL (ms)": "p99_itl_ms",
    "Acceptance rate (%)": "spec_decode_acceptance_rate",
    "Acceptance length": "spec_decode_acceptance_length",
}
SGLANG = {
    "Successful requests": "completed",
    "Total input tokens": "total_input_tokens",
    "Total generated tokens": "total_output_tokens",
    "Total generated tokens (retokenized)": "total_output_tokens_retokenized",
    "Request throughput (req/s)": "request_throughput",
    "Output token throughput (tok/s)": "output_throughput",
    "Peak output token throughput (tok/s)": "max_output_tokens_per_s",
    "Total token throughput (tok/s)": "total_throughput",
    "Concurrency": "concurrency",
    "Mean TTFT (ms)": "mean_ttft_ms",
    "Mean TPOT (ms)": "mean_tpot_ms",
    "P99 ITL (ms)": "p99_itl_ms",
}
AIPERF = {
    "Output Token Throughput (tokens/sec)": "output_token_throughput",
    "Total Token Throughput (tokens/sec)": "total_token_throughput",
    "Request Throughput (requests/sec)": "request_throughput",
    "Time to First Token (ms)": "time_to_first_token avg",
    "Inter Token Latency (ms)": "inter_token_latency avg",
    "Inter Chunk Latency (ms)": "inter_chunk_latency avg",
    "Request Latency (ms)": "request_latency avg",
}


def read(*paths: Path) -> Imported:
    ((imported, _),) = read_files([File(path.name, path.read_bytes()) for path in paths])
    return imported


def figures(result: Result) -> dict[str, float]:
    return {one.name: one.value for one in result.figures}


def printed_in_blocks(path: Path) -> list[dict[str, float]]:
    """The figures of each block that the tool printed."""
    blocks = re.split(r"=+ Serving Benchmark Result =+", path.read_text())[1:]
    line = re.compile(r"^(.+?):\s+([0-9.]+)\s*$", re.MULTILINE)
    return [{name.strip(): float(value) for name, value in line.findall(block)} for block in blocks]


@pytest.mark.parametrize("path", sorted((DATA / "vllm").glob("*.json")), ids=lambda path: path.stem)
def test_vllms_numbers_are_those_it_printed(path: Path) -> None:
    printed = printed_in_blocks(path.with_suffix(".printed.txt"))
    results = read(path).results
    assert len(printed) == len(results)
    for said, result in zip(printed, results, strict=True):
        known = {label: name for label, name in VLLM.items() if label in said}
        assert len(known) >= 10
        for label, name in known.items():
            assert figures(result)[name] == pytest.approx(said[label], abs=0.00501), label


@pytest.mark.parametrize("path", sorted((DATA / "vllm").glob("*.json")), ids=lambda path: path.stem)
def test_vllms_figures_follow_from_its_own_requests(path: Path) -> None:
    for result in read(path).results:
        assert [found for found in result.findings if found.id == "figure-differs"] == []
        assert [found for found in result.findings if found.id == "figures-recomputed"]


def test_vllms_real_peak_below_its_mean_is_shown_with_the_right_one() -> None:
    (result,) = read(DATA / "vllm" / "ngram-detailed.json").results
    (peak,) = [found for found in result.findings if found.id == "peak-below-mean"]
    assert (peak.printed, result.grade) == (50.0, Grade.TIMED)
    assert figures(result)["output_throughput"] > 100
    assert peak.right is not None
    assert peak.right > figures(result)["output_throughput"]


def test_the_drafts_of_a_vllm_run_are_read() -> None:
    (result,) = read(DATA / "vllm" / "ngram-detailed.json").results
    assert result.drafts is not None
    assert (result.drafts.verify_steps, result.drafts.drafted, result.drafts.accepted) == (111, 444, 338)


def printed_by_aiperf(path: Path) -> dict[str, float]:
    """The averages of the tables, by the name of the metric; names that go on in the next line are joined."""
    found: dict[str, float] = {}
    for line in path.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("│┃ ").split("│")]
        value = cells[1].replace(",", "") if len(cells) > 2 else ""
        if re.fullmatch(r"[0-9.]+", value):
            found.setdefault(cells[0], float(value))
    return found


@pytest.mark.parametrize("folder", sorted(path for path in (DATA / "aiperf").iterdir()), ids=lambda path: path.name)
def test_aiperfs_numbers_are_those_it_printed(folder: Path) -> None:
    said = printed_by_aiperf(folder / "printed.txt")
    paths = [path for path in sorted(folder.iterdir()) if path.suffix != ".txt"]
    imported = read(*paths)
    (result,) = imported.results
    assert imported.tool_version == "0.13.0"
    known = {label: name for label, name in AIPERF.items() if label in said}
    assert len(known) >= 4
    for label, name in known.items():
        assert figures(result)[name] == pytest.approx(said[label], abs=0.00501), label
    assert [found for found in result.findings if found.id == "figure-differs"] == []


def test_aiperfs_own_count_and_the_servers_usage_are_both_kept() -> None:
    folder = DATA / "aiperf" / "vllm-ngram"
    (result,) = read(folder / "profile_export.jsonl", folder / "profile_export_raw.jsonl").results
    (differ,) = [found for found in result.findings if found.id == "counts-differ"]
    assert "192" in differ.sentence
    assert "188" in differ.sentence
    assert result.grade is Grade.RAW


def test_each_part_of_aiperf_can_stand_alone_or_says_why_not() -> None:
    folder = DATA / "aiperf" / "vllm-ngram"
    grades = {name: read(folder / name).results[0].grade for name in (
        "profile_export.jsonl", "profile_export_raw.jsonl", "profile_export_aiperf.json")}  # fmt: skip
    assert list(grades.values()) == [Grade.TIMED, Grade.RAW, Grade.AGGREGATE]


def test_warm_ups_are_left_out() -> None:
    folder = DATA / "aiperf" / "vllm-chat-usage"
    imported = read(folder / "profile_export.jsonl")
    assert len(imported.results[0].requests) == 4
    assert "warm-up" in imported.notes[0]


def test_no_finding_of_a_real_file_is_an_error() -> None:
    for path in sorted((DATA / "vllm").glob("*.json")):
        assert all(found.outcome is not Outcome.ERROR for result in read(path).results for found in result.findings)


def test_llama_benchs_published_table_is_read_whole() -> None:
    imported = read(DATA / "llama-bench" / "dgx-spark-gpt-oss-20b.txt")
    rates = {one.name: figures(one)["avg_ts"] for one in imported.results}
    assert rates["pp2048"] == 4505.82
    assert rates["tg32 @ d32768"] == 61.65
    assert (len(rates), imported.tool_version) == (10, "build 7941 (11fb327bf)")


def test_batched_benchs_published_rates_follow_from_its_times() -> None:
    results = read(DATA / "llama-batched-bench" / "dgx-spark-gpt-oss-20b.txt").results
    assert [(one.settings.concurrency, figures(one)["speed_tg"]) for one in results][-1] == (32, 681.49)
    assert [found for one in results for found in one.findings if found.id == "figure-differs"] == []


@pytest.mark.parametrize("path", sorted((DATA / "sglang").glob("*.jsonl")), ids=lambda path: path.stem)
def test_sglangs_numbers_are_those_it_printed(path: Path) -> None:
    (said,) = printed_in_blocks(path.with_suffix(".printed.txt"))
    (result,) = read(path).results
    for label, name in SGLANG.items():
        assert figures(result)[name] == pytest.approx(said[label], abs=0.00501), label
    assert [found for found in result.findings if found.id == "figure-differs"] == []


def test_answers_that_stopped_early_are_credited_by_sglang_with_the_length_asked_for() -> None:
    (result,) = read(DATA / "sglang" / "oai-chat-stopped.jsonl").results
    wrong = {
        found.figure: (found.printed, found.right) for found in result.findings if found.id == "figure-mislabelled"
    }
    assert wrong["total_output_tokens"] == (288, 221)
    assert wrong["output_throughput"] == (pytest.approx(18.56, abs=0.005), pytest.approx(14.246, abs=0.005))
    assert result.duration_ns is not None


def test_sglang_gives_gaps_by_event_on_a_vllm_backend() -> None:
    (result,) = read(DATA / "sglang" / "vllm-details.jsonl").results
    (itl,) = [found for found in result.findings if found.figure == "mean_itl_ms"]
    assert itl.right == pytest.approx(figures(result)["mean_tpot_ms"], rel=0.01)
    assert itl.printed is not None
    assert itl.printed > 2 * figures(result)["mean_tpot_ms"]
