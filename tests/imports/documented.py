"""Result files in the shape that a tool's source documents, for tools that cannot be run here. Made up, and marked so."""

import json
import random
from collections import Counter
from typing import Any


def vllm(requests: int = 8, *, per_event: int = 3, events: int = 201, seed: int = 1) -> dict[str, Any]:
    """`vllm bench serve --save-detailed`: each request gets one token first, then `per_event` tokens an event."""
    rng = random.Random(seed)
    starts = [1000 + i * 0.01 for i in range(requests)]
    ttfts = [0.1 + rng.random() * 0.01 for _ in range(requests)]
    itls = [[0.02 + rng.random() * 0.001 for _ in range(events - 1)] for _ in range(requests)]
    outs = [1 + (events - 1) * per_event] * requests
    seconds: Counter[int] = Counter()
    for start, ttft, gaps in zip(starts, ttfts, itls, strict=True):
        at = start + ttft
        seconds[int(at - starts[0])] += 1
        for gap in gaps:
            at += gap
            seconds[int(at - starts[0])] += 1
    duration = max(s + t + sum(g) for s, t, g in zip(starts, ttfts, itls, strict=True)) - starts[0] + 0.001
    tokens, prompts = sum(outs), requests * 100
    pooled = [gap for gaps in itls for gap in gaps]
    tpots = [sum(gaps) / (out - 1) for gaps, out in zip(itls, outs, strict=True)]
    return {
        "date": "20261201-100000", "endpoint_type": "openai-chat", "backend": "openai-chat", "label": None,
        "model_id": "test-7b", "tokenizer_id": "test-7b", "num_prompts": requests, "request_rate": "inf",
        "burstiness": 1.0, "max_concurrency": requests, "duration": duration, "completed": requests, "failed": 0,
        "total_input_tokens": prompts, "total_output_tokens": tokens, "request_throughput": requests / duration,
        "output_throughput": tokens / duration, "total_token_throughput": (tokens + prompts) / duration,
        "max_output_tokens_per_s": float(max(seconds.values())), "max_concurrent_requests": requests,
        "mean_ttft_ms": 1000 * sum(ttfts) / requests, "mean_itl_ms": 1000 * sum(pooled) / len(pooled),
        "mean_tpot_ms": 1000 * sum(tpots) / requests, "input_lens": [100] * requests, "output_lens": outs,
        "start_times": starts, "ttfts": ttfts, "itls": itls, "generated_texts": ["x"] * requests,
        "errors": [""] * requests,
    }  # fmt: skip


def as_bytes(value: Any) -> bytes:
    """JSON as Python writes it."""
    return json.dumps(value).encode()


def sglang(*, backend: str = "sglang-oai-chat", delivered: int = 8, requested: int = 1024) -> dict[str, Any]:
    """`sglang.bench_serving --output-details` on an OpenAI backend: 4 requests, of which the text holds `delivered`."""
    count, duration = 4, 10.0
    return {
        "tag": None, "backend": backend, "dataset_name": "random", "request_rate": float("inf"), "max_concurrency": 4,
        "sharegpt_output_len": None, "random_input_len": 64, "random_output_len": requested, "random_range_ratio": 1.0,
        "server_info": {"model_path": "test-7b", "tp_size": 2, "api_key": "sk-not-to-be-shown-anywhere-at-all"},
        "duration": duration, "completed": count, "total_input_tokens": 64 * count,
        "total_output_tokens": requested * count, "total_output_tokens_retokenized": delivered * count,
        "request_throughput": count / duration, "input_throughput": 64 * count / duration,
        "output_throughput": requested * count / duration, "total_throughput": (64 + requested) * count / duration,
        "mean_e2e_latency_ms": 500.0, "mean_ttft_ms": 100.0, "mean_tpot_ms": 4.0, "mean_itl_ms": 50.0,
        "concurrency": 0.2, "accept_length": None, "max_output_tokens_per_s": 8.0, "max_concurrent_requests": 4,
        "input_lens": [64] * count, "output_lens": [requested] * count, "ttfts": [0.1] * count,
        "itls": [[0.05] * (delivered - 1)] * count, "generated_texts": ["x y"] * count, "errors": [""] * count,
    }  # fmt: skip


def sglang_steady() -> dict[str, Any]:
    """A line of SGLang's steady-state tool."""
    return {
        "concurrency_ratio": 0.9, "window_start": 1.0, "window_end": 9.0, "duration": 8.0, "concurrency_threshold": 3,
        "completed": 4, "total_input": 256, "input_throughput": 32.0, "total_output": 800,
        "total_output_retokenized": 792, "output_throughput": 100.0, "output_throughput_retokenized": 99.0,
        "average_concurrency": 3.9, "peak_concurrency": 4, "peak_output_throughput": 120.0,
    }  # fmt: skip


