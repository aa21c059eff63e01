"""What vLLM's `/server_info` tells. It answers only with `VLLM_SERVER_DEV_MODE=1` on the server."""

import re
from collections.abc import Mapping
from typing import Any

import orjson

from auditor.core.facts import Fact, FactName, known, unknown
from auditor.core.observed import dig, resolved, told
from auditor.core.probing import Answers

SERVER_INFO = "/server_info?config_format=json"
"""Older releases pass over the query and answer with a sentence."""
_ACCEPTANCE = {
    "standard": "standard",
    "strict": "standard",
    "probabilistic": "standard",
    "block": "standard",
    "synthetic": "synthetic",
    "fly": "lossy",
}
"""What the rejection samplers do to the output."""
_CONFIG: dict[FactName, tuple[str, ...]] = {
    "quantisation": ("model_config", "quantization"),
    "streams_max": ("scheduler_config", "max_num_seqs"),
    "tensor_parallel": ("parallel_config", "tensor_parallel_size"),
    "pipeline_parallel": ("parallel_config", "pipeline_parallel_size"),
    "data_parallel": ("parallel_config", "data_parallel_size"),
    "moe_backend": ("kernel_config", "moe_backend"),
    "attention_backend": ("attention_config", "backend"),
    "speculation_method": ("speculative_config", "method"),
}
_CONFIG_TEXT: dict[FactName, str] = {
    "quantisation": r"\bquantization=(\w+)",
    "tensor_parallel": r"\btensor_parallel_size=(\d+)",
    "pipeline_parallel": r"\bpipeline_parallel_size=(\d+)",
    "data_parallel": r"\bdata_parallel_size=(\d+)",
    "speculation_method": r"SpeculativeConfig\(method='([^']+)'",
}
"""The same in the sentence that older releases answer with."""


def configured(answers: Answers) -> dict[FactName, Fact]:
    """From `/server_info`, as an object or as the sentence of older releases."""
    info = answers.object(SERVER_INFO)
    if not info:
        reason = f"{answers.why_not(SERVER_INFO)} (it needs VLLM_SERVER_DEV_MODE=1 on the server)"
        names: tuple[FactName, ...] = ("expert_parallel", "gpu", "gpu_count", "acceptance_mode")
        return {name: unknown(reason) for name in (*_CONFIG, *names)}
    config = config_object(info.get("vllm_config"))
    why = "vLLM chose and does not tell"
    found: dict[FactName, Fact] = {
        name: resolved(_value(config, name), f"GET /server_info {'.'.join(path)}", why)
        for name, path in _CONFIG.items()
    }
    found["quantisation"] = _quantisation(config, found["quantisation"])
    return found | _parallel(config, found) | _hardware(info, found) | _acceptance(config)


def config_object(config: Any) -> Any:
    """The configuration as an object where it is one, even when it was sent as text."""
    if isinstance(config, str) and config.lstrip().startswith("{"):
        try:
            return orjson.loads(config)
        except orjson.JSONDecodeError:
            return config
    return config


def _value(config: Any, name: FactName) -> Any:
    if isinstance(config, str):
        match = re.search(_CONFIG_TEXT[name], config) if name in _CONFIG_TEXT else None
        text = match[1] if match else None
        return int(text) if text and text.isdigit() else text
    return dig(config, *_CONFIG[name])


def _quantisation(config: Any, fact: Fact) -> Fact:
    """No quantisation is an answer: the weights are as `dtype` says."""
    if fact.value is not None or isinstance(config, str) or "quantization" not in (dig(config, "model_config") or {}):
        return fact
    dtype = dig(config, "model_config", "dtype")
    if isinstance(dtype, str):
        return known(dtype.removeprefix("torch."), "GET /server_info model_config.quantization none, dtype")
    return known("none", "GET /server_info model_config.quantization")


def _parallel(config: Any, found: Mapping[FactName, Fact]) -> dict[FactName, Fact]:
    enabled = dig(config, "parallel_config", "enable_expert_parallel")
    sizes = [found[name].value for name in ("tensor_parallel", "data_parallel")]
    source = "GET /server_info parallel_config.enable_expert_parallel"
    if enabled is False:
        return {"expert_parallel": known(1, source)}
    if enabled is True and isinstance(sizes[0], int) and isinstance(sizes[1], int):
        return {"expert_parallel": known(sizes[0] * sizes[1], f"{source}, tensor times data parallel")}
    return {"expert_parallel": unknown("GET /server_info does not tell it")}


def _hardware(info: Mapping[str, Any], found: Mapping[FactName, Fact]) -> dict[FactName, Fact]:
    """The processors in use are as many as the parallel sizes say; the names are those of the machine."""
    listed = dig(info, "system_env", "nvidia_gpu_models")
    names = re.findall(r"GPU \d+: ([^\n(]+)", listed) if isinstance(listed, str) else []
    source = "GET /server_info system_env.nvidia_gpu_models"
    sizes = [found[name].value for name in ("tensor_parallel", "pipeline_parallel", "data_parallel")]
    count = 1
    for size in sizes:
        count = count * size if isinstance(size, int) else 0
    return {
        "gpu": told(" and ".join(dict.fromkeys(name.strip() for name in names)), source, f"{source} lists none"),
        "gpu_count": known(count, "GET /server_info parallel_config, sizes multiplied")
        if count and names
        else unknown("GET /server_info lists no GPU"),
    }


def _acceptance(config: Any) -> dict[FactName, Fact]:
    source = "GET /server_info speculative_config.rejection_sample_method"
    method = dig(config, "speculative_config", "rejection_sample_method")
    if isinstance(method, str):
        return {"acceptance_mode": told(_ACCEPTANCE.get(method, method), source, source)}
    return {"acceptance_mode": unknown(f"{source} is not told")}
