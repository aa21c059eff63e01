"""What SGLang counts: its Prometheus counters, and what it says of speculation in each request."""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Details
from auditor.core.counting.counters import Counters, read_counters
from auditor.core.observed import dig, figures, whole

_COUNTERS = {
    "delivered": ("sglang:generation_tokens_total",),
    "prompt_tokens": ("sglang:prompt_tokens_total",),
    "cached_tokens": ("sglang:cached_tokens_total",),
    "verify_steps": ("sglang:spec_verify_calls_total",),
    "running": ("sglang:num_running_reqs",),
}
_ACCEPTED = ("spec_num_correct_drafts", "spec_accepted_drafts", "spec_accept_token_num")
_PROPOSED = ("spec_num_proposed_drafts", "spec_proposed_drafts", "spec_draft_token_num")
"""The names since 0.5.12, their aliases until 0.5.17, and those of 0.5.6 to 0.5.9. All leave the bonus token out."""
_REPORTED = (
    "spec_accept_rate",
    "spec_accept_length",
    "spec_block_accept_length",
    "spec_cap_length",
    "decode_throughput",
    "e2e_latency",
)
"""Its accept rate is of three kinds by release (accepted per verify step and num_steps in 0.5.3, per node from 0.5.6
on, correct per proposed from 0.5.12 on), so that it is shown and never computed with."""


def counters(text: str) -> Counters:
    """The counters. SGLang counts verify steps and, when a request ends, tokens; drafts it does not count."""
    return read_counters(text, _COUNTERS)


def details(event: Mapping[str, Any]) -> Details | None:
    """Counts of speculation so far, of `/generate` or at the end of an OpenAI stream.

    Proposed is nominal: verify steps times the draft width, the nodes of a tree and not of a path. Before 0.5.6 only
    the verify steps are counted.
    """
    spec = dig(event, "sglext", "spec_tokens_details") or event.get("meta_info")
    if not isinstance(spec, dict) or "spec_verify_ct" not in spec:
        return None
    proposed, steps = _first(spec, _PROPOSED), whole(spec.get("spec_verify_ct"))
    return Details(
        drafted=proposed,
        accepted=_first(spec, _ACCEPTED),
        verify_steps=steps,
        draft_width=proposed // steps if proposed and steps and proposed % steps == 0 else None,
        reported=figures({name: spec[name] for name in _REPORTED if name in spec}),
    )


def _first(spec: Mapping[str, Any], names: tuple[str, ...]) -> int | None:
    return next((count for name in names if (count := whole(spec.get(name))) is not None), None)
