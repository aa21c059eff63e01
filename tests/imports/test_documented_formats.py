"""Formats whose tools cannot be run here, from files in the documented shape (docs/import.md marks them)."""

import json
from collections.abc import Iterable

import pytest
from documented import (
    LLAMA_BATCHED_MD,
    LLAMA_BENCH_MD,
    TABLE_CSV,
    as_bytes,
    genai_perf,
    llama_batched,
    llama_bench,
    llama_bench_sql,
    sglang,
    sglang_steady,
)

from auditor.core.imports.format import File
from auditor.core.imports.measured import Measured
from auditor.core.imports.quantities import quantity
from auditor.core.imports.reading import read_files
from auditor.core.imports.record import Grade, Imported, ImportFinding, Result
from auditor.errors import UsageError
from auditor.terms import Outcome, Rung


def read(data: bytes | str) -> Imported:
    ((imported, _),) = read_files([File("file", data if isinstance(data, bytes) else data.encode())])
    return imported


def one(data: bytes | str) -> Result:
    (result,) = read(data).results
    return result


def failing(findings: Iterable[ImportFinding], identifier: str) -> list[ImportFinding]:
    return [found for found in findings if found.outcome is Outcome.FAILS and found.id == identifier]


def test_sglangs_requested_length_is_shown_beside_what_the_text_holds() -> None:
    result = one(as_bytes(sglang(delivered=8, requested=1024)))
    total, rate = failing(result.findings, "figure-mislabelled")
    assert (total.figure, total.printed, total.right) == ("total_output_tokens", 4096, 32)
    assert (rate.figure, rate.printed, rate.right) == ("output_throughput", 409.6, pytest.approx(3.2))
    assert result.grade is Grade.UNTIMED
    assert "requested length" in result.counted_by
    assert failing(result.findings, "figure-differs") == []


def test_sglangs_counts_stand_where_the_text_agrees() -> None:
    result = one(as_bytes(sglang(delivered=1000, requested=1024)))
    assert Measured(result).delivered == 4096
    assert failing(result.findings, "counts-differ")


def test_sglangs_server_info_is_not_taken_in() -> None:
    imported = read(as_bytes(sglang()))
    assert imported.results[0].settings.model == "test-7b"
    assert imported.results[0].settings.gpus == 2
    assert b"sk-not-to-be-shown" not in imported.to_json()


def test_sglangs_gaps_are_spread_over_tokens_on_native_backends() -> None:
    native = one(as_bytes(sglang(backend="sglang")))
    assert all(request.events_ns is None for request in native.requests)
    chunked = one(as_bytes(sglang(backend="vllm-chat")))
    assert {figure.quantity for figure in chunked.figures if figure.name == "mean_itl_ms"} == {"icl:mean"}
    assert failing(chunked.findings, "figure-mislabelled")


def test_sglangs_steady_state_window_is_an_aggregate_whose_rate_is_checked() -> None:
    result = one(as_bytes(sglang_steady()))
    assert result.grade is Grade.AGGREGATE
    assert failing(result.findings, "figure-differs") == []
    assert failing(one(as_bytes(sglang_steady() | {"output_throughput": 130.0})).findings, "figure-differs")


def test_genai_perfs_responses_are_counted_again() -> None:
    result = one(as_bytes(genai_perf(requests=3, events=20)))
    assert [(r.output_tokens, r.rung, r.ttft_ns) for r in result.requests] == [(20, Rung.FINAL_USAGE, 10**8)] * 3
    assert result.grade is Grade.RAW
    assert quantity(Measured(result), "delivered/decode", "tokens/s") == pytest.approx(100.0)


def test_llama_bench_is_read_in_each_of_its_forms() -> None:
    row = llama_bench(rate=50.0)
    lines = "\n".join(json.dumps(one) for one in (row, row))
    for data in (as_bytes([row]), lines, llama_bench_sql()):
        result = read(data).results[0]
        assert {f.name: f.value for f in result.figures}["avg_ts"] == 50.0
        assert result.settings.output_tokens == 128
        assert failing(result.findings, "figure-differs") == []
    prompt, generated = read(LLAMA_BENCH_MD).results
    assert (prompt.name, generated.name) == ("pp512", "tg128 @ d4096")
    assert generated.figures[0].value == 131.42


