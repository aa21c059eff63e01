"""llama.cpp's own API, `/completion`: the id of every token. It knows no roles."""

from collections.abc import Iterable
from typing import Any

from auditor.core.adapter import Question, Shape
from auditor.core.facts import Fact, FactName, known
from auditor.core.observed import dig

_FINISH = {"limit": "length", "eos": "stop", "word": "stop"}


def completion_body(question: Question) -> dict[str, Any]:
    """The body of `/completion`; the prompt is the text as it is, without the model's template."""
    body: dict[str, Any] = {"prompt": question.text, "n_predict": question.max_tokens, "stream": True}
    body["temperature"] = question.temperature
    return body if question.top_p is None else {**body, "top_p": question.top_p}


def completion_shape() -> Shape:
    """An event of `/completion` is one token; the last tells how many there were, and no `[DONE]` follows."""
    return _shaped


def _shaped(event: dict[str, Any]) -> dict[str, Any]:
    if "content" not in event or "stop" not in event:
        return event
    is_end, ids = event["stop"] is True, event.get("tokens")
    choice: dict[str, Any] = {"index": 0, "text": event["content"], "finish_reason": None}
    if isinstance(ids, list):
        choice["token_ids"] = ids
    if is_end:
        choice["finish_reason"] = _FINISH.get(str(event.get("stop_type")), event.get("stop_type"))
    usage = {"completion_tokens": event.get("tokens_predicted"), "prompt_tokens": event.get("tokens_evaluated")}
    return {**event, "choices": [choice], **({"usage": usage} if is_end else {})}


def seen(events: Iterable[dict[str, Any]]) -> dict[FactName, Fact]:
    """The method of speculation, which the settings in the last event of `/completion` name."""
    for event in events:
        method = dig(event, "generation_settings", "speculative.types")
        if isinstance(method, str) and method != "none":
            return {"speculation_method": known(method, "POST /completion generation_settings speculative.types")}
    return {}
