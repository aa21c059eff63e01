"""SGLang's own API, `/generate`: token ids and counts of speculation with each event. It knows no roles."""

from typing import Any

from auditor.core.adapter import Question, Shape
from auditor.core.observed import dig, whole


def generate_body(question: Question) -> dict[str, Any]:
    """The body of `/generate`; the prompt is the text as it is, without the model's template."""
    sampling: dict[str, Any] = {"max_new_tokens": question.max_tokens, "temperature": question.temperature}
    if question.top_p is not None:
        sampling["top_p"] = question.top_p
    return {"text": question.text, "sampling_params": sampling, "stream": True}


def generate_shape() -> Shape:
    """Events of `/generate` hold the text and ids so far, or with `--stream-output` the new ones alone.

    The count of tokens so far tells which.
    """
    chars, tokens = 0, 0

    def shaped(event: dict[str, Any]) -> dict[str, Any]:
        nonlocal chars, tokens
        meta, text, ids = event.get("meta_info"), event.get("text") or "", event.get("output_ids")
        if not isinstance(meta, dict) or not isinstance(text, str):
            return event
        ids = ids if isinstance(ids, list) else None
        total = whole(meta.get("completion_tokens"))
        is_whole = total is None or ids is None or len(ids) == total
        new_text = text[chars:] if is_whole else text
        new_ids = (ids[tokens:] if is_whole else ids) if ids is not None else None
        chars, tokens = (len(text), len(ids or ())) if is_whole else (chars + len(text), tokens + len(ids or ()))
        finish = meta.get("finish_reason")
        choice: dict[str, Any] = {"index": 0, "text": new_text, "token_ids": new_ids}
        choice["finish_reason"] = dig(finish, "type") or (finish if isinstance(finish, str) else None)
        usage = {
            "completion_tokens": total,
            "prompt_tokens": meta.get("prompt_tokens"),
            "prompt_tokens_details": {"cached_tokens": meta.get("cached_tokens")},
        }
        return {**event, "choices": [choice], "usage": usage}

    return shaped
