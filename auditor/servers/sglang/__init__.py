"""SGLang: what it says of itself. `/server_info` holds every argument it was started with, some still as `auto`."""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, Route, Tokenize, exact, nominal
from auditor.core.facts import Fact, FactName, known, unknown
from auditor.core.observed import dig, launch_facts, public_path, resolved, told
from auditor.core.probing import Answers
from auditor.servers.sglang.counts import counters, details
from auditor.servers.sglang.generate import generate_body, generate_shape

_SERIES = "sglang:"
PATHS = ("/server_info", "/get_server_info")
"""The name since 0.5.6 or so, and the older one."""
_ARGUMENTS: dict[FactName, str] = {
    "kv_cache_dtype": "kv_cache_dtype",
    "tensor_parallel": "tp_size",
    "pipeline_parallel": "pp_size",
    "data_parallel": "dp_size",
    "expert_parallel": "ep_size",
    "moe_backend": "moe_runner_backend",
    "attention_backend": "attention_backend",
    "quantisation": "quantization",
}


def recognise(answers: Answers) -> str | None:
    """By the owner of its models, its metric names, or the shape of `/server_info`."""
    path, info = _info(answers)
    signs = []
    if any(card.get("owned_by") == "sglang" for card in answers.model_cards()):
        signs.append("GET /v1/models owned_by sglang")
    if _SERIES in (answers.text("/metrics") or ""):
        signs.append(f"GET /metrics {_SERIES}")
    if "tp_size" in info and "internal_states" in info:
        signs.append(f"GET {path} internal_states")
    return ", ".join(signs) or None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What the endpoints tell; what the launch tells goes first."""
    path, info = _info(answers)
    source = f"GET {path}"
    nothing = answers.why_not(path)
    reason = "SGLang chose and does not tell" if info else nothing
    card = next(iter(answers.model_cards()), {})
    found: dict[FactName, Fact] = {
        name: resolved(info.get(key), f"{source} {key}", reason) for name, key in _ARGUMENTS.items()
    }
    states = info.get("internal_states")
    state = next((state for state in states if isinstance(state, dict)), {}) if isinstance(states, list) else {}
    streams = state.get("effective_max_running_requests_per_dp") or info.get("max_running_requests")
    no_radix = info.get("disable_radix_cache")
    found |= {
        "version": told(info.get("version"), f"{source} version", nothing),
        "model_path": told(public_path(info.get("model_path")), f"{source} model_path", nothing),
        "context_length": told(
            card.get("max_model_len") or info.get("context_length"), "GET /v1/models max_model_len", nothing
        ),
        "streams_max": told(streams, f"{source} effective_max_running_requests_per_dp", nothing),
        "prefix_cache": told(
            not no_radix if isinstance(no_radix, bool) else None, f"{source} disable_radix_cache", nothing
        ),
    }
    found |= _speculation(info, source, nothing) | _acceptance(info, source, nothing) | _hardware(answers, info, source)
    found |= launch_facts(launched)
    return found


def _info(answers: Answers) -> tuple[str, dict[str, Any]]:
    """The arguments, and the path that gave them."""
    for path in PATHS:
        info = answers.object(path)
        if "tp_size" in info:
            return path, info
    return PATHS[0], {}


def _speculation(info: Mapping[str, Any], source: str, nothing: str) -> dict[FactName, Fact]:
    """`speculative_num_draft_tokens` counts the token that is verified anyway, so one less is proposed."""
    if "speculative_algorithm" not in info:
        return {name: unknown(nothing) for name in ("speculation", "speculation_method", "draft_tokens")}
    algorithm = info["speculative_algorithm"]
    told_by = f"{source} speculative_algorithm"
    if not isinstance(algorithm, str):
        return {
            "speculation": known(False, told_by),
            "speculation_method": known("none", told_by),
            "draft_tokens": known(0, told_by),
        }
    width = info.get("speculative_num_draft_tokens")
    return {
        "speculation": known(True, told_by),
        "speculation_method": told(algorithm, told_by, nothing),
        "draft_tokens": told(
            width - 1 if isinstance(width, int) else None,
            f"{source} speculative_num_draft_tokens less the bonus token",
            f"{source} speculative_num_draft_tokens is not told",
        ),
    }


def _acceptance(info: Mapping[str, Any], source: str, nothing: str) -> dict[FactName, Fact]:
    """Lossy thresholds and forced acceptance can be seen; that acceptance is standard cannot."""
    for key in ("speculative_accept_threshold_single", "speculative_accept_threshold_acc"):
        threshold = info.get(key)
        if isinstance(threshold, int | float) and threshold < 1:
            return {"acceptance_mode": known("lossy", f"{source} {key} {threshold:g}")}
    environment = info.get("env_vars")
    if not isinstance(environment, Mapping):
        hidden = "acceptance forced by SGLANG_SIMULATE_ACC_LEN would not show"
        return {"acceptance_mode": unknown(f"{source}: {hidden}" if info else nothing)}
    for key in ("SGLANG_SIMULATE_ACC_LEN", "SIMULATE_ACC_LEN"):
        if str(environment.get(key, "-1")).lstrip("+") not in ("", "-1", "-1.0", "None"):
            return {"acceptance_mode": known("synthetic", f"{source} env_vars {key}")}
    return {"acceptance_mode": known("standard", f"{source} env_vars without SGLANG_SIMULATE_ACC_LEN")}


def _hardware(answers: Answers, info: Mapping[str, Any], source: str) -> dict[FactName, Fact]:
    """The name from `/v1/loads`; the count from the parallel sizes (attention-DP shares the tensor ranks)."""
    sizes = [info.get("tp_size"), info.get("pp_size", 1), 1 if info.get("enable_dp_attention") else info.get("dp_size")]
    count = 1
    for size in sizes:
        count = count * size if isinstance(size, int) else 0
    return {
        "gpu": told(
            dig(answers.object("/v1/loads"), "accelerator"), "GET /v1/loads accelerator", answers.why_not("/v1/loads")
        ),
        "gpu_count": told(
            count or None, f"{source} tp_size, pp_size and dp_size multiplied", answers.why_not("/server_info")
        ),
    }


NOTES = {
    "delivered": exact("running usage of each event; sglang:generation_tokens_total when a request ends"),
    "token_ids": exact(
        "output_ids of /generate (--api native); the OpenAI routes send them with the end or not at all"
    ),
    "steps": exact("events, where the number of verify steps shows that none were merged"),
    "verify_steps": exact("spec_verify_ct of a request; sglang:spec_verify_calls_total from 0.5.17 on"),
    "drafted": nominal("verify steps times (num_draft_tokens - 1): nodes of the tree, not tokens of one path"),
    "accepted": exact(
        "of a request: spec_num_correct_drafts from 0.5.12 on, spec_accept_token_num in 0.5.6 to 0.5.9; in /generate,"
        " and with return_spec_tokens_details in 0.5.23; no counter"
    ),
    "rejected": nominal("drafted, which is nominal, less accepted"),
    "speculation": exact("every argument, at /server_info"),
    "gpu": exact("/v1/loads accelerator, from 0.5.17 on"),
    "acceptance_mode": nominal("thresholds at /server_info; SGLANG_SIMULATE_ACC_LEN where env_vars are exposed"),
}
"""Also of its forks."""

ADAPTER = Adapter(
    name="sglang",
    title="SGLang",
    paths=("/server_info", "/get_server_info", "/v1/loads", "/metrics"),
    recognise=recognise,
    facts=facts,
    request_fields={
        "return_spec_tokens_details": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    },
    length_fields={"ignore_eos": True},
    routes={
        "native": Route(
            "/generate", generate_body, length_fields={"sampling_params": {"ignore_eos": True}}, shape=generate_shape
        )
    },
    metrics_paths=("/metrics",),
    counters=counters,
    details=details,
    event_is_step=True,
    tokenize=Tokenize(),
    notes=NOTES,
    switches="--enable-metrics; before 0.5.23, --api native of this tool for the drafts of each request",
    source="entrypoints/openai/protocol.py, managers/tokenizer_manager.py, metrics collector, 0.4.6 to 0.5.23",
)
"""SGLang."""
