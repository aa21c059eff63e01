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
