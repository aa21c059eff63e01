"""TensorRT-LLM (`trtllm-serve`): what it says of itself.

`/prometheus/metrics` (with `return_perf_metrics: true`) describes the server best of all engines here. `/metrics` is a
JSON list with one entry per iteration since it was last read: whoever reads it empties it, so a scrape before a round
throws away what came before it, and those after it add up.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from auditor.core.adapter import Adapter, Details, absent, exact, nominal
from auditor.core.counting.counters import Counters, read_counters
from auditor.core.facts import Fact, FactName, known, unknown
from auditor.core.observed import dig, figures, launch_facts, public_path, resolved, told, whole
from auditor.core.probing import Answers
from auditor.core.wire.prometheus import samples

PROMETHEUS, ITERATIONS = "/prometheus/metrics", "/metrics"
_SERIES = "trtllm_"
_NO_INFO = f"no trtllm_ info series at GET {PROMETHEUS} (it needs return_perf_metrics: true on the server)"
_CACHES = ("trtllm_kv_cache_config_info", "trtllm_cache_config_info")
_INFOS: dict[FactName, tuple[tuple[str, ...], str]] = {
    "quantisation": (("trtllm_model_config_info",), "quantization"),
    "context_length": (("trtllm_model_config_info",), "max_model_len"),
    "model_path": (("trtllm_model_config_info",), "model"),
    "gpu": (("trtllm_model_config_info",), "gpu_type"),
    "tensor_parallel": (("trtllm_parallel_config_info",), "tensor_parallel_size"),
    "pipeline_parallel": (("trtllm_parallel_config_info",), "pipeline_parallel_size"),
    "expert_parallel": (("trtllm_parallel_config_info",), "expert_parallel_size"),
    "gpu_count": (("trtllm_parallel_config_info",), "gpu_count"),
    "kv_cache_dtype": (_CACHES, "cache_dtype"),
    "prefix_cache": (_CACHES, "enable_block_reuse"),
}
"""Series and label of each fact; every value is a text."""


def recognise(answers: Answers) -> str | None:
    """By the owner of its models, its metric names, or the list of iterations."""
    signs = []
    if any(card.get("owned_by") == "tensorrt_llm" for card in answers.model_cards()):
        signs.append("GET /v1/models owned_by tensorrt_llm")
    if "\ntrtllm_" in f"\n{answers.text(PROMETHEUS) or ''}":
        signs.append(f"GET {PROMETHEUS} {_SERIES}")
    if any(isinstance(row, dict) and "iterLatencyMS" in row for row in answers.array(ITERATIONS)):
        signs.append(f"GET {ITERATIONS} iterLatencyMS")
    return ", ".join(signs) or None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What the version and the info series tell; what the launch tells goes first."""
    infos = _infos(answers)
    no_info = _NO_INFO if answers.text(PROMETHEUS) is not None else answers.why_not(PROMETHEUS)
    found: dict[FactName, Fact] = {
        "version": told(answers.object("/version").get("version"), "GET /version", answers.why_not("/version")),
        "acceptance_mode": unknown(
            "acceptance forced by TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS shows in the environment alone"
        ),
    }
    for name, (series, label) in _INFOS.items():
        at = next((one for one in series if one in infos), series[0])
        value = _typed(infos.get(at, {}).get(label))
        value = public_path(value) if name == "model_path" else value
        found[name] = resolved(value, f"GET {PROMETHEUS} {at} {label}", no_info)
    found |= _speculation(infos, no_info) | launch_facts(launched)
    return found


def _infos(answers: Answers) -> dict[str, dict[str, str]]:
    """Labels of the info series, by name."""
    try:
        rows = list(samples(answers.text(PROMETHEUS) or "", _SERIES))
    except ValueError:
        return {}
    return {row.name: row.labels for row in rows if row.name.endswith("_info")}


def _typed(text: str | None) -> str | int | bool | None:
    if text is None:
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return int(text) if text.isdecimal() else text


def _speculation(infos: Mapping[str, Mapping[str, str]], no_info: str) -> dict[FactName, Fact]:
    labels = infos.get("trtllm_speculative_config_info", {})
    source = f"GET {PROMETHEUS} trtllm_speculative_config_info"
    enabled = _typed(labels.get("spec_enabled"))
    if enabled is False:
        off = f"{source} spec_enabled"
        return {
            "speculation": known(False, off),
            "speculation_method": known("none", off),
            "draft_tokens": known(0, off),
        }
    return {
        "speculation": told(enabled, f"{source} spec_enabled", no_info),
        "speculation_method": resolved(labels.get("spec_method"), f"{source} spec_method", no_info),
        "draft_tokens": told(_typed(labels.get("spec_num_tokens")), f"{source} spec_num_tokens", no_info),
    }


