"""Any server that speaks the OpenAI shape: nothing is known of it beyond that."""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, Tokenize, absent, nominal
from auditor.core.facts import Fact, FactName
from auditor.core.observed import launch_facts, public_path, told
from auditor.core.probing import Answers


def recognise(answers: Answers) -> str | None:
    """A list of models is enough; asked last."""
    return "GET /v1/models, no other sign" if answers.model_cards() else None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What the list of models tells where it tells more than names."""
    card = next(iter(answers.model_cards()), {})
    length = card.get("max_model_len") or card.get("context_length") or card.get("context_window")
    reason = "GET /v1/models does not tell it"
    found: dict[FactName, Fact] = {
        "context_length": told(length, "GET /v1/models context length", reason),
        "model_path": told(public_path(card.get("root")), "GET /v1/models root", reason),
    }
    return found | launch_facts(launched)


ADAPTER = Adapter(
    name="generic",
    title="OpenAI-compatible server",
    paths=(),
    recognise=recognise,
    facts=facts,
    lists_models=False,
    tokenize=Tokenize(),
    notes={
        "delivered": nominal("final usage, whose meaning is the server's; else the text, tokenised again"),
        "token_ids": nominal("token_ids of each choice, where a server sends them unasked"),
        "steps": absent("nothing is known of the server"),
        "verify_steps": absent("nothing is known of the server"),
        "drafted": absent("accepted_prediction_tokens belongs to Predicted Outputs and is no speculation"),
        "accepted": absent("accepted_prediction_tokens belongs to Predicted Outputs and is no speculation"),
        "rejected": absent("rejected_prediction_tokens is taken off the usage, as OpenAI counts it in"),
        "speculation": absent("nothing is known of the server"),
        "gpu": absent("nothing is known of the server"),
        "acceptance_mode": absent("nothing is known of the server"),
    },
    source="the OpenAI API: chat and completions, reasoning fields of every spelling, tool calls",
    seen_live="as the shape that every other adapter is read in",
)
"""The one that is left when no other knows the server."""
