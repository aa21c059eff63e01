"""One line of every documented shape, with where it is from, and what must be read out of it.

`source` names a public thread where the line was printed by a real server, or the source file and release whose format
string the line was built from ("not seen live").
"""

import json
from typing import NamedTuple

import pytest

from auditor.core.enginelogs import Artefact, Interval, LogReader, LogReading

ARTEFACT = Artefact(name="log", sha256="0" * 64, size=0)


class Shape(NamedTuple):
    engine: str
    source: str
    text: str
    expected: dict[str, object]


SHAPES = [
    Shape(
        "vllm",
        "vLLM V0, tenstorrent/tt-inference-server#246",
        "INFO 05-28 19:14:32 [metrics.py:536] Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 414.0 tokens/s,"
        " Running: 23 reqs, Swapped: 0 reqs, Pending: 4 reqs, GPU KV cache usage: 54.7%, CPU KV cache usage: 0.0%.",
        {"delivered_rate": "414.0", "prompt_rate": "0.0", "running": 23, "waiting": 4, "source": "", "drafted": None},
    ),
    Shape(
        "vllm",
        "vLLM 0.6.3, vllm-project/vllm#9539",
        "INFO 10-16 19:05:47 metrics.py:367] Speculative metrics: Draft acceptance rate: 0.642, System efficiency: 0.598,"
        " Number of speculative tokens: 3, Number of accepted tokens: 8547, Number of draft tokens: 13311, Number of emitted"
        " tokens: 10616.",
        {"reported_acceptance": "0.642", "accepted": 8547, "drafted": 13311, "is_cumulative": True,
         "delivered_rate": None},
    ),
    Shape(
        "vllm",
        "vLLM V1 before 0.8.3, vllm-project/vllm#15902",
        "INFO 04-01 10:00:00 [metrics.py:60] Speculative metrics: Draft acceptance rate: 1.000, Number of accepted tokens: 66,"
        " Number of draft tokens: 66, ",
        {"reported_acceptance": "1.000", "accepted": 66, "drafted": 66, "is_cumulative": False},
    ),
    Shape(
        "vllm",
        "vLLM V1 0.8.3, vllm-project/vllm#15902",
        "INFO 04-01 10:00:00 [metrics.py:60] SpecDecoding metrics: Draft acceptance rate: 100.0%, Accepted: 66 tokens,"
        " Drafted: 66 tokens",
        {"reported_acceptance": "1.000", "accepted": 66, "drafted": 66, "accepted_rate": None},
    ),
    Shape(
        "vllm",
        "vLLM V1 0.8.5.post1, vllm/v1/spec_decode/metrics.py (not seen live)",
        "INFO 05-02 10:00:00 [metrics.py:70] SpecDecoding metrics: Draft acceptance rate: 55.7%, Mean acceptance length: 2.67,"
        " Accepted: 508 tokens, Drafted: 912 tokens, Per-position acceptance rate: 0.809, 0.556, 0.306",
        {"reported_acceptance": "0.557", "acceptance_length": "2.67", "accepted": 508, "drafted": 912,
         "per_position": ("0.809", "0.556", "0.306"), "drafted_rate": None},
    ),
    Shape(
        "vllm",
        "vLLM between 0.10.1 and 0.10.2, vllm-project/vllm#24127",
        "(APIServer pid=2236552) INFO 09-09 11:51:35 [metrics.py:96] SpecDecoding metrics: Draft acceptance rate: 88.8%, Mean"
        " acceptance length: 5.44, Accepted throughput: 4.37 tokens/s, Drafted throughput: 4.92 tokens/s, Accepted: 262"
        " tokens, Drafted: 295 tokens, Per-position acceptance rate: 0.983, 0.949, 0.915, 0.881, 0.712",
        {"reported_acceptance": "0.888", "accepted_rate": "4.37", "drafted_rate": "4.92", "accepted": 262,
         "per_position": ("0.983", "0.949", "0.915", "0.881", "0.712")},
    ),
    Shape(
        "vllm",
        "vLLM 0.20.1 on two RTX 3090, noonghunna/club-3090#105",
        "(APIServer pid=13026) INFO 05-08 16:26:39 [loggers.py:271] Engine 000: Avg prompt throughput: 5.0 tokens/s, Avg"
        " generation throughput: 124.5 tokens/s, Running: 1 reqs, Waiting: 0 reqs, GPU KV cache usage: 7.4%, Prefix cache hit"
        " rate: 0.0%\n(APIServer pid=13026) INFO 05-08 16:26:39 [metrics.py:101] SpecDecoding metrics: Mean acceptance length:"
        " 4.77, Accepted throughput: 98.29 tokens/s, Drafted throughput: 156.58 tokens/s, Accepted: 983 tokens, Drafted: 1566"
        " tokens, Per-position acceptance rate: 0.912, 0.782, 0.667, 0.556, 0.471, 0.379, Avg Draft acceptance rate: 62.8%",
        {"delivered_rate": "124.5", "prompt_rate": "5.0", "running": 1, "waiting": 0, "acceptance_length": "4.77",
         "accepted_rate": "98.29", "drafted_rate": "156.58", "accepted": 983, "drafted": 1566,
         "reported_acceptance": "0.628", "source": "Engine 000", "lines": (1, 2)},
    ),
    Shape(
        "vllm",
        "vLLM 0.23 fork, optional inserts, vllm-project/vllm-ascend#11876",
        "(APIServer pid=426984) INFO 07-13 17:42:04 [loggers.py:271] Engine 001: Avg prompt throughput: 0.0 tokens/s, Avg"
        " generation throughput: 5.9 tokens/s, Running: 0 reqs, Waiting: 1 reqs, Deferred: 1 reqs, GPU KV cache usage: 0.5%,"
        " Prefix cache hit rate: 0.0%, External prefix cache hit rate: 100.0%",
        {"delivered_rate": "5.9", "running": 0, "waiting": 1, "source": "Engine 001"},
    ),
    Shape(
        "vllm",
        "vLLM 0.33.0 aggregated, vllm/v1/metrics/loggers.py (not seen live)",
        "(APIServer pid=7) INFO 11-02 08:00:00 [loggers.py:380] 4 Engines Aggregated: Avg prompt throughput: 12.0 tokens/s,"
        " Avg generation throughput: 1234.5 tokens/s, Running: 16 reqs, Waiting: 2 reqs, Deferred: 1 reqs, Preemptions: 3, GPU"
        " KV cache usage: 7.0%, Corrupted: 0 reqs, MM cache hit rate: 1.0%",
        {"delivered_rate": "1234.5", "running": 16, "waiting": 2, "source": "4 engines"},
    ),
    Shape(
        "vllm",
        "vLLM 0.32.0, acceptance that is not a number, vllm/v1/spec_decode/metrics.py (not seen live)",
        "(APIServer pid=7) INFO 11-02 08:00:00 [metrics.py:120] SpecDecoding metrics: Mean acceptance length: nan, Accepted"
        " throughput: 0.00 tokens/s, Drafted throughput: 0.00 tokens/s, Accepted: 0 tokens, Drafted: 0 tokens, Per-position"
        " acceptance rate: , Avg Draft acceptance rate: nan%",
        {"acceptance_length": None, "reported_acceptance": None, "drafted": 0, "per_position": ()},
    ),
    Shape(
        "sglang",
        "SGLang 0.4.6.post5, managers/scheduler.py:1224 (not seen live)",
        "[2025-05-11 04:06:27 TP0] Decode batch. #running-req: 1, #token: 34, token usage: 0.00, accept len: 2.71, cuda graph:"
        " True, gen throughput (token/s): 85.20, #queue-req: 0",
        {"delivered_rate": "85.20", "acceptance_length": "2.71", "reported_acceptance": None, "running": 1, "waiting": 0,
         "source": "TP0"},
    ),
    Shape(
        "sglang",
        "SGLang 0.5.3.post3, scheduler_metrics_mixin.py:251 (not seen live)",
        "[2025-10-11 04:06:27 DP1 TP4] Decode batch. #running-req: 3, #token: 34, token usage: 0.00, accept len: 2.70, accept"
        " rate: 0.68, pre-allocated usage: 0.10, #prealloc-req: 0, #transfer-req: 0, #retracted-req: 0, cuda graph: False, gen"
        " throughput (token/s): 1085.20, #queue-req: 7, ",
        {"delivered_rate": "1085.20", "acceptance_length": "2.70", "reported_acceptance": "0.68", "running": 3,
         "waiting": 7, "source": "DP1 TP4"},
    ),
    Shape(
        "sglang",
        "SGLang, November 2025, sgl-project/sglang#13023",
        "[2025-11-11 04:06:27] Decode batch, #running-req: 46, #token: 34901, token usage: 0.19, cuda graph: False, gen"
        " throughput (token/s): 1447.08, #queue-req: 0, ",
        {"delivered_rate": "1447.08", "running": 46, "acceptance_length": None, "source": ""},
    ),
    Shape(
        "sglang",
        "SGLang under Ray, March 2026, Gen-Verse/OpenClaw-RL#44",
        "(SGLangEngine pid=41820) [2026-03-22 13:53:37 TP0] Decode batch, #running-req: 6, #token: 42414, token usage: 0.04,"
        " cuda graph: True, gen throughput (token/s): 1374.02, #queue-req: 0,",
        {"delivered_rate": "1374.02", "running": 6, "waiting": 0, "source": "TP0"},
    ),
    Shape(
        "sglang",
        "SGLang 0.5.18, full and sliding-window tokens, sgl-project/sglang#36081",
        "[2026-08-23 09:06:22 TP0 EP0] Decode batch, #running-req: 1, #full token: 166400, full token usage: 0.02, #swa token:"
        " 768, swa token usage: 0.00, accept len: 4.42, accept rate: 0.69, cuda graph: True, gen throughput (token/s): 140.78,"
        " #queue-req: 0",
        {"delivered_rate": "140.78", "acceptance_length": "4.42", "reported_acceptance": "0.69", "source": "TP0 EP0"},
    ),
    Shape(
        "sglang",
        "SGLang 0.5.23, metrics_reporter.py:963 (not seen live)",
        "[2026-10-01 09:06:22 TP0] Decode batch [1280], #running-req: 2, #token: 99, token usage: 0.02, mamba num: 2, mamba"
        " usage: 0.01, cap len: 3.00, block accept len: 5.10, accept len: 2.50, accept rate: 0.50, npu graph: True, gen"
        " throughput (token/s): 201.40, #queue-req: 1, est. decode TFLOPS/s (per GPU): 3.1, fwd occupancy: 88%",
        {"delivered_rate": "201.40", "acceptance_length": "2.50", "reported_acceptance": "0.50", "waiting": 1},
    ),
    Shape(
        "sglang",
        "SGLang, prefill between, sgl-project/sglang#22166",
        "[2026-04-05 20:02:51] Prefill batch, #new-seq: 1, #new-token: 158, #cached-token: 0, token usage: 0.08, #running-req:"
        " 31, #queue-req: 0, cuda graph: True, input throughput (token/s): 559.53",
        {"prompt_rate": "559.53", "prompt_tokens": 158, "delivered_rate": None, "running": 31},
    ),
    Shape(
        "trtllm",
        "TensorRT-LLM, April 2025, NVIDIA/TensorRT-LLM#3914, before",
        "[04/28/2025-09:56:44] [TRT-LLM] [I] iter = 198, global_rank = 0, rank = 0, currank_total_requests = 0/0, elapsed_time"
        " = 0.005060911178588867s, timestamp = 2025-04-28 09:56:44, states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0,"
        " 'num_generation_tokens': 16}",
        {"scheduled": 16, "running": None, "delivered_rate": None, "source": "rank 0"},
    ),
    Shape(
        "trtllm",
        "TensorRT-LLM, April 2025, NVIDIA/TensorRT-LLM#3914, after",
        "[04/28/2025-09:56:44] [TRT-LLM] [I] iter = 198, global_rank = 0, rank = 0, currank_total_requests = 0/0, elapsed_time"
        " = 0.005060911178588867s, timestamp = 2025-04-28 09:56:44, num_scheduled_requests: 10, states ="
        " {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 16}",
        {"scheduled": 16, "running": 10, "prompt_tokens": 0},
    ),
    Shape(
        "trtllm",
        "TensorRT-LLM 2025-26, py_executor.py as read in WIRE.md 5.4 (not seen live)",
        "[11/02/2025-09:56:44] [TRT-LLM] [RANK 0] [I] iter = 12, global_rank = 0, rank = 0, currank_total_requests = 1/4,"
        " host_step_time = 11.5234ms, prev_device_step_time = N/A, timestamp = 2025-11-02 09:56:44, num_scheduled_requests: 4,"
        " states = {'num_ctx_requests': 1, 'num_ctx_tokens': 812, 'num_generation_tokens': 9}",
        {"scheduled": 9, "running": 4, "prompt_tokens": 812},
    ),
    Shape(
        "trtllm",
        "TensorRT-LLM, May 2026, NVIDIA/TensorRT-LLM#14206 and #16323 (not seen live)",
        "[06/02/2026-09:56:44] [TRT-LLM] [I] iter = 12, global_rank = 0, rank = 0, num_scheduled_requests = 4, kv_cache_util ="
        " N/A, currank_total_requests = 1/4, host_step_time = 11.5ms, prev_device_step_time = 9.25ms, timestamp = 2026-06-02"
        " 09:56:44, cached_kv_len = 0, states = {'num_ctx_requests': 0, 'num_ctx_tokens': 0, 'num_generation_tokens': 12},"
        " num_active = 14, num_fetched = 3, num_dummy = 1, num_unscheduled = 5",
        {"scheduled": 12, "running": 4},
    ),
    Shape(
        "llamacpp",
        "llama.cpp, March 2025, lines without a slot, ggml-org/llama.cpp#12603",
        "prompt eval time =     393.25 ms /    13 tokens (   30.25 ms per token,    33.06 tokens per second)\n"
        "       eval time =    9840.04 ms /   200 tokens (   49.20 ms per token,    20.33 tokens per second)\n"
        "      total time =   10233.29 ms /   213 tokens\n"
        "slot print_timing: id  0 | task 0 |\n"
        "draft acceptance rate = 0.23026 (   70 accepted /   304 generated)",
        {"delivered_rate": "20.33", "delivered": 200, "prompt_rate": "33.06", "prompt_tokens": 13},
    ),
    Shape(
        "llamacpp",
        "llama.cpp router, May 2026, the slot on a line of its own, ggml-org/llama.cpp#23269",
        "[53409] 4.48.313.649 I slot print_timing: id  0 | task 689 | \n"
        "[53409] prompt eval time =     900.22 ms /    30 tokens (   30.01 ms per token,    33.33 tokens per second)\n"
        "[53409]        eval time =   14323.78 ms /   192 tokens (   74.60 ms per token,    13.40 tokens per second)\n"
        "[53409]       total time =   15224.00 ms /   222 tokens\n"
        "[53409] draft acceptance rate = 0.81944 (  118 accepted /   144 generated)",
        {"delivered_rate": "13.40", "delivered": 192, "accepted": 118, "drafted": 144, "reported_acceptance": "0.81944",
         "source": "slot 0 task 689", "acceptance_length": None, "lines": (2, 3, 5)},
    ),
    Shape(
        "llamacpp",
        "llama.cpp, June 2026, length and positions, ggml-org/llama.cpp#24536",
        "0.06.895.980 I slot print_timing: id  1 | task 0 | prompt eval time =     300.11 ms /    20 tokens (   15.01 ms per"
        " token,    66.64 tokens per second)\n"
        "0.06.895.998 I slot print_timing: id  1 | task 0 |        eval time =    2296.72 ms /   256 tokens (    8.97 ms per"
        " token,   111.46 tokens per second)\n"
        "0.06.895.999 I slot print_timing: id  1 | task 0 |       total time =    2596.83 ms /   276 tokens\n"
        "0.06.896.009 I slot print_timing: id  1 | task 0 |    graphs reused =         85\n"
        "0.06.896.015 I slot print_timing: id  1 | task 0 | draft acceptance = 0.64479 (  167 accepted /   259 generated), mean"
        " acceptance length =  2.92, acceptance rate per position = (0.805, 0.632, 0.483)",
        {"delivered_rate": "111.46", "acceptance_length": "2.92", "per_position": ("0.805", "0.632", "0.483"),
         "accepted": 167, "drafted": 259, "source": "slot 1 task 0"},
    ),
    Shape(
        "llamacpp",
        "llama.cpp on two RTX 5090, 2026, noonghunna/club-3090#1124",
        "5.27.453.094 I slot print_timing: id  0 | task 160 | prompt eval time =     252.01 ms /     4 tokens (   63.00 ms per"
        " token,    15.87 tokens per second)\n"
        "5.27.453.097 I slot print_timing: id  0 | task 160 |        eval time =    5729.20 ms /    96 tokens (   60.31 ms per"
        " token,    16.58 tokens per second)\n"
        "5.27.453.102 I slot print_timing: id  0 | task 160 | draft acceptance = 0.46218 (   55 accepted /   119 generated),"
        " mean len =  2.38",
        {"delivered_rate": "16.58", "acceptance_length": "2.38", "accepted": 55, "drafted": 119, "per_position": ()},
    ),
    Shape(
        "llamacpp",
        "llama.cpp, progress, ggml-org/llama.cpp#25121",
        "2.02.846.974 I slot print_timing: id  3 | task 0 | n_decoded =   1081, tg =  12.93 t/s, tg_3s =  12.57 t/s",
        {"so_far_rate": "12.93", "delivered_rate": "12.57", "delivered": 1081, "scope": "progress"},
    ),
    Shape(
        "llamacpp",
        "llama.cpp router, progress before #24291, ggml-org/llama.cpp#23269",
        "[53409] 4.44.253.775 I slot print_timing: id  0 | task 689 | n_decoded =    140, tg =  13.64 t/s",
        {"so_far_rate": "13.64", "delivered_rate": None},
    ),
    Shape(
        "llamacpp",
        "llama.cpp newest wording of progress, noonghunna/club-3090#1124",
        "5.34.346.441 I slot print_timing: id  0 | task 202 | n_gen =    100, tg =  19.04 t/s, tg_3s =  19.23 t/s",
        {"so_far_rate": "19.04", "delivered_rate": "19.23"},
    ),
    Shape(
        "llamacpp",
        "llama.cpp tools, 2023, the shape of ollama/ollama#1365",
        "llama_print_timings: prompt eval time =     444.18 ms /   800 tokens (    0.56 ms per token,  1801.07 tokens per"
        " second)\nllama_print_timings:        eval time =    7000.00 ms /   395 runs   (   17.72 ms per token,    56.43 tokens"
        " per second)",
        {"delivered_rate": "56.43", "delivered": 395, "prompt_rate": "1801.07", "prompt_tokens": 800},
    ),
    Shape(
        "ollama",
        "Ollama, January 2024, ollama/ollama#1806",
        "total duration:       5.088275983s\nload duration:        1.365523ms\nprompt eval count:    11 token(s)\n"
        "prompt eval duration: 204.563ms\nprompt eval rate:     53.77 tokens/s\neval count:           120 token(s)\n"
        "eval duration:        4.876787s\neval rate:            24.61 tokens/s",
        {"delivered_rate": "24.61", "delivered": 120, "prompt_rate": "53.77", "prompt_tokens": 11, "drafted": None},
    ),
    Shape(
        "ollama",
        "Ollama, January 2025, minutes, taketwo/llm-ollama#32",
        "total duration:       2m27.989997625s\nload duration:        559.665542ms\nprompt eval count:    13 token(s)\n"
        "prompt eval duration: 19.747s\nprompt eval rate:     0.66 tokens/s\neval count:           1133 token(s)\n"
        "eval duration:        2m7.682s\neval rate:            8.87 tokens/s",
        {"delivered_rate": "8.87", "delivered": 1133},
    ),
    Shape(
        "lmdeploy",
        "LMDeploy, February 2026, InternLM/lmdeploy#4297",
        "[2026-02-05 17:05:17 DP0] Avg thr (in/out): 4618.5 / 2756.3 tokens/s, API server (completed/routed/waiting): 1 / 50 /"
        " 50, Engine (running/waiting): 45 / 5, KV cache: 21.6%, ",
        {"delivered_rate": "2756.3", "prompt_rate": "4618.5", "running": 45, "waiting": 5, "source": "DP0"},
    ),
    Shape(
        "lmdeploy",
        "LMDeploy v0.16.0, lmdeploy/metrics/loggers.py:112 (not seen live)",
        "[2026-08-21 17:05:17 DP1] Avg thr (in/out): 18.5 / 56.3 tokens/s, Server (succeeded/failed/routed/waiting): 1 / 0 / 1"
        " / 0, Engine (running/waiting): 1 / 0, KV cache: 21.6%, Prefix cache hit rate: 1.0%, SpecDecoding metrics: Draft"
        " acceptance rate: 55.70%, Mean acceptance length: 2.67, Accepted: 508 tokens, Drafted: 912 tokens, Per-position"
        " acceptance rate: 0.809, 0.556, 0.306",
        {"delivered_rate": "56.3", "accepted": 508, "drafted": 912, "acceptance_length": "2.67",
         "reported_acceptance": "0.5570", "source": "DP1"},
    ),
    Shape(
        "tabbyapi",
        "TabbyAPI e632af41, common/gen_logging.py:61 (not seen live)",
        "2026-08-11 15:32:43.929 INFO:     Metrics (ID: 5799660f79fd4dc481ac2226d5b97102): 512 tokens generated in 8.61 seconds"
        " (Queue: 0.0 s, Process: 128 cached tokens and 40 new tokens at 410.22 T/s, Generate: 60.11 T/s, Context: 168 tokens,"
        " Draft: 300 / 420 tokens accepted (71.4%))",
        {"delivered_rate": "60.11", "delivered": 512, "prompt_rate": "410.22", "prompt_tokens": 40, "accepted": 300,
         "drafted": 420, "reported_acceptance": "0.714", "source": "request 5799660f"},
    ),
    Shape(
        "tabbyapi",
        "TabbyAPI e632af41, no rate to tell and a cut answer (not seen live)",
        "INFO:     Metrics (ID: abc): 1 tokens generated in 0.2 seconds (Queue: 0.0 s, Process: 0 cached tokens and 40 new"
        " tokens at Indeterminate T/s, Generate: Indeterminate T/s, Context: 40 tokens) <-- Not accurate (truncated)",
        {"delivered_rate": None, "delivered": 1, "prompt_rate": None},
    ),
]  # fmt: skip


