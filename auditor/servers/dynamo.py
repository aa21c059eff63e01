"""NVIDIA Dynamo: what its frontend says, and the counters of the engines behind it where they come through.

The frontend counts requests and tokens and no drafts. Workers serve their engine's own series, with more labels, on a
port of their own (`DYN_SYSTEM_PORT`); where a gateway puts them into the same text they are read.
"""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, absent, nominal
from auditor.core.counting.counters import Counters, read_counters
from auditor.core.facts import Fact, FactName, known, unknown
from auditor.core.observed import launch_facts, told
from auditor.core.probing import Answers
from auditor.core.wire.prometheus import Sample, samples

_FRONTEND = "dynamo_frontend_"
_DRAFTS = (
    "vllm:spec_decode_num_drafts_total",
    "sglang:spec_verify_calls_total",
    "trtllm_spec_decode_num_draft_tokens_total",
)
_ELSEWHERE = "the frontend of Dynamo does not tell it; its engine does, on the worker's DYN_SYSTEM_PORT"


def recognise(answers: Answers) -> str | None:
    """By the names of its frontend's series."""
    return f"GET /metrics {_FRONTEND}" if _FRONTEND in (answers.text("/metrics") or "") else None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What the gauges of the frontend tell; what the launch tells goes first."""
    rows = _rows(answers)
    length = next((int(row.value) for row in rows if row.name == f"{_FRONTEND}model_context_length"), None)
    hidden: tuple[FactName, ...] = ("version", "speculation", "speculation_method", "draft_tokens", "gpu")
    found: dict[FactName, Fact] = {name: unknown(_ELSEWHERE) for name in hidden}
    found["context_length"] = told(length, f"GET /metrics {_FRONTEND}model_context_length", _ELSEWHERE)
    drafts = next((row.name for row in rows if row.name in _DRAFTS and row.value > 0), None)
    if drafts is not None:
        found["speculation"] = known(True, f"GET /metrics {drafts}")
    return found | launch_facts(launched)


def _rows(answers: Answers) -> list[Sample]:
    try:
        return list(samples(answers.text("/metrics") or ""))
    except ValueError:
        return []


def counters(text: str) -> Counters:
    """The frontend's counters, and those of the engine in the same text, over all its workers."""
    own = read_counters(text, _OWN)
    for series in _ENGINES.values():
        engine = read_counters(text, series)
        if engine.has_any:
            values = {name: value for name, value in engine if value is not None and name in series}
            return own.model_copy(update=values)
    return own


_OWN = {
    "delivered": ("dynamo_frontend_output_tokens_total",),
    "running": ("dynamo_frontend_inflight_requests",),
}
_ENGINES: dict[str, dict[str, tuple[str, ...]]] = {
    "vllm": {
        "delivered": ("vllm:generation_tokens_total",),
        "prompt_tokens": ("vllm:prompt_tokens_total",),
        "drafted": ("vllm:spec_decode_num_draft_tokens_total",),
        "accepted": ("vllm:spec_decode_num_accepted_tokens_total",),
        "verify_steps": ("vllm:spec_decode_num_drafts_total",),
        "steps": ("vllm:time_to_first_token_seconds_count", "vllm:inter_token_latency_seconds_count"),
    },
    "sglang": {
        "delivered": ("sglang:generation_tokens_total",),
        "prompt_tokens": ("sglang:prompt_tokens_total",),
        "verify_steps": ("sglang:spec_verify_calls_total",),
    },
    "trtllm": {
        "delivered": ("trtllm_generation_tokens_total",),
        "prompt_tokens": ("trtllm_prompt_tokens_total",),
        "drafted": ("trtllm_spec_decode_num_draft_tokens_total",),
        "accepted": ("trtllm_spec_decode_num_accepted_tokens_total",),
    },
}
"""The series of each engine as it names them itself."""


ADAPTER = Adapter(
    name="dynamo",
    title="NVIDIA Dynamo",
    paths=(),
    recognise=recognise,
    facts=facts,
    length_fields={"nvext": {"ignore_eos": True}},
    metrics_paths=("/metrics",),
    counters=counters,
    counts_at_end=False,
    notes={
        "delivered": nominal("final usage; dynamo_frontend_output_tokens_total may count chunks for tokens"),
        "token_ids": absent("not in the stream of the frontend"),
        "steps": nominal("vLLM behind it: its histograms, where they are in the same text"),
        "verify_steps": nominal("the engine's own counter, where it is in the same text"),
        "drafted": nominal("the engine's own counter, where it is in the same text; SGLang has none"),
        "accepted": nominal("the engine's own counter, where it is in the same text; SGLang has none"),
        "rejected": nominal("drafted less accepted"),
        "speculation": absent("the frontend does not tell it; the engine's counters show it"),
        "gpu": absent("the frontend does not tell it"),
        "acceptance_mode": absent("the frontend does not tell it"),
    },
    switches="the engines' own series in the text of the frontend's /metrics",
    source="lib/runtime/src/metrics/prometheus_names.rs @04070c75b52f",
)
"""NVIDIA Dynamo."""
