"""The field's own clients against the same server, each in a virtual environment of its own.

A peer is told to keep 64 requests of 512 tokens in flight against a server that sends as fast as it is read. Its rate
is what the server sent between its first and its last token: the same measure for each, whatever a peer says of itself.
"""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.clients import ClientError, Outcome, children_s, run_words
from benchmarks.machine import Cores, Server

if TYPE_CHECKING:
    from benchmarks.cases import Bench, Load, Row

STREAMS, TOKENS, REQUESTS = 64, 512, 256


@dataclass(frozen=True, slots=True)
class Peer:
    """How a peer is started."""

    program: str
    """Within its virtual environment."""
    words: Callable[[Server, str, Path], Sequence[str]]
    """From the server, the tokenizer and a scratch folder."""


def _aiperf(server: Server, tokenizer: str, scratch: Path) -> Sequence[str]:
    return [
        "profile", "-m", "synthetic", "--url", server.url, "--endpoint-type", "chat", "--streaming",
        "--tokenizer", tokenizer, "--concurrency", str(STREAMS), "--request-count", str(REQUESTS),
        "--synthetic-input-tokens-mean", "16", "--output-tokens-mean", str(TOKENS), "--ui", "none",
        "--artifact-dir", str(scratch / "aiperf"),
    ]  # fmt: skip


def _guidellm(server: Server, tokenizer: str, scratch: Path) -> Sequence[str]:
    prompts = scratch / "guidellm.jsonl"
    prompts.write_text("".join(f'{{"prompt": "Say {n}.", "output_tokens_count": {TOKENS}}}\n' for n in range(REQUESTS)))
    return [
        "run", "--backend", f"kind=openai_http,target={server.url},model=synthetic",
        "--profile", f"kind=concurrent,streams={STREAMS}", "--constraint", f"kind=max_requests,count={REQUESTS}",
        "--data", f"kind=json_file,path={prompts}", "--output", f"kind=json,path={scratch / 'guidellm.json'}",
        "--disable-console",
    ]  # fmt: skip


def _inference_perf(server: Server, tokenizer: str, scratch: Path) -> Sequence[str]:
    lengths = {"std_dev": 0, "total_count": REQUESTS}
    config = {
        "load": {
            "type": "concurrent",
            "stages": [{"num_requests": REQUESTS, "concurrency_level": STREAMS}],
            "num_workers": 1,
            "worker_max_concurrency": STREAMS,
        },
        "api": {"type": "completion", "streaming": True},
        "server": {"type": "vllm", "model_name": "synthetic", "base_url": server.url, "ignore_eos": True},
        "tokenizer": {"pretrained_model_name_or_path": tokenizer},
        "data": {
            "type": "random",
            "input_distribution": {"min": 16, "max": 16, "mean": 16, **lengths},
            "output_distribution": {"min": TOKENS, "max": TOKENS, "mean": TOKENS, **lengths},
        },
        "storage": {"local_storage": {"path": str(scratch / "inference-perf")}},
    }
    file = scratch / "inference-perf.yml"
    file.write_text(json.dumps(config))  # JSON is YAML
    return ["--config_file", str(file)]


def _sglang(server: Server, tokenizer: str, scratch: Path) -> Sequence[str]:
    file = scratch / "sglang.jsonl"
    said = {
        "conversations": [{"role": "user", "content": "Say it."}, {"role": "assistant", "content": "one two three"}]
    }
    file.write_text(f"{json.dumps(said)}\n" * REQUESTS)
    return [
        "-m", "sglang.bench_serving", "--backend", "vllm-chat", "--host", "127.0.0.1", "--port", str(server.port),
        "--model", "synthetic", "--tokenizer", tokenizer, "--dataset-name", "custom", "--dataset-path", str(file),
        "--sharegpt-output-len", str(TOKENS), "--num-prompts", str(REQUESTS), "--max-concurrency", str(STREAMS),
        "--output-file", str(scratch / "sglang-out.jsonl"), "--disable-tqdm", "--warmup-requests", "0",
    ]  # fmt: skip


def _vllm(server: Server, tokenizer: str, scratch: Path) -> Sequence[str]:
    return [
        "-m", "vllm.entrypoints.cli.main", "bench", "serve", "--backend", "openai-chat", "--base-url", server.url,
        "--endpoint", "/v1/chat/completions", "--model", "synthetic", "--tokenizer", tokenizer,
        "--dataset-name", "random", "--random-input-len", "16", "--random-output-len", str(TOKENS),
        "--num-prompts", str(REQUESTS), "--max-concurrency", str(STREAMS), "--ignore-eos", "--disable-tqdm",
    ]  # fmt: skip


PEERS: dict[str, Peer] = {
    "aiperf": Peer("aiperf", _aiperf),
    "guidellm": Peer("guidellm", _guidellm),
    "inference-perf": Peer("inference-perf", _inference_perf),
    "sglang": Peer("python", _sglang),
    "vllm": Peer("python", _vllm),
}


def peer_rows(bench: "Bench", tools: Path | None, tokenizer: str | None, load: "Load") -> "Iterator[Row]":
    """A row for each peer: ours on the same load by its rate, or why there is none."""
    from benchmarks.cases import Row

    mine: float | None = None
    for name, peer in PEERS.items():
        program = _program(name, peer, tools)
        if program is None or tokenizer is None:
            why = "not found" if program is None else "needs --tokenizer"
            yield Row(f"saturated, {name}: {why}", "", "", None, "", None, 0.0)
            continue
        if mine is None:
            run = bench.ours("saturated, 64 streams of 512", load)
            mine = run["truth"]["tokens_per_s"]
        try:
            found = bench.run(f"saturated, {name}", load, _client(bench, peer, program, tokenizer))
        except ClientError as error:
            yield Row(f"saturated, {name}: {error}", "", "", None, "", None, 0.0)
            continue
        rate = found.values["tokens_per_s"]
        holds = mine / rate >= 5
        what = f"saturated, {name}, tok/s"
        yield Row(what, f"{mine:,.0f}", f"{rate:,.0f}", mine / rate, ">= 5", holds, found.foreign)


def _program(name: str, peer: Peer, tools: Path | None) -> str | None:
    if tools is not None and (tools / name / "bin" / peer.program).exists():
        return str(tools / name / "bin" / peer.program)
    return None if peer.program == "python" else shutil.which(peer.program)


def _client(bench: "Bench", peer: Peer, program: str, tokenizer: str) -> "Callable[[Server, Load, Cores], Outcome]":
    def run(server: Server, load: "Load", cores: Cores) -> Outcome:
        del load
        offline = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
        before_s = children_s()
        cores.start()
        words = [program, *peer.words(server, tokenizer, bench.scratch)]
        run_words(words, bench.client_core, cwd=str(bench.scratch), env={**os.environ, **offline})
        truth = server.get("/stats")
        if truth["tokens"] < TOKENS * REQUESTS / 2:
            raise ClientError(f"only {truth['tokens']:,} tokens were asked for")
        return Outcome(truth, cores.foreign(children_s() - before_s))

    return run