def read(text: str | bytes, **options: object) -> tuple[LogReading, tuple[Interval, ...]] | None:
    reader = LogReader(**options)  # type: ignore[arg-type]
    for line in (text.encode() if isinstance(text, str) else text).split(b"\n"):
        reader.add(line)
    return reader.finish(ARTEFACT)


@pytest.mark.parametrize("shape", SHAPES, ids=[shape.source for shape in SHAPES])
def test_every_documented_shape_is_read(shape: Shape) -> None:
    found = read(shape.text)
    assert found is not None
    reading, intervals = found
    assert reading.engine == shape.engine
    assert reading.unread == 0
    (interval,) = intervals
    for name, expected in shape.expected.items():
        value = getattr(interval, name)
        if name == "per_position":
            value = tuple(map(str, value))
        elif isinstance(expected, str):
            value = str(value)
        assert value == expected, name
    for name in reading.absent:  # what the engine is said never to print is indeed not printed
        assert getattr(interval, name) in (None, ()), name


def test_every_engine_is_in_the_table_and_says_what_it_cannot_tell() -> None:
    from auditor.core.enginelogs import ENGINES

    assert {engine.name for engine in ENGINES} == {shape.engine for shape in SHAPES}
    assert all(engine.cannot_tell and engine.averaging for engine in ENGINES)


