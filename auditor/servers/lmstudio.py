"""LM Studio: what it says of itself. Its own REST API speaks the OpenAI shape and adds what a request drafted.

Its drafts have a third kind: total = accepted + rejected + ignored.
"""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, Details, Route, absent, completions_body, exact
from auditor.core.facts import Fact, FactName, unknown
from auditor.core.observed import dig, figures, launch_facts, told, whole
from auditor.core.probing import Answers

_MODELS = "/api/v0/models"
_FIELDS = {"stream_options": {"include_usage": True}}


def recognise(answers: Answers) -> str | None:
    """By its own list of models."""
    is_own = any("compatibility_type" in card or "loaded_context_length" in card for card in _cards(answers))
    return f"GET {_MODELS} compatibility_type" if is_own else None


def _cards(answers: Answers) -> list[dict[str, Any]]:
    data = answers.object(_MODELS).get("data")
    return [card for card in data if isinstance(card, dict)] if isinstance(data, list) else []


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What the card of the loaded model tells; what the launch tells goes first."""
    loaded = [card for card in _cards(answers) if card.get("state") == "loaded" and card.get("type") != "embeddings"]
    card = loaded[0] if len(loaded) == 1 else {}
    nothing = f"GET {_MODELS} lists {len(loaded)} loaded models" if _cards(answers) else answers.why_not(_MODELS)
    found: dict[FactName, Fact] = {
        "quantisation": told(card.get("quantization"), f"GET {_MODELS} quantization", nothing),
        "context_length": told(card.get("loaded_context_length"), f"GET {_MODELS} loaded_context_length", nothing),
        "gpu": unknown("no endpoint of LM Studio names it"),
    }
    hidden: tuple[FactName, ...] = ("speculation", "speculation_method", "draft_tokens", "acceptance_mode")
    found |= {name: unknown("LM Studio tells of drafts with each answer alone") for name in hidden}
    return found | launch_facts(launched)


def details(event: Mapping[str, Any]) -> Details | None:
    """What a request drafted, in `stats`, or from 0.4.24 on in `usage`; and the rates, whose formula is not documented.

    A kind that is not told is the rest of the total, as the types of its SDK define it.
    """
    stats, usage = event.get("stats"), event.get("usage")
    counts = {
        name: next(
            (n for part in (stats, usage) if (n := whole(dig(part, f"{name}_draft_tokens_count"))) is not None), None
        )
        for name in ("total", "accepted", "rejected", "ignored")
    }
    reported = figures({name: dig(stats, name) for name in _REPORTED})
    total, accepted, rejected = counts["total"], counts["accepted"], counts["rejected"]
    if total is None and accepted is None:
        return Details(reported=reported) if reported else None
    ignored = counts["ignored"]
    if ignored is None and total is not None and accepted is not None and rejected is not None:
        ignored = whole(total - accepted - rejected)
    return Details(drafted=total, accepted=accepted, ignored=ignored, reported=reported)


_REPORTED = ("tokens_per_second", "time_to_first_token", "generation_time")


ADAPTER = Adapter(
    name="lmstudio",
    title="LM Studio",
    paths=(_MODELS,),
    recognise=recognise,
    facts=facts,
    routes={
        "chat": Route("/api/v0/chat/completions", request_fields=_FIELDS),
        "completions": Route("/api/v0/completions", completions_body, _FIELDS),
    },
    details=details,
    notes={
        "delivered": exact("final usage"),
        "token_ids": absent("not in the stream"),
        "steps": absent("not counted"),
        "verify_steps": absent("not counted"),
        "drafted": exact("total_draft_tokens_count of /api/v0, which is asked in place of /v1"),
        "accepted": exact("accepted_draft_tokens_count of /api/v0"),
        "rejected": exact("drafted less accepted and less ignored, a third kind that no other server has"),
        "speculation": absent("no endpoint tells it; the draft counts of each answer show it"),
        "gpu": absent("no endpoint names it"),
        "acceptance_mode": absent("closed source; no endpoint tells it"),
    },
    source="api-changelog.md @c6854fba (0.3.10), LLMPredictionStats.ts of lmstudio-js @6ec11db1; the server is closed",
)
"""LM Studio."""