def test_llama_benchs_repetitions_are_recomputed() -> None:
    row = llama_bench() | {"avg_ns": 1}
    assert failing(one(as_bytes([row])).findings, "figure-differs")[0].figure == "avg_ns"


def test_batched_bench_sums_are_checked_and_told_from_one_stream() -> None:
    result = one(as_bytes(llama_batched()))
    assert failing(result.findings, "figure-differs") == []
    assert {f.name: f.quantity for f in result.figures}["speed_tg"] == "span/system"
    wrong = one(as_bytes(llama_batched() | {"speed_tg": 2048.0}))
    assert failing(wrong.findings, "figure-differs")[0].right == 256.0
    assert one(LLAMA_BATCHED_MD).figures[1].value == 41.57


def test_a_table_with_tokens_gives_rates() -> None:
    result = one(TABLE_CSV)
    assert result.requests[0].output_tokens == 30
    assert quantity(Measured(result), "delivered/decode", "tokens/s") == pytest.approx(27 / 0.18)


def test_a_table_of_bare_times_counts_events_and_says_so() -> None:
    result = one("request,t_s,text\n" + "".join(f"a,{n / 10},x\n" for n in range(10)))
    assert failing(result.findings, "events-for-tokens")


def test_a_table_whose_unit_is_not_told_is_refused() -> None:
    with pytest.raises(UsageError, match="unit"):
        read("request,time,text\na,17,x\n")


def aiperf_record(number: int) -> dict[str, object]:
    """A record of one request, without its raw responses."""
    start = 1_796_134_000_000_000_000 + number * 10**9
    meta = {
        "credit_issued_ns": start,
        "request_start_ns": start,
        "x_request_id": str(number),
        "benchmark_phase": "profiling",
    }
    values = {"time_to_first_token": 100.0, "inter_chunk_latency": [20.0] * 9, "request_latency": 280.0}
    metrics = {name: {"value": value, "unit": "ms"} for name, value in values.items()}
    return {"metadata": meta, "metrics": {**metrics, "output_sequence_length": {"value": 30, "unit": "tokens"}}}


def test_aiperfs_scrapes_and_telemetry_tell_drafts_and_gpus() -> None:
    names = ("vllm:spec_decode_num_drafts", "vllm:spec_decode_num_draft_tokens", "vllm:spec_decode_num_accepted_tokens")
    scrapes = [
        {"endpoint_url": "u", "timestamp_ns": at, "endpoint_latency_ns": 1, "benchmark_phase": phase,
         "metrics": {name: [{"labels": {"engine": "0"}, "value": value * (index + 1)}] for index, name in enumerate(names)}}
        for at, phase, value in ((1, "warmup", 0), (2, "profiling", 5), (3, "profiling", 25))
    ]  # fmt: skip
    telemetry = [
        {"timestamp_ns": 1, "gpu_uuid": f"GPU-{n}", "telemetry_data": {"nvidia_power_usage": 300.0}} for n in (0, 1, 0)
    ]
    files = {"records": [aiperf_record(n) for n in range(3)], "scrapes": scrapes, "telemetry": telemetry}
    data = [File(name, "\n".join(map(json.dumps, lines)).encode()) for name, lines in files.items()]
    ((imported, _),) = read_files(data)
    (result,) = imported.results
    assert result.drafts is not None
    assert (result.drafts.verify_steps, result.drafts.drafted, result.drafts.accepted) == (20, 40, 60)
    assert failing(result.findings, "drafts-impossible")  # more accepted than drafted, as made up
    assert result.settings.gpus == 2
    assert quantity(Measured(result), "delivered/decode", "tokens/s") == pytest.approx(29 / 0.18)