LINE = SHAPES[7].text
WRAPPED = {
    "colours": "\x1b[36m(APIServer pid=1)\x1b[0;0m \x1b[32mINFO\x1b[0m 07-13 17:42:04 [loggers.py:271] \x1b[1mEngine 001: Avg"
    " prompt\x1b[0m throughput: 0.0 tokens/s, Avg generation throughput: 5.9 tokens/s, Running: 0 reqs, Waiting: 1 reqs, GPU",
    "carriage return": f"Loading: 50%|##   | 1/2\r{LINE}\r\n",
    "docker compose": f"vllm-1  | {LINE}",
    "docker logs -t": f"2026-05-12T08:01:39.331095044Z {LINE}",
    "docker json-file": json.dumps({"log": LINE + "\n", "stream": "stderr", "time": "2026-05-12T08:01:39.331095044Z"}),
    "cri": f"2026-05-12T08:01:39.331095044Z stderr F {LINE}",
    "journald": f"May 12 08:01:39 box vllm[937]: {LINE}",
    "journald iso": f"2026-05-12T10:01:39+0200 box vllm[937]: {LINE}",
    "journald json": json.dumps({"MESSAGE": LINE, "__REALTIME_TIMESTAMP": "1"}),
    "journald json bytes": json.dumps({"MESSAGE": list(LINE.encode()), "PRIORITY": "6"}),
}


