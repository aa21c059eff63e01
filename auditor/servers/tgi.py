"""Hugging Face TGI: what it says of itself. `/info` names the model and the limits, and nothing of speculation."""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, Question, Route, Shape, absent, exact, nominal
from auditor.core.counting.counters import Counters, read_counters
from auditor.core.facts import Fact, FactName, unknown
from auditor.core.observed import dig, launch_facts, public_path, told, whole
from auditor.core.probing import Answers

_NOT_TOLD = "GET /info of TGI does not tell it"


def recognise(answers: Answers) -> str | None:
    """By its metric names, or the shape of `/info`."""
    info = answers.object("/info")
    signs = []
    if "tgi_" in (answers.text("/metrics") or ""):
        signs.append("GET /metrics tgi_")
    if "model_id" in info and ("docker_label" in info or "router" in info):
        signs.append("GET /info router")
    return ", ".join(signs) or None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What `/info` tells; what the launch tells goes first."""
    info, nothing = answers.object("/info"), answers.why_not("/info")
    hidden: tuple[FactName, ...] = ("speculation", "speculation_method", "draft_tokens", "quantisation", "gpu")
    found: dict[FactName, Fact] = {name: unknown(_NOT_TOLD if info else nothing) for name in hidden}
    found |= {
        "version": told(info.get("version"), "GET /info version", nothing),
        "model_path": told(public_path(info.get("model_id")), "GET /info model_id", nothing),
        "context_length": told(info.get("max_total_tokens"), "GET /info max_total_tokens", nothing),
        "streams_max": told(info.get("max_concurrent_requests"), "GET /info max_concurrent_requests", nothing),
    }
    return found | launch_facts(launched)


def counters(text: str) -> Counters:
    """The counters. One is recorded per request and step that gave it tokens, with the tokens beyond the first."""
    return read_counters(text, _COUNTERS)


_COUNTERS = {
    "delivered": ("tgi_request_generated_tokens_sum",),
    "prompt_tokens": ("tgi_request_input_length_sum",),
    "accepted": ("tgi_request_skipped_tokens_sum",),
    "steps": ("tgi_request_skipped_tokens_count",),
    "requests": ("tgi_request_generated_tokens_count",),
    "running": ("tgi_batch_current_size",),
}


def generate_body(question: Question) -> dict[str, Any]:
    """The body of `/generate_stream`; TGI takes no temperature of 0, and is greedy without one."""
    parameters: dict[str, Any] = {"max_new_tokens": question.max_tokens, "details": True}
    if question.temperature > 0:
        parameters |= {"do_sample": True, "temperature": question.temperature}
    if question.top_p is not None and question.top_p < 1:
        parameters["top_p"] = question.top_p
    return {"inputs": question.text, "parameters": parameters}


def generate_shape() -> Shape:
    """An event of `/generate_stream` is one token; the last tells how many there were."""

    def shaped(event: dict[str, Any]) -> dict[str, Any]:
        token, end = event.get("token"), event.get("details")
        if not isinstance(token, dict):
            return event
        number = whole(token.get("id"))
        choice: dict[str, Any] = {
            "index": 0,
            "text": "" if token.get("special") else token.get("text"),
            "token_ids": [] if number is None else [number],
            "finish_reason": dig(end, "finish_reason"),
        }
        usage = {"completion_tokens": dig(end, "generated_tokens"), "prompt_tokens": dig(end, "input_length")}
        return {**event, "choices": [choice], **({"usage": usage} if isinstance(end, dict) else {})}

    return shaped


ADAPTER = Adapter(
    name="tgi",
    title="TGI",
    paths=("/info",),
    recognise=recognise,
    facts=facts,
    routes={"native": Route("/generate_stream", generate_body, shape=generate_shape, ends_with_done=False)},
    metrics_paths=("/metrics",),
    counters=counters,
    notes={
        "delivered": exact("final usage; tgi_request_generated_tokens_sum when a request ends"),
        "token_ids": exact("one a token on /generate_stream (--api native); not on the OpenAI routes"),
        "steps": exact("tgi_request_skipped_tokens_count: one per request and step, the first token's included"),
        "verify_steps": absent("a step that verified a draft in vain is counted as one without a draft"),
        "drafted": absent("not exposed; steps times --speculate is no more than an upper bound"),
        "accepted": nominal("tgi_request_skipped_tokens_sum: accepted drafts that were delivered, after the cut"),
        "rejected": absent("drafted tokens are not exposed"),
        "speculation": absent("no endpoint tells it; accepted drafts show it"),
        "gpu": absent("GET /info does not tell it"),
        "acceptance_mode": absent("no endpoint tells it"),
    },
    source="router/src/server.rs, backends/v3/src/backend.rs @db931fcf (v3.3.7)",
)
"""TGI."""
