"""`transformers serve`: what it says of itself, which is the models in its cache.

Usage comes always, with the event that ends the answer; no `[DONE]` follows. Fields that it does not know it passes
over, `stream_options` among them, and it cannot be told to go on past the end of sequence.
"""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, absent, exact
from auditor.core.facts import Fact, FactName, unknown
from auditor.core.observed import launch_facts
from auditor.core.probing import Answers

_OPENAPI = "/openapi.json"
_OWN = ("/load_model", "/reset", "/v1/responses")
"""Paths that it has beside OpenAI's."""


def recognise(answers: Answers) -> str | None:
    """By the paths of its API."""
    paths = answers.object(_OPENAPI).get("paths")
    is_own = isinstance(paths, dict) and all(path in paths for path in _OWN)
    return f"GET {_OPENAPI} {_OWN[0]}, {_OWN[1]}" if is_own else None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """Nothing but the name of the model can be asked; what the launch tells is told."""
    reason = "transformers serve has no endpoint that tells it"
    names: tuple[FactName, ...] = ("version", "speculation", "draft_tokens", "quantisation", "gpu", "context_length")
    return {**{name: unknown(reason) for name in names}, **launch_facts(launched)}


ADAPTER = Adapter(
    name="transformers",
    title="transformers serve",
    paths=(_OPENAPI,),
    recognise=recognise,
    facts=facts,
    lists_models=False,
    ends_with_done=False,
    notes={
        "delivered": exact("usage of the event that ends the answer, sent always"),
        "token_ids": absent("not in the stream"),
        "steps": absent("not counted"),
        "verify_steps": absent("there is no way to set up an assistant model"),
        "drafted": absent("there is no way to set up an assistant model"),
        "accepted": absent("there is no way to set up an assistant model"),
        "rejected": absent("there is no way to set up an assistant model"),
        "speculation": absent("no endpoint tells it"),
        "gpu": absent("no endpoint names it"),
        "acceptance_mode": absent("nothing is accepted or rejected"),
    },
    source="transformers/cli/serving/server.py 5.24.0, chat_completion.py 5.19.0",
    seen_live="5.19.0 on a processor, recorded; by hand on 2026-12-01",
)
"""transformers serve."""