@pytest.mark.parametrize("wrapping", WRAPPED)
def test_a_line_is_read_out_of_what_it_is_wrapped_in(wrapping: str) -> None:
    found = read(WRAPPED[wrapping])
    assert found is not None
    (interval,) = found[1]
    assert str(interval.delivered_rate) == "5.9"
    assert interval.waiting == 1


def test_a_wrapping_with_a_zone_gives_the_date() -> None:
    for wrapping, step in (("docker logs -t", 1), ("docker json-file", 1), ("cri", 1), ("journald iso", 10**9)):
        found = read(WRAPPED[wrapping])
        assert found is not None
        stamp = found[1][0].stamp
        assert stamp.epoch_ns == 1778572899 * 10**9 + (331095044 if step == 1 else 0)
        assert stamp.reason is None
        assert stamp.step_ns == step


@pytest.mark.parametrize(
    ("shape", "text", "reason"),
    [
        (7, "07-13 17:42:04", "the line prints no year"),
        (12, "2025-11-11 04:06:27", "the line prints no time zone"),
        (17, "2025-04-28 09:56:44", "the line prints no time zone"),
        (24, "5.27.453.097", "the line prints the time since the start of the server"),
        (29, "None", "the line prints no time"),
    ],
)
def test_a_time_without_a_date_says_why(shape: int, text: str, reason: str) -> None:
    found = read(SHAPES[shape].text)
    assert found is not None
    stamp = found[1][0].stamp
    assert (str(stamp.text), stamp.epoch_ns, stamp.reason) == (text, None, reason)


