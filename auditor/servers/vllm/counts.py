"""What vLLM counts: its Prometheus counters, and what it says of speculation in each request."""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Details
from auditor.core.counting.counters import Counters, read_counters
from auditor.core.observed import dig, figures, whole

_COUNTERS = {
    "delivered": ("vllm:generation_tokens_total",),
    "prompt_tokens": ("vllm:prompt_tokens_total",),
    "cached_tokens": ("vllm:prompt_tokens_cached_total",),
    "drafted": ("vllm:spec_decode_num_draft_tokens_total",),
    "accepted": ("vllm:spec_decode_num_accepted_tokens_total",),
    "verify_steps": ("vllm:spec_decode_num_drafts_total",),
    # Both histograms get one observation per request and step that gave it tokens; the names promise tokens.
    "steps": ("vllm:time_to_first_token_seconds_count", "vllm:inter_token_latency_seconds_count"),
    "requests": ("vllm:request_success_total",),
    "running": ("vllm:num_requests_running",),
}
_NO_SPECULATION = {"drafted": 0, "accepted": 0, "verify_steps": 0}
V0_SIGNS = ("vllm:spec_decode_num_emitted_tokens_total", "vllm:spec_decode_draft_acceptance_rate")
"""Series of speculation that only the V0 engine has."""
DIFFUSION_SIGN = "vllm:diffusion_num_"
"""How the series of diffusion models begin."""
_V0 = "the V0 engine adds values that are sums already, so that differences mean nothing"
_DIFFUSION = "a diffusion model commits several tokens a step, without drafts"


def counters(text: str) -> Counters:
    """The counters. A server without speculation has no series for it, and so drafted nothing.

    Those of speculation in the V0 engine, and the steps of a diffusion model, are passed over with the reason.
    """
    found = read_counters(
        text,
        _COUNTERS,
        positions="vllm:spec_decode_num_accepted_tokens_per_pos_total",
        started="vllm:generation_tokens_created",
    )
    if any(sign in text for sign in V0_SIGNS):
        reasons = dict.fromkeys(("drafted", "accepted"), _V0)
        return found.model_copy(update={"drafted": None, "accepted": None, "reasons": reasons})
    if DIFFUSION_SIGN in text:
        return found.model_copy(update={"steps": None, "reasons": {"steps": _DIFFUSION}})
    if found.delivered is not None and (found.drafted, found.accepted, found.verify_steps) == (None, None, None):
        return found.model_copy(update=_NO_SPECULATION)
    return found


def details(event: Mapping[str, Any]) -> Details | None:
    """`metrics` of the usage event, where the server runs with `--per-request-spec-decode-metrics`."""
    metrics = event.get("metrics")
    if not isinstance(metrics, dict):
        return None
    spec = metrics.get("speculative_decoding")
    return Details(
        drafted=whole(dig(spec, "num_draft_tokens")),
        accepted=whole(dig(spec, "num_accepted_draft_tokens")),
        verify_steps=whole(dig(spec, "num_spec_steps")),
        draft_width=whole(dig(spec, "num_spec_tokens")),
        accepted_per_step=_counts(dig(spec, "per_step_accepted")),
        drafted_per_step=_counts(dig(spec, "per_step_drafted")),
        reported=figures(metrics),
    )


def _counts(value: Any) -> tuple[int, ...] | None:
    counts = [whole(item) for item in value] if isinstance(value, list) else [None]
    return None if None in counts else tuple(count or 0 for count in counts)
