"""Any server that speaks the OpenAI shape: nothing is known of it beyond that."""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter
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
)
"""The one that is left when no other knows the server."""