def genai_perf(requests: int = 3, events: int = 20) -> dict[str, Any]:
    """GenAI-Perf's `profile_export.json`: each response is an event of one token, the last the usage of all."""
    made = []
    for number in range(requests):
        start = 1_796_134_000_000_000_000 + number * 10**9
        bodies = [
            f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': f' w{n}'}}]})}\n\n"
            for n in range(events)
        ]
        usage = {"choices": [], "usage": {"completion_tokens": events, "prompt_tokens": 7}}
        bodies += [f"data: {json.dumps(usage)}\n\n", "data: [DONE]\n\n"]
        made.append({
            "timestamp": start,
            "request_inputs": {"payload": json.dumps({"model": "test-7b", "max_tokens": 32, "stream": True})},
            "response_timestamps": [start + 10**8 + n * 10**7 for n in range(len(bodies))],
            "response_outputs": [{"response": body} for body in bodies],
        })  # fmt: skip
    experiment = {"experiment": {"mode": "concurrency", "value": 1}, "requests": made}
    return {
        "experiments": [experiment],
        "version": "2.59.0",
        "service_kind": "openai",
        "endpoint": "v1/chat/completions",
    }


def llama_bench(*, prompt: int = 0, generated: int = 128, rate: float = 50.0) -> dict[str, Any]:
    """A row of `llama-bench -o json`: three repetitions of one duration."""
    time = round((prompt + generated) * 1e9 / rate)
    return {
        "build_commit": "b1234ab", "build_number": 9123, "cpu_info": "CPU", "gpu_info": "GPU", "backends": "CUDA",
        "model_filename": "models/test-7b.gguf", "model_type": "test 7B Q4_0", "model_size": 4 << 30,
        "model_n_params": 7 * 10**9, "n_batch": 2048, "n_gpu_layers": 99, "flash_attn": True, "n_prompt": prompt,
        "n_gen": generated, "n_depth": 0, "test_time": "2026-12-01T10:00:00Z", "avg_ns": time, "stddev_ns": 0,
        "avg_ts": rate, "stddev_ts": 0.0, "samples_ns": [time] * 3, "samples_ts": [rate] * 3,
    }  # fmt: skip


def llama_bench_sql() -> str:
    """`llama-bench -o sql`: every value is quoted."""
    row = {name: value for name, value in llama_bench().items() if not name.startswith("samples")}
    values = ", ".join(f"'{value}'" for value in row.values())
    return f"CREATE TABLE IF NOT EXISTS llama_bench (\n  n_gen INTEGER\n);\n\nINSERT INTO llama_bench ({', '.join(row)}) VALUES ({values});\n"


LLAMA_BENCH_MD = """\
| model                          |       size |     params | backend    | ngl |            test |                  t/s |
| ------------------------------ | ---------: | ---------: | ---------- | --: | --------------: | -------------------: |
| test 7B Q4_0                   |   3.56 GiB |     6.74 B | CUDA       |  99 |           pp512 |      2368.80 ± 93.24 |
| test 7B Q4_0                   |   3.56 GiB |     6.74 B | CUDA       |  99 |   tg128 @ d4096 |        131.42 ± 0.59 |

build: b1234ab (9123)
"""
"""`llama-bench -o md`, which is the default."""


def llama_batched() -> dict[str, Any]:
    """A row of `llama-batched-bench --output-format jsonl`."""
    return {
        "n_kv_max": 4096, "n_batch": 2048, "n_ubatch": 512, "flash_attn": 1, "is_pp_shared": 0, "n_gpu_layers": 99,
        "n_threads": 8, "n_threads_batch": 8, "pp": 128, "tg": 128, "pl": 8, "n_kv": 2048, "t_pp": 0.5,
        "speed_pp": 2048.0, "t_tg": 4.0, "speed_tg": 256.0, "t": 4.5, "speed": 455.111111,
    }  # fmt: skip


LLAMA_BATCHED_MD = """\
|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
|   128 |    128 |    1 |    256 |    0.108 |  1186.64 |    3.079 |    41.57 |    3.187 |    80.32 |
"""
"""The table of `llama-batched-bench`."""

TABLE_CSV = "request,event,t_ms,tokens\na,send,0,\n" + "".join(f"a,token,{100 + 20 * n},3\n" for n in range(10))
"""A table of timestamps: one request of ten events, three tokens each."""

DOCUMENTED: dict[str, bytes] = {
    "sglang-bench": as_bytes(sglang()),
    "sglang-steady": as_bytes(sglang_steady()),
    "vllm-bench": as_bytes(vllm(4, events=20)),
    "genai-perf": as_bytes(genai_perf()),
    "llama-bench": as_bytes([llama_bench(), llama_bench(prompt=512, generated=0, rate=2000.0)]),
    "llama-bench-sql": llama_bench_sql().encode(),
    "llama-bench-md": LLAMA_BENCH_MD.encode(),
    "llama-batched-bench": as_bytes(llama_batched()),
    "llama-batched-bench-md": LLAMA_BATCHED_MD.encode(),
    "table": TABLE_CSV.encode(),
}
"""A small file in the documented shape of each, by its name."""