def test_two_records_on_one_line_are_two_intervals() -> None:
    # vllm-project/vllm#18115 prints several records without a newline between them.
    record = "INFO 07-28 06:41:{s} [loggers.py:118] Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: {g} tokens/s, Running: 8 reqs, Waiting: 0 reqs, GPU KV cache usage: 91.6%, Prefix cache hit rate: 0.0%"
    found = read(record.format(s="09", g="239.2") + record.format(s="19", g="240.0"))
    assert found is not None
    assert [str(interval.delivered_rate) for interval in found[1]] == ["239.2", "240.0"]


TORN = [
    "Engine 000: Avg prompt throughput: 0.0 tokens/s, Avg generation throughput: 81.(Worker_TP0 pid=420) INFO loading",
    "SpecDecoding metrics: Mean acceptance length: 2.6(Worker_TP0 pid=420) INFO 05-15 03:15:48 loading",
    "SpecDecoding metrics: Mean acceptance length: 2.67, Accepted throughput: 50.79 tokens/s, Drafted throughput: 91.19 tokens/s,"
    " Accepted: 508 tokens, Drafted: 912 tokens, Per-position acceptance rate: 0.809, 0.5(Worker pid=3) INFO",
    "[2026-08-23 09:06:22 TP0] Decode batch, #running-req: 1, #token: 3, gen throughput (token/s): 14[2026-08-23 09:06:22] INFO",
    "[2026-08-23 09:06:22 TP0] Decode batch, #running-req: 1, #token: 3, gen throughput (tok",
    "[04/28/2025-09:56:44] [TRT-LLM] [I] iter = 198, global_rank = 0, rank = 0, host_step_time = 5.06ms, states = {'num_ctx",
    "slot print_timing: id  0 | task 0 | draft acceptance = 0.46218 (   55 acc",
    "       eval time =    9840.04 ms /   200 tok",
    "[2026-02-05 17:05:17 DP0] Avg thr (in/out): 4618.5 / 275",
    "Metrics (ID: abc): 512 tokens generated in 8.61 seconds (Queue: 0.0 s, Process: 128 cached tok",
]  # fmt: skip


