"""GuideLLM, inference-perf, genai-bench, llmperf, llama-benchy, evalscope, Veeksha and LoadGen: the files that the tools
wrote import with the numbers that the tools printed, and what each tool counts wrong stands beside the right figure."""

import json
import re
import sqlite3
from pathlib import Path

import pytest

from auditor.core.imports.format import File
from auditor.core.imports.measured import Measured
from auditor.core.imports.quantities import quantity
from auditor.core.imports.reading import read_files
from auditor.core.imports.record import Grade, Imported, ImportFinding, Result
from auditor.errors import UsageError
from auditor.terms import Outcome, Rung

DATA = Path(__file__).resolve().parents[1] / "data" / "imports"


def read(*names: str) -> Imported:
    paths = [DATA / name for name in names]
    ((imported, _),) = read_files([File(path.name, path.read_bytes()) for path in paths])
    return imported


def one(*names: str) -> Result:
    (result,) = read(*names).results
    return result


def figures(result: Result) -> dict[str, float]:
    return {figure.name: figure.value for figure in result.figures}


def found(result: Result, identifier: str) -> dict[str | None, ImportFinding]:
    return {finding.figure: finding for finding in result.findings if finding.id == identifier}


INFERENCE_PERF = tuple(
    f"inference-perf/{name}_lifecycle_metrics.json" for name in ("per_request", "stage_0", "summary")
)
EVALSCOPE = ("evalscope/benchmark_data.db", "evalscope/benchmark_summary.json")
LLMPERF = ("llmperf/SmolLM2-135M_250_48_individual_responses.json", "llmperf/SmolLM2-135M_250_48_summary.json")
VEEKSHA = ("veeksha/request_level_metrics.jsonl", "veeksha/throughput_metrics.json", "veeksha/summary_stats.json")
REAL = (
    ("guidellm/vllm-ngram.json",), ("guidellm/llamacpp-plain.json",), ("guidellm/llamacpp-plain.yaml",),
    INFERENCE_PERF, ("genai-bench/vllm-ngram.json",), LLMPERF, EVALSCOPE, VEEKSHA,
)  # fmt: skip


@pytest.mark.parametrize("names", REAL, ids=lambda names: names[0].split("/")[0])
def test_printed_figures_follow_from_the_requests(names: tuple[str, ...]) -> None:
    result = one(*names)
    assert found(result, "figure-differs") == {}
    assert found(result, "times-out-of-order") == {}
    assert found(result, "figures-recomputed")


