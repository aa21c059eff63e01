"""vLLM: what it says of itself.

In production it tells its version, its context length, its cache settings and, by the presence of the counters,
whether it speculates and how wide. Everything else needs `VLLM_SERVER_DEV_MODE=1`, which opens `/server_info`.
"""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, Tokenize, exact, nominal
from auditor.core.facts import Fact, FactName, known, unknown
from auditor.core.observed import dig, launch_facts, public_path, told
from auditor.core.probing import Answers
from auditor.core.wire.prometheus import Sample, samples
from auditor.servers.vllm.config import SERVER_INFO, config_object, configured
from auditor.servers.vllm.counts import DIFFUSION_SIGN, V0_SIGNS, counters, details
from auditor.servers.vllm.fingerprint import seen

_SERIES = "vllm:"
_DRAFTS = "vllm:spec_decode_num_drafts_total"
_POSITIONS = "vllm:spec_decode_num_accepted_tokens_per_pos_total"
_DELIVERED = "vllm:generation_tokens_total"


def recognise(answers: Answers) -> str | None:
    """By the owner of its models, its metric names, or the configuration it gives in development mode."""
    signs = []
    if any(card.get("owned_by") == "vllm" for card in answers.model_cards()):
        signs.append("GET /v1/models owned_by vllm")
    if _SERIES in (answers.text("/metrics") or ""):
        signs.append(f"GET /metrics {_SERIES}")
    if "vllm_config" in answers.object(SERVER_INFO):
        signs.append("GET /server_info vllm_config")
    return ", ".join(signs) or None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What the endpoints tell; what the launch tells goes first."""
    series = _series(answers)
    cards = answers.model_cards()
    card = next((card for card in cards if not card.get("parent")), {})
    cache = next((sample.labels for sample in series if sample.name == "vllm:cache_config_info"), {})
    no_cache = "GET /metrics has no vllm:cache_config_info"
    found: dict[FactName, Fact] = {
        "version": told(answers.object("/version").get("version"), "GET /version", answers.why_not("/version")),
        "model_path": told(public_path(card.get("root")), "GET /v1/models root", answers.why_not("/v1/models")),
        "context_length": told(
            card.get("max_model_len"), "GET /v1/models max_model_len", answers.why_not("/v1/models")
        ),
        "kv_cache_dtype": told(cache.get("cache_dtype"), "GET /metrics vllm:cache_config_info cache_dtype", no_cache),
        "prefix_cache": told(
            {"True": True, "False": False}.get(cache.get("enable_prefix_caching", "")),
            "GET /metrics vllm:cache_config_info enable_prefix_caching",
            no_cache,
        ),
    }
    found |= configured(answers)
    found |= _speculation(series, found, answers)
    found |= launch_facts(launched)
    return found


def _speculation(series: list[Sample], found: Mapping[FactName, Fact], answers: Answers) -> dict[FactName, Fact]:
    """The counters of speculation exist exactly on a server that speculates, one position per drafted token."""
    names = {sample.name for sample in series}
    config = config_object(answers.object(SERVER_INFO).get("vllm_config"))
    width = dig(config, "speculative_config", "num_speculative_tokens")
    if isinstance(width, int):
        source = "GET /server_info speculative_config"
        return {"speculation": known(True, source), "draft_tokens": known(width, f"{source}.num_speculative_tokens")}
    if _DRAFTS in names:
        positions = len({sample.labels.get("position") for sample in series if sample.name == _POSITIONS})
        return {
            "speculation": known(True, f"GET /metrics {_DRAFTS}"),
            "draft_tokens": told(positions or None, f"GET /metrics positions of {_POSITIONS}", "no positions listed"),
        }
    if found_v0 := names.intersection(V0_SIGNS):
        return {
            "speculation": known(True, f"GET /metrics {min(found_v0)}"),
            "draft_tokens": unknown("the V0 engine does not tell it in its metrics; its log does"),
        }
    if any(name.startswith(DIFFUSION_SIGN) for name in names):
        reason = f"GET /metrics {DIFFUSION_SIGN}*: a diffusion model, which has steps and no drafts"
        return {name: unknown(reason) for name in ("speculation", "draft_tokens")}
    if _DELIVERED in names:
        off = f"GET /metrics has no {_DRAFTS}"
        return {
            "speculation": known(False, off),
            "speculation_method": known("none", off),
            "draft_tokens": known(0, off),
        }
    reason = (
        "GET /metrics has no vllm: series (--disable-log-stats)"
        if series or answers.text("/metrics")
        else (answers.why_not("/metrics"))
    )
    return {name: unknown(reason) for name in ("speculation", "draft_tokens")}


def _series(answers: Answers) -> list[Sample]:
    try:
        return list(samples(answers.text("/metrics") or "", _SERIES))
    except ValueError:
        return []


SEEN_LIVE = "0.24 on an H200 and 0.32 on a processor, recorded; by hand on 2026-12-01: 0.32 on a processor"

ADAPTER = Adapter(
    name="vllm",
    title="vLLM",
    paths=("/version", "/metrics", SERVER_INFO),
    recognise=recognise,
    facts=facts,
    seen=seen,
    request_fields={
        "return_token_ids": True,
        "stream_options": {"include_usage": True, "continuous_usage_stats": True},
    },
    length_fields={"ignore_eos": True},
    metrics_paths=("/metrics",),
    counters=counters,
    details=details,
    event_is_step=True,
    counts_at_end=False,
    tokenize=Tokenize(),
    notes={
        "delivered": exact("ids and running usage of each event; vllm:generation_tokens_total, live"),
        "token_ids": exact("return_token_ids, from 0.10.2 on"),
        "steps": exact(
            "one observation of the first-token and inter-token histograms per request and step, from 0.10.2 on;"
            " events, where --per-request-spec-decode-metrics detailed shows that none were merged"
        ),
        "verify_steps": exact("vllm:spec_decode_num_drafts_total; num_spec_steps of a request, from 0.30 on"),
        "drafted": exact("vllm:spec_decode_num_draft_tokens_total, less drafts that a grammar ruled out; not in V0"),
        "accepted": exact("vllm:spec_decode_num_accepted_tokens_total, before the cut at the end; not in V0"),
        "rejected": exact("drafted less accepted"),
        "speculation": exact("that it speculates, and k, by the counters; the method with VLLM_SERVER_DEV_MODE=1"),
        "gpu": nominal("with VLLM_SERVER_DEV_MODE=1: the cards of the machine, not those in use"),
        "acceptance_mode": exact("rejection_sample_method, with VLLM_SERVER_DEV_MODE=1"),
    },
    switches="--per-request-spec-decode-metrics detailed (0.30 on); VLLM_SERVER_DEV_MODE=1; no --disable-log-stats",
    source="vllm/v1/metrics/loggers.py, v1/spec_decode/metrics.py, v1/metrics/stats.py, 0.6.6 to 0.33.0 (11 wheels)",
    seen_live=SEEN_LIVE,
)
"""vLLM."""