def counters(text: str) -> Counters:
    """The counters of either endpoint; raises ValueError when it is neither."""
    if not text.lstrip().startswith("["):
        return read_counters(text, _COUNTERS)
    try:
        rows = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ValueError(f"not a list of iterations: {text[:60]!r}") from error
    return _of_iterations([row for row in map(_row, rows) if row])


_COUNTERS = {
    "delivered": ("trtllm_generation_tokens_total",),
    "prompt_tokens": ("trtllm_prompt_tokens_total",),
    "drafted": ("trtllm_spec_decode_num_draft_tokens_total",),
    "accepted": ("trtllm_spec_decode_num_accepted_tokens_total",),
    "requests": ("trtllm_request_success_total",),
    "running": ("trtllm_num_requests_running",),
}
_SPEC = {"drafted": "numDraftTokens", "accepted": "numAcceptedTokens", "verify_steps": "numRequestsWithDraftTokens"}


def _row(value: Any) -> dict[str, Any]:
    """One iteration; some builds send it as a text."""
    if isinstance(value, str):
        try:
            value = orjson.loads(value)
        except orjson.JSONDecodeError:
            return {}
    return value if isinstance(value, dict) else {}


def _of_iterations(rows: list[dict[str, Any]]) -> Counters:
    """The sum over iterations. An iteration that several ranks tell counts once; where some are missing from the list,
    the drafts in them are missing too, and so the sum is not used."""
    by_number: dict[int | str, dict[str, Any]] = {}
    for index, row in enumerate(rows):
        number = whole(row.get("iter"))
        by_number.setdefault(f"row {index}" if number is None else number, row)
    once = list(by_number.values())
    values: dict[str, Any] = {"is_since_last": True}
    for name, key in _SPEC.items():
        counts = [whole(dig(row, "specDecodingStats", key)) for row in once if row.get("specDecodingStats")]
        values[name] = sum(count or 0 for count in counts) if counts and None not in counts else None
    completed = [whole(row.get("numCompletedRequests")) for row in once]
    values["requests"] = sum(count or 0 for count in completed) if completed and None not in completed else None
    values["running"] = whole(once[-1].get("numActiveRequests")) if once else None
    if missing := _missing(by_number):
        why = f"{missing} iterations are not in the list: sampled (iter_perf_stats_interval), or read by another"
        values |= {"reasons": dict.fromkeys(_SPEC, why), **dict.fromkeys(_SPEC)}
    return Counters.model_validate(values)


def _missing(numbers: Iterable[int | str]) -> int:
    known_numbers = sorted(number for number in numbers if isinstance(number, int))
    return known_numbers[-1] - known_numbers[0] + 1 - len(known_numbers) if known_numbers else 0


def details(event: Mapping[str, Any]) -> Details | None:
    """The mean of tokens per iteration that each choice may carry; a rate, from which no count is made."""
    choices = event.get("choices")
    for choice in choices if isinstance(choices, list) else []:
        reported = figures({name: dig(choice, name) for name in ("avg_decoded_tokens_per_iter",)})
        if reported:
            return Details(reported=reported)
    return None


ADAPTER = Adapter(
    name="trtllm",
    title="TensorRT-LLM",
    paths=("/version",),
    recognise=recognise,
    facts=facts,
    request_fields={"stream_options": {"include_usage": True, "continuous_usage_stats": True}},
    length_fields={"ignore_eos": True},
    metrics_paths=(PROMETHEUS, ITERATIONS),
    counters=counters,
    details=details,
    notes={
        "delivered": exact("running usage of each event; trtllm_generation_tokens_total when a request ends, n = 1"),
        "token_ids": absent("not in the stream of trtllm-serve"),
        "steps": nominal("avg_decoded_tokens_per_iter is a mean per request; it is shown and no count is made of it"),
        "verify_steps": exact("numRequestsWithDraftTokens of GET /metrics, summed; Prometheus does not count them"),
        "drafted": exact("trtllm_spec_decode_num_draft_tokens_total, or numDraftTokens of GET /metrics, summed"),
        "accepted": exact("trtllm_spec_decode_num_accepted_tokens_total, or numAcceptedTokens, summed"),
        "rejected": exact("drafted less accepted"),
        "speculation": exact("trtllm_speculative_config_info, with return_perf_metrics"),
        "gpu": exact("trtllm_model_config_info gpu_type, with return_perf_metrics"),
        "acceptance_mode": absent("TLLM_SPEC_DECODE_FORCE_NUM_ACCEPTED_TOKENS shows in the environment alone"),
    },
    switches="return_perf_metrics: true; else enable_iter_perf_stats: true",
    source="tensorrt_llm/serve/openai_server.py @00057725d9a6 and @e7f7345e31e5, metrics/collector.py @050f80def8df",
)
"""TensorRT-LLM."""