def server_table(text: str) -> dict[str, float]:
    """The means of GuideLLM's table of server throughput."""
    block = text[text.rindex("Server Throughput Statistics") :]
    row = next(line for line in block.splitlines() if line.startswith("| concurrent@"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    names = ("request_concurrency", "requests_per_second", "prompt_tokens_per_second", "output_tokens_per_second",
             "tokens_per_second")  # fmt: skip
    return dict(zip(names, map(float, cells[2:]), strict=True))


@pytest.mark.parametrize("name", ["vllm-ngram.json", "llamacpp-plain.json", "llamacpp-plain.yaml"])
def test_guidellms_numbers_are_those_it_printed(name: str) -> None:
    result = one(f"guidellm/{name}")
    said = server_table((DATA / "guidellm" / f"{name.partition('.')[0]}.printed.txt").read_text())
    for key, value in said.items():
        assert figures(result)[f"{key} total mean"] == pytest.approx(value, abs=0.0501), key
    assert result.grade is Grade.TIMED


def test_guidellms_yaml_says_what_its_json_says() -> None:
    as_json, as_yaml = one("guidellm/llamacpp-plain.json"), one("guidellm/llamacpp-plain.yaml")
    assert as_yaml.requests == as_json.requests
    assert figures(as_yaml) == figures(as_json)
    assert as_yaml.findings == as_json.findings


def test_guidellms_tpot_and_its_rate_of_moments_get_the_right_figures() -> None:
    wrong = found(one("guidellm/vllm-ngram.json"), "figure-mislabelled")
    tpot = wrong["time_per_output_token_ms successful mean"]
    assert (tpot.printed, tpot.right) == (pytest.approx(48.78, abs=0.01), pytest.approx(46.71, abs=0.01))
    moments = wrong["text.tokens.output_per_second total mean"]
    assert (moments.printed, moments.right) == (pytest.approx(73.63, abs=0.01), pytest.approx(40.32, abs=0.01))


def test_guidellms_statistics_without_the_requests_are_an_aggregate() -> None:
    document = json.loads((DATA / "guidellm/vllm-ngram.json").read_text())
    document["benchmarks"][0]["requests"]["successful"].pop()
    ((imported, _),) = read_files([File("cut.json", json.dumps(document).encode())])
    (result,) = imported.results
    assert (result.grade, result.requests) == (Grade.AGGREGATE, ())
    assert found(result, "figure-differs") == {}


def test_guidellms_requests_that_did_not_end_are_not_in_the_right_rate() -> None:
    document = json.loads((DATA / "guidellm/vllm-ngram.json").read_text())
    requests = document["benchmarks"][0]["requests"]
    requests["incomplete"].append(requests["successful"].pop())
    ((imported, _),) = read_files([File("cut.json", json.dumps(document).encode())])
    (result,) = imported.results
    assert (result.grade, len(Measured(result).failed)) == (Grade.TIMED, 1)
    rate = found(result, "figure-mislabelled")["output_tokens_per_second total mean"]
    assert (rate.printed, rate.right) == (pytest.approx(256 / 6.3495, rel=1e-4), pytest.approx(192 / 6.3495, rel=1e-4))
    differ = found(result, "figure-differs")
    assert [name for name in differ if name is not None and "total mean" in name] == []


def test_guidellms_warm_up_makes_no_rate_wrong() -> None:
    document = json.loads((DATA / "guidellm/vllm-ngram.json").read_text())
    benchmark = document["benchmarks"][0]
    benchmark["warmup_duration"] = 2.0
    benchmark["metrics"]["output_tokens_per_second"]["total"]["mean"] *= 1.5
    ((imported, _),) = read_files([File("warm.json", json.dumps(document).encode())])
    assert found(imported.results[0], "figure-differs") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("benchmarks: &a []\nmetadata:\n  guidellm_version: 1\nconfig: *a\n", "anchors"),
        ("benchmarks: !!python/object:os.system []\nmetadata:\n  guidellm_version: 1\n", "tags"),
        ("benchmarks: [\n  guidellm_version: 1\n", "line"),
        (f"benchmarks: {'[' * 100}{']' * 100}\nmetadata:\n  guidellm_version: 1\n", "deep"),
        ("benchmarks: []\nbenchmarks: []\nmetadata:\n  guidellm_version: 1\n", "twice"),
        ("benchmarks: []\nmetadata:\n  guidellm_version: 1\n---\nx: 1\n", "second document"),
        ("benchmarks: [{metrics: {output_tokens_per_second: {total: {mean: .nan}}}}]\nmetadata:\n"
         "  guidellm_version: 1\n", "must be a number"),
    ],
)  # fmt: skip
def test_hostile_yaml_is_one_line_of_error(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        list(read_files([File("report.yaml", text.encode())]))


def test_inference_perfs_numbers_are_those_it_printed() -> None:
    result = one(*INFERENCE_PERF)
    text = (DATA / "inference-perf/printed.txt").read_text()
    rows = [re.findall(r"[0-9.]+", line) for line in text.splitlines() if line.startswith("│     0 │")]
    mine = figures(result)
    rates = (mine["requests_per_sec"], mine["input_tokens_per_sec"], mine["output_tokens_per_sec"])
    assert rates == pytest.approx([float(cell) for cell in rows[0][4:7]], abs=0.0501)
    assert 1000 * mine["time_to_first_token mean"] == pytest.approx(float(rows[1][4]), abs=0.0501)
    assert 1000 * mine["time_per_output_token mean"] == pytest.approx(float(rows[2][1]), abs=0.0501)


def test_inference_perfs_chunks_are_counted_again_and_its_usage_is_kept() -> None:
    result = one(*INFERENCE_PERF)
    assert result.grade is Grade.RAW
    assert [request.rung for request in result.requests] == [Rung.FINAL_USAGE] * 3
    measured = Measured(result)
    assert (measured.delivered, measured.events, measured.sample.recounted.whole) == (75, 75, 74)


def test_inference_perfs_rate_is_of_text_tokenised_again() -> None:
    documents = [json.loads((DATA / name).read_text()) for name in INFERENCE_PERF]
    for request in documents[0]:
        request["info"]["response_metrics"]["server_usage"]["completion_tokens"] = 50
    files = [
        File(name, json.dumps(document).encode()) for name, document in zip(INFERENCE_PERF, documents, strict=True)
    ]
    ((imported, _),) = read_files(files)
    (result,) = imported.results
    rate = found(result, "figure-mislabelled")["output_tokens_per_sec"]
    assert (rate.printed, rate.right) == (pytest.approx(20.93, abs=0.01), pytest.approx(150 / 3.535005, rel=1e-6))


def test_inference_perfs_validator_is_heard_and_says_nothing_alone() -> None:
    warning = {"check": "x", "severity": "warning", "message": "1 request(s) <b>differ</b>"}
    told = {"global": {}, "reports": {"summary": {"warnings": [warning], "errors": []}}}
    files = [File("validation.json", json.dumps(told).encode())]
    with pytest.raises(UsageError, match="by itself"):
        list(read_files(files))
    path = DATA / INFERENCE_PERF[0]
    ((imported, _),) = read_files([*files, File(path.name, path.read_bytes())])
    assert "differ" in found(imported.results[0], "own-validator")[None].sentence


def test_genai_bench_is_read_without_a_clock() -> None:
    result = one("genai-bench/vllm-ngram.json")
    assert (result.grade, len(result.requests), result.settings.concurrency) == (Grade.UNTIMED, 5, 2)
    rate = found(result, "figure-mislabelled")["output_throughput mean"]
    assert (rate.printed, rate.right) == (pytest.approx(24.23, abs=0.01), pytest.approx(21.28, abs=0.01))


def test_genai_benchs_trimmed_tokens_over_the_time_of_all_get_the_right_rate() -> None:
    result = one("genai-bench/vllm-ngram-trimmed.json")
    rate = found(result, "trimmed-one-side")["mean_output_throughput_tokens_per_s"]
    delivered = sum(request.output_tokens or 0 for request in result.requests)
    assert result.duration_ns is not None
    assert rate.right == pytest.approx(delivered * 1e9 / result.duration_ns)
    assert rate.printed is not None
    assert rate.printed < 0.8 * rate.right
    assert found(result, "figure-differs") == {}


def test_llmperfs_numbers_are_those_it_printed() -> None:
    mine = figures(one(*LLMPERF))
    text = (DATA / "llmperf/printed.txt").read_text()
    said = dict(re.findall(r"^(\w+)\n(?:    p.*\n)+    mean = ([0-9.e-]+)", text, re.MULTILINE))
    names = ("ttft_s", "end_to_end_latency_s", "inter_token_latency_s", "request_output_throughput_token_per_s")
    for name in names:
        assert mine[f"results_{name}_mean"] == pytest.approx(float(said[name])), name
    (overall,) = re.findall(r"Overall Output Throughput: ([0-9.]+)", text)
    assert mine["results_mean_output_throughput_token_per_s"] == pytest.approx(float(overall))


def test_llmperfs_gap_holds_the_first_wait_and_counts_lines() -> None:
    result = one(*LLMPERF)
    gap = found(result, "figure-mislabelled")["results_inter_token_latency_s_mean"]
    assert (gap.printed, gap.right) == (pytest.approx(0.0918, abs=1e-4), pytest.approx(0.0326, abs=1e-4))
    assert "192 tokens came in about 101 lines" in found(result, "tokens-per-event")[None].sentence
    alone = found(one(LLMPERF[0]), "figure-mislabelled")["inter_token_latency_s mean"]
    assert (alone.printed, alone.right) == (pytest.approx(gap.printed), pytest.approx(gap.right))


def test_llama_benchys_means_are_those_of_its_values() -> None:
    for name in ("vllm-ngram.json", "llamacpp-ngram.json"):
        for result in read(f"llama-benchy/{name}").results:
            assert found(result, "figure-differs") == {}
    document = json.loads((DATA / "llama-benchy/vllm-ngram.json").read_text())
    document["benchmarks"][0]["tg_throughput"]["mean"] *= 2
    ((imported, _),) = read_files([File("changed.json", json.dumps(document).encode())])
    assert found(imported.results[0], "figure-differs")["tg_throughput"].right == pytest.approx(21.2, abs=0.01)


def test_llama_benchys_progress_gives_the_rates_that_its_report_prints() -> None:
    results = {result.name: result for result in read("llama-benchy/vllm-ngram-progress.jsonl").results}
    document = json.loads((DATA / "llama-benchy/vllm-ngram.json").read_text())
    printed = document["benchmarks"][0]["tg_throughput"]["values"]
    assert len(printed) == 2
    for run, value in enumerate(printed, 1):
        measured = Measured(results[f"pp64 tg48 depth 0, concurrency 1, run {run}"])
        assert quantity(measured, "delivered/decode", "tokens/s") == pytest.approx(value, rel=0.005)
        whole = quantity(measured, "delivered/request", "tokens/s")
        assert whole is not None
        assert whole < 0.97 * value
    assert all(result.grade is Grade.TIMED for result in results.values())


def test_llama_benchys_tables_are_read_as_printed() -> None:
    several = {result.name: result for result in read("llama-benchy/vllm-ngram.md").results}
    assert list(several) == ["pp64 (c1)", "tg48 (c1)", "pp64 (c2)", "tg48 (c2)"]
    two = several["tg48 (c2)"]
    assert (two.settings.concurrency, two.settings.model, two.settings.output_tokens) == (2, "SmolLM2-135M", 48)
    assert figures(two) == {"t/s (total)": 33.21, "t/s (req)": 19.58, "peak t/s": 40.5, "peak t/s (req)": 21.5}
    single = read("llama-benchy/vllm-ngram-one.md")
    assert (single.tool, len(single.results)) == ("llama-benchy", 4)
    assert all(result.settings.concurrency == 1 for result in single.results)
    assert [result.settings.more.get("depth") for result in single.results] == [None, None, "128", "128"]


def test_evalscopes_numbers_are_those_it_printed() -> None:
    result = one(*EVALSCOPE)
    text = (DATA / "evalscope/printed.txt").read_text()
    mine = figures(result)
    (rate,) = re.findall(r"Avg Output Rate +│ ([0-9.]+) tok/s", text)
    (total,) = re.findall(r"Total Generated +│ ([0-9.]+) tokens", text)
    assert mine["Output Throughput (tok/s)"] == pytest.approx(float(rate), abs=0.00501)
    assert Measured(result).delivered == float(total) == 192
    assert (result.grade, result.settings.model) == (Grade.TIMED, "SmolLM2-135M")


def test_evalscopes_acceptance_is_shown_beside_what_the_file_allows() -> None:
    result = one(*EVALSCOPE)
    length = found(result, "length-selected")["Avg Decoded Tok/Iter"]
    assert (length.printed, length.right) == (3.6979, pytest.approx(188 / 73))
    rate = found(result, "acceptance-estimated")["Spec. Accept Rate"]
    assert rate.right == pytest.approx(1 - 73 / 188)
    gap = found(result, "figure-mislabelled")["Avg ITL (ms)"]
    assert gap.right == pytest.approx(18.87, abs=0.2)


def database(tmp_path: Path, *statements: str) -> bytes:
    path = tmp_path / "made.db"
    with sqlite3.connect(path) as made:
        for statement in statements:
            made.execute(statement)
    made.close()
    return path.read_bytes()


RESULT = "CREATE TABLE result(start_time REAL, latency REAL, first_chunk_latency REAL, inter_token_latencies TEXT, "
RESULT += "completion_tokens INTEGER, success INTEGER, response_messages TEXT)"


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        (("CREATE TABLE result(first_chunk_latency REAL)",), "other columns"),
        (("CREATE TABLE other(first_chunk_latency REAL)",), "no table"),
        (("CREATE VIEW result AS WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n) SELECT i AS "
          "first_chunk_latency, i AS start_time, i AS latency, i AS completion_tokens, i AS success FROM n",), "no table"),
        ((RESULT, "INSERT INTO result VALUES('x', 1, 1, '[]', 3, 1, '')"), "must be a number"),
        ((RESULT, "INSERT INTO result VALUES(1, 1, 1, '[1, \"x\"]', 3, 1, '')"), "must be a number"),
        ((RESULT, "INSERT INTO result VALUES(1, 9e999, 1, '[]', 3, 1, '')"), "nothing measured"),
        ((RESULT.replace("success INTEGER", "success INTEGER AS (abs(completion_tokens)) "),
          "INSERT INTO result(start_time, latency, completion_tokens) VALUES(1, 1, 'x')"), "other columns"),
    ],
)  # fmt: skip
def test_hostile_databases_are_one_line_of_error(tmp_path: Path, statements: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        list(read_files([File("made.db", database(tmp_path, *statements))]))


def test_pickles_are_never_loaded(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    pickled = f"cos\nsystem\n(S'touch {mark}'\ntR."
    data = database(
        tmp_path,
        RESULT,
        f"INSERT INTO result VALUES(1, 2, 0.5, '[0.5]', 3, 1, '{pickled.replace(chr(39), chr(39) * 2)}')",
    )
    ((imported, _),) = read_files([File("made.db", data)])
    assert imported.results[0].requests[0].output_tokens == 3
    assert not mark.exists()
    assert b"cos" not in imported.to_json()


def test_a_database_with_a_write_ahead_log_is_read_from_its_file(tmp_path: Path) -> None:
    data = database(
        tmp_path, "PRAGMA journal_mode=WAL", RESULT, "INSERT INTO result VALUES(1, 2, 0.5, '[0.5]', 3, 1, '')"
    )
    assert data[18:20] == b"\x02\x02"
    ((imported, _),) = read_files([File("made.db", data)])
    assert len(imported.results[0].requests) == 1


@pytest.mark.parametrize("size", [4_096, 5_000, 20_000])
def test_a_cut_database_is_one_line_of_error(size: int) -> None:
    data = (DATA / EVALSCOPE[0]).read_bytes()
    with pytest.raises(UsageError, match=r"no database|no table"):
        list(read_files([File("cut.db", data[:size])]))


def test_veekshas_throughputs_are_shown_beside_the_rate() -> None:
    result = one(*VEEKSHA)
    assert (result.grade, len(result.requests), Measured(result).delivered) == (Grade.TIMED, 4, 160)
    rate = found(result, "figure-mislabelled")["tbc_based_throughput"]
    assert (rate.printed, rate.right) == (pytest.approx(3.167, abs=0.001), pytest.approx(10.59, abs=0.01))


def test_loadgens_numbers_are_those_it_printed() -> None:
    imported = read("mlperf/server/mlperf_log_summary.txt", "mlperf/server/mlperf_log_detail.txt")
    (result,) = imported.results
    detail = (DATA / "mlperf/server/mlperf_log_detail.txt").read_text()
    lines = [json.loads(line.removeprefix(":::MLLOG ")) for line in detail.splitlines()]
    said = {line["key"]: line["value"] for line in lines}
    mine = figures(result)
    assert mine["Completed tokens per second"] == pytest.approx(said["result_completed_tokens_per_second"], abs=0.00501)
    assert mine["Mean latency (ns)"] == said["result_mean_latency_ns"]
    assert imported.tool_version == said["loadgen_version"]
    assert "INVALID" in found(result, "loadgen-invalid")[None].sentence


def test_loadgens_answers_hold_the_tokens_that_are_counted() -> None:
    assert found(one("mlperf/accuracy/mlperf_log_accuracy.json"), "count-is-ids")
    document = json.loads((DATA / "mlperf/accuracy/mlperf_log_accuracy.json").read_text())
    for answer in document:
        answer["data"] += "02000000" * 2
        answer["token_count"] += 1
    ((imported, _),) = read_files([File("padded.json", json.dumps(document).encode())])
    (result,) = imported.results
    wrong = found(result, "count-is-not-ids")["token_count"]
    assert (wrong.printed, wrong.right) == (150, 156)
    assert found(result, "end-counted-twice")


def test_the_made_up_files_are_read_as_their_sources_say() -> None:
    hf = read("documented/hf-inference-benchmarker.json").results
    assert [figures(result)["token_throughput_secs"] for result in hf] == [80.0, 390.0]
    assert b"a-host-not-to-be-shown" not in read("documented/hf-inference-benchmarker.json").to_json()
    single, several = read("documented/inferencex.json").results
    both = found(single, "figure-mislabelled")["tput_per_gpu"]
    assert (both.printed, both.right, single.settings.gpus) == (2250.0, 250.0, 4)
    assert found(single, "power-invalid")
    by_decode = found(several, "figure-mislabelled")["output_tput_per_gpu"]
    assert (by_decode.printed, by_decode.right) == (pytest.approx(1000 / 12), pytest.approx(1000 / 16))
    quiet, busy = read("documented/llm-inference-bench.json").results
    assert found(quiet, "counts-differ") == {}
    assert found(busy, "counts-differ")
    assert found(busy, "streams-idle")
    score = read("documented/localscore.json").results[-1]
    assert found(score, "figure-differs")["avg_gen_tps"].right == pytest.approx(200.0)
    inferred = one("documented/mlperf_log_summary.txt")
    (finding,) = found(inferred, "tokens-inferred").values()
    assert (finding.outcome, finding.right) == (Outcome.NOT_AVAILABLE, None)
