"""The dialects, each after the files that its adapter names."""

import json
from collections.abc import Iterator
from typing import Any

from engines import (
    PROMPT_TOKENS,
    WIDTH,
    Answer,
    Dialect,
    Engine,
    by_step,
    by_token,
    chunk,
    fixed,
    models,
    usage,
)
from rawserver import Asked

TRTLLM_INFO = (
    'trtllm_model_config_info{model="/models/glm",dtype="bfloat16",quantization="NVFP4",max_model_len="4096",'
    'gpu_type="NVIDIA RTX PRO 6000 Blackwell Workstation Edition",model_name="m",engine_type="trtllm"} 1.0\n'
    'trtllm_parallel_config_info{tensor_parallel_size="4",pipeline_parallel_size="1",gpu_count="4",'
    'expert_parallel_size="4",model_name="m"} 1.0\n'
    'trtllm_speculative_config_info{spec_enabled="true",spec_method="MTP",spec_num_tokens="3",model_name="m"} 1.0\n'
    'trtllm_kv_cache_config_info{page_size="32",enable_block_reuse="true",cache_dtype="fp8",model_name="m"} 1.0\n'
)


def trtllm_metrics(engine: Engine) -> bytes:
    """`/prometheus/metrics` of tensorrt_llm/metrics/collector.py @050f80def8df."""
    lines = engine.series(
        tokens="trtllm_generation_tokens_total",
        drafted="trtllm_spec_decode_num_draft_tokens_total",
        accepted="trtllm_spec_decode_num_accepted_tokens_total",
    )
    lines += f'trtllm_request_success_total{{finished_reason="length"}} {len(engine.answers)}.0\n'
    lines += f"trtllm_prompt_tokens_total {PROMPT_TOKENS * len(engine.answers)}.0\ntrtllm_num_requests_running 0.0\n"
    return (TRTLLM_INFO + lines).encode()


def trtllm_iterations(engine: Engine) -> bytes:
    """`/metrics` of tensorrt_llm/serve/openai_server.py @00057725d9a6: what it tells it forgets."""
    rows, engine.unread = engine.unread, []
    return json.dumps(rows).encode()