@pytest.mark.parametrize("torn", TORN)
def test_a_torn_line_gives_no_figure_and_is_counted(torn: str) -> None:
    whole = {"eval": SHAPES[24], "draft": SHAPES[24], "Decode": SHAPES[14], "iter": SHAPES[18], "Avg thr": SHAPES[31],
             "Metrics (ID": SHAPES[33]}  # fmt: skip
    shape = next((shape for word, shape in whole.items() if word in torn), SHAPES[6])
    alone, with_torn = read(shape.text), read(f"{torn}\n{shape.text}")
    assert alone is not None
    assert with_torn is not None
    assert len(with_torn[1]) == len(alone[1])
    assert with_torn[1][0].delivered_rate == alone[1][0].delivered_rate
    if "print_timing" not in torn:  # there the line still names its slot
        assert with_torn[0].unread == 1
        assert with_torn[0].first_unread == 1


def test_lines_of_other_ranks_are_left_out() -> None:
    line = SHAPES[19].text
    found = read("\n".join([line, line.replace("rank = 0", "rank = 1")]))
    assert found is not None
    assert found[0].intervals == 1
    assert found[0].left_out == 1


def test_the_engine_with_the_most_intervals_wins_and_the_others_are_named() -> None:
    found = read("\n".join([SHAPES[24].text, SHAPES[6].text, SHAPES[6].text]))
    assert found is not None
    assert found[0].engine == "vllm"
    assert found[0].intervals == 2
    assert found[0].others == {"llamacpp": 1}


def test_each_api_server_keeps_its_own_pair() -> None:
    # vllm-project/vllm-ascend#12521: several API servers print at the same second, each for its own engine.
    rows = SHAPES[6].text.split("\n")
    other = [
        row.replace("pid=13026", "pid=14").replace("Engine 000", "Engine 001").replace("983", "900") for row in rows
    ]
    found = read("\n".join([rows[0], other[0], rows[1], other[1]]))
    assert found is not None
    assert [(i.source, i.accepted, i.lines) for i in found[1]] == [
        ("Engine 000", 983, (1, 3)),
        ("Engine 001", 900, (2, 4)),
    ]


def test_a_speculation_line_of_another_second_is_not_joined() -> None:
    rows = SHAPES[6].text.split("\n")
    found = read("\n".join([rows[0], rows[1].replace("16:26:39", "16:26:49")]))
    assert found is not None
    assert [(i.lines, i.delivered_rate is None, i.drafted) for i in found[1]] == [
        ((1,), False, None),
        ((2,), True, 1566),
    ]
    assert found[0].identity is not None
    assert found[0].identity.unchecked == {"no throughput line before it": 1}