def trtllm_events(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """Running usage, and the mean of tokens per iteration with the end."""
    for one in by_step(asked, answer):
        if one["choices"] and one["choices"][0]["finish_reason"]:
            one["choices"][0]["avg_decoded_tokens_per_iter"] = answer.tokens / len(answer.steps)
        yield one


_TRTLLM = {"/v1/models": models(owned_by="tensorrt_llm"), "/version": fixed({"version": "1.2.1"})}
TRTLLM = Dialect({**_TRTLLM, "/prometheus/metrics": trtllm_metrics, "/metrics": trtllm_iterations}, trtllm_events)
TRTLLM_JSON = Dialect({**_TRTLLM, "/metrics": trtllm_iterations}, trtllm_events)


def tgi_metrics(engine: Engine) -> bytes:
    """backends/v3/src/backend.rs @db931fcf: an observation a step, with the tokens beyond its first."""
    steps = sum(len(one.steps) for one in engine.answers)
    lines = [
        'tgi_request_skipped_tokens{quantile="0.5"} 1',
        f"tgi_request_skipped_tokens_sum {engine.total('accepted_delivered')}",
        f"tgi_request_skipped_tokens_count {steps}",
        f"tgi_request_generated_tokens_sum {engine.total('tokens')}",
        f"tgi_request_generated_tokens_count {len(engine.answers)}",
        f"tgi_request_input_length_sum {PROMPT_TOKENS * len(engine.answers)}",
        "tgi_batch_current_size 0",
    ]
    return "\n".join(["# TYPE tgi_request_skipped_tokens summary", *lines, ""]).encode()


def tgi_generate(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """`/generate_stream`: an event a token, the details with the last."""
    for step in answer.steps:
        for number, text in zip(step.ids, step.texts, strict=True):
            index = number - 1000 + 1
            details = {"finish_reason": "length", "generated_tokens": answer.tokens, "input_length": PROMPT_TOKENS}
            is_last = index == answer.tokens
            token = {"id": number, "text": text, "logprob": -0.5, "special": False}
            end = {"generated_text": answer.text if is_last else None, "details": details if is_last else None}
            yield {"index": index, "token": token, **end}


_TGI = {
    "/v1/models": models(owned_by="m"),
    "/metrics": tgi_metrics,
    "/info": fixed(
        {
            "model_id": "org/model",
            "version": "3.3.7",
            "router": "text-generation-router",
            "docker_label": "sha-db931fc",
            "max_total_tokens": 4096,
            "max_concurrent_requests": 128,
        }
    ),
}
TGI = Dialect(_TGI, by_token)
TGI_NATIVE = Dialect(
    _TGI,
    tgi_generate,
    post="/generate_stream",
    length=lambda body: body["parameters"]["max_new_tokens"],
    has_done=False,
)


def lmdeploy_metrics(engine: Engine) -> bytes:
    """lmdeploy/metrics/loggers.py @1263d5cd."""
    lines = 'lmdeploy:backend_config_info{tp="2",dp="1",session_len="4096",max_batch_size="64"} 1.0\n'
    lines += engine.series(
        tokens="lmdeploy:generation_tokens_total",
        verify_steps="lmdeploy:spec_decode_num_drafts_total",
        drafted="lmdeploy:spec_decode_num_draft_tokens_total",
        accepted="lmdeploy:spec_decode_num_accepted_tokens_total",
    )
    for position in range(WIDTH):
        reached = sum((step.accepted or 0) > position for one in engine.answers for step in one.steps)
        lines += f'lmdeploy:spec_decode_num_accepted_tokens_per_pos_total{{position="{position}"}} {reached}.0\n'
    return lines.encode()


def lmdeploy_events(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """Ids under a name of its own, where they are asked for."""
    for step in answer.steps:
        ids = {"output_ids": step.ids} if asked.json.get("return_token_ids") else {}
        yield chunk("".join(step.texts), choice=ids)
    yield chunk(reason="length")
    yield {"choices": [], "usage": usage(answer)}


LMDEPLOY = Dialect({"/v1/models": models(owned_by="lmdeploy"), "/metrics": lmdeploy_metrics}, lmdeploy_events)


def ollama_chat(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """`/api/chat` of api/types.go @fb3076099687: thinking first, the counts and durations with the last."""
    stamp = {"model": "m", "created_at": "2026-12-01T00:00:00Z"}
    texts = [text for step in answer.steps for text in step.texts]
    for index, text in enumerate(texts):
        said = {"content": "", "thinking": text} if index < 2 else {"content": text}
        yield {**stamp, "message": {"role": "assistant", **said}, "done": False}
    durations = {"total_duration": 9_000_000, "load_duration": 1_000, "prompt_eval_duration": 2_000_000}
    counts = {"prompt_eval_count": PROMPT_TOKENS, "eval_count": answer.tokens, "eval_duration": 7_000_000}
    message = {"role": "assistant", "content": ""}
    yield {**stamp, "message": message, "done_reason": "length", "done": True, **durations, **counts}


def ollama_openai(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """The OpenAI route of openai/openai.go: reasoning apart, the end in an event of its own."""
    texts = [text for step in answer.steps for text in step.texts]
    for index, text in enumerate(texts):
        said = {"content": "", "reasoning": text} if index < 2 else {"content": text}
        yield chunk(choice={"delta": said}, system_fingerprint="fp_ollama")
    yield chunk(reason="length", system_fingerprint="fp_ollama")
    yield {"choices": [], "usage": usage(answer), "system_fingerprint": "fp_ollama"}


_OLLAMA = {
    "/v1/models": models(owned_by="library"),
    "/api/version": fixed({"version": "0.33.0"}),
    "/api/tags": fixed({"models": [{"name": "m", "details": {"quantization_level": "Q4_K_M"}}]}),
    "/api/ps": fixed({"models": [{"name": "m", "context_length": 4096, "size_vram": 1}]}),
}
OLLAMA = Dialect(_OLLAMA, ollama_openai)
OLLAMA_NATIVE = Dialect(
    _OLLAMA,
    ollama_chat,
    post="/api/chat",
    length=lambda body: body["options"]["num_predict"],
    is_lines=True,
    has_done=False,
)

IGNORED = 2
"""Drafts of each request that LM Studio neither accepts nor rejects."""


def lmstudio_events(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """`/api/v0`, with the stats of api-changelog.md @c6854fba (0.3.10)."""
    counts = {
        "total_draft_tokens_count": answer.drafted,
        "accepted_draft_tokens_count": answer.accepted,
        "rejected_draft_tokens_count": answer.drafted - answer.accepted - IGNORED,
        "ignored_draft_tokens_count": IGNORED,
    }
    stats = {"tokens_per_second": 51.4, "time_to_first_token": 0.11, "generation_time": 0.95, "draft_model": "d"}
    yield from by_step(asked, answer, stats={**stats, **counts}, model_info={"quant": "Q4_K_M"})


LMSTUDIO_CARD = {
    "id": "m",
    "type": "llm",
    "quantization": "Q4_K_M",
    "state": "loaded",
    "compatibility_type": "gguf",
    "max_context_length": 8192,
    "loaded_context_length": 4096,
}
LMSTUDIO = Dialect(
    {"/v1/models": models(owned_by="organization_owner"), "/api/v0/models": fixed({"data": [LMSTUDIO_CARD]})},
    lmstudio_events,
    post="/api/v0/chat/completions",
)


def transformers_events(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """Usage with the end, no [DONE]; recorded from 5.19.0."""
    yield chunk(choice={"delta": {"role": "assistant"}})
    for step in answer.steps:
        for text in step.texts:
            yield chunk(text)
    yield chunk(reason="length", usage=usage(answer))


TRANSFORMERS = Dialect(
    {
        "/v1/models": lambda _: (500, b"Internal Server Error"),
        "/openapi.json": fixed({"paths": {path: {} for path in ("/v1/responses", "/load_model", "/reset")}}),
    },
    transformers_events,
    has_done=False,
)


def dynamo_metrics(engine: Engine) -> bytes:
    """lib/runtime/src/metrics/prometheus_names.rs @04070c75b52f, with vLLM's own series of two workers put in."""
    lines = engine.series(tokens="dynamo_frontend_output_tokens_total")
    lines += 'dynamo_frontend_inflight_requests{model="m"} 0\ndynamo_frontend_model_context_length{model="m"} 4096\n'
    steps = sum(one.verify_steps for one in engine.answers)
    totals = {
        "vllm:generation_tokens_total": engine.total("tokens"),
        "vllm:spec_decode_num_drafts_total": engine.total("verify_steps"),
        "vllm:spec_decode_num_draft_tokens_total": engine.total("drafted"),
        "vllm:spec_decode_num_accepted_tokens_total": engine.total("accepted"),
        "vllm:time_to_first_token_seconds_count": len(engine.answers),
        "vllm:inter_token_latency_seconds_count": steps,
    }
    for name, total in totals.items():
        for worker, share in enumerate((total // 2, total - total // 2)):
            lines += f'{name}{{engine="0",model_name="m",dynamo_component="backend",worker_id="{worker}"}} {share}.0\n'
    return lines.encode()


DYNAMO = Dialect({"/v1/models": models(owned_by="nvidia"), "/metrics": dynamo_metrics}, by_step)
DYNAMO_ALONE = Dialect(
    {
        "/v1/models": models(owned_by="nvidia"),
        "/metrics": lambda engine: engine.series(tokens="dynamo_frontend_output_tokens_total").encode(),
    },
    by_step,
)


def _sglang_spec(answer: Answer, steps: int) -> dict[str, Any]:
    accepted = sum(step.accepted or 0 for step in answer.steps[: steps + 1])
    return {
        "spec_verify_ct": steps,
        "spec_num_correct_drafts": accepted,
        "spec_num_proposed_drafts": WIDTH * steps,
        "spec_accept_rate": accepted / (WIDTH * steps),
        "spec_accept_length": answer.tokens / steps,
    }


def sglang_events(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """entrypoints/openai/protocol.py 0.5.23: the details in an event without choices at the end."""
    yield from by_step(asked, answer)
    if asked.json.get("return_spec_tokens_details"):
        yield {"choices": [], "sglext": {"spec_tokens_details": _sglang_spec(answer, answer.verify_steps)}}


def sglang_generate(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """`/generate` of managers/tokenizer_manager.py 0.5.12: text and ids so far."""
    text, ids = "", []
    for steps, step in enumerate(answer.steps):
        text, ids = text + "".join(step.texts), [*ids, *step.ids]
        is_last = step is answer.steps[-1]
        meta = {"id": "g", "finish_reason": {"type": "length", "length": len(ids)} if is_last else None}
        meta |= {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": len(ids), "cached_tokens": 0}
        yield {"text": text, "output_ids": ids, "meta_info": {**meta, **(_sglang_spec(answer, steps) if steps else {})}}


SGLANG_INFO = {
    "tp_size": 2,
    "internal_states": [],
    "version": "0.5.23",
    "speculative_algorithm": "EAGLE",
    "speculative_num_draft_tokens": WIDTH + 1,
}


def sglang_metrics(engine: Engine) -> bytes:
    """srt/observability/metrics_collector.py 0.5.23."""
    lines = engine.series(tokens="sglang:generation_tokens_total", verify_steps="sglang:spec_verify_calls_total")
    return (lines + 'sglang:num_running_reqs{model_name="m"} 0.0\n').encode()


_SGLANG = {
    "/v1/models": models(owned_by="sglang"),
    "/server_info": fixed(SGLANG_INFO),
    "/metrics": sglang_metrics,
}
SGLANG = Dialect(_SGLANG, sglang_events)
SGLANG_NATIVE = Dialect(
    _SGLANG,
    sglang_generate,
    post="/generate",
    length=lambda body: body["sampling_params"]["max_new_tokens"],
)
KTRANSFORMERS = Dialect(
    {**_SGLANG, "/server_info": fixed({**SGLANG_INFO, "kt_weight_path": "/models/kt", "kt_method": "AMXINT4"})},
    sglang_events,
)


def tabby_events(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """Times and rates beside the usage; a rate that cannot be made is a word."""
    extras = {"completion_time": 0.5, "completion_tokens_per_sec": 101.5, "prompt_tokens_per_sec": "Indeterminate"}
    yield from by_token(asked, answer)
    yield {"choices": [], "usage": usage(answer, **extras)}


TABBYAPI = Dialect(
    {
        "/v1/models": models(owned_by="tabbyAPI"),
        "/v1/model": fixed(
            {
                "id": "m",
                "owned_by": "tabbyAPI",
                "parameters": {"max_seq_len": 4096, "cache_mode": "Q8", "draft": {"id": "d"}},
            }
        ),
    },
    tabby_events,
)


def mlc_metrics(engine: Engine) -> bytes:
    """cpp/serve/metrics.cc @79d603f0: a tab between key and value."""
    lines = [
        ("completion_tokens_sum", engine.total("tokens")),
        ("decode_tokens_sum", engine.total("tokens") + 5),
        ("prompt_tokens_sum", PROMPT_TOKENS * len(engine.answers)),
        *((f"accept_prob{{step={index}}}", 1.0 - 0.25 * index) for index in range(WIDTH + 1)),
    ]
    return "".join(f"{key}\t{value}\n" for key, value in lines).encode()


MLC = Dialect({"/v1/models": models(owned_by="MLC-LLM"), "/metrics": mlc_metrics}, by_token)


def vllm_metrics(engine: Engine) -> bytes:
    """vllm/v1/metrics/loggers.py 0.33.0."""
    return dynamo_metrics(engine).replace(b"dynamo_frontend_", b"gateway_")


def vllm_events(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """Ids and running usage of each event, and the fingerprint of vllm/entrypoints/serve/utils/fingerprint.py."""
    mark = {"system_fingerprint": "vllm-0.33.0-tp4-dp2-2b78faf8"}
    for step in answer.steps:
        running = usage(answer, step.first + len(step.texts))
        yield chunk("".join(step.texts), choice={"token_ids": step.ids}, usage=running, **mark)
    yield chunk(reason="length", **mark)
    yield {"choices": [], "usage": usage(answer), **mark}


VLLM = Dialect({"/v1/models": models(owned_by="vllm"), "/metrics": vllm_metrics}, vllm_events)
GENERIC = Dialect({"/v1/models": models(owned_by="someone")}, by_step)
