"""One event of an OpenAI-shaped stream, read: text, reasoning, tool calls, token ids, usage, error."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson

DONE = b"[DONE]"
_SURROGATE = re.compile("[\ud800-\udfff]")
_MAX_COUNT = 1 << 53
_REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking", "thinking_content", "reasoning_details")
"""Every spelling of the field; a server that sends several sends the same text in each."""


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts as the server states them; None where it does not."""

    completion: int | None
    prompt: int | None
    cached: int | None
    reasoning: int | None
    rejected_prediction: int | None
    """Tokens of a predicted output that were not used; counted in `completion` by OpenAI's own service."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one event carries."""

    raw: dict[str, Any]
    text: str = ""
    reasoning: str = ""
    tool: str = ""
    token_ids: tuple[int, ...] | None = None
    usage: Usage | None = None
    finish_reason: str | None = None
    error: str | None = None
    choices: tuple[int, ...] = ()
    """Indexes of the choices in it."""
    has_nan: bool = False
    """Whether it holds NaN or Infinity, which JSON has no words for."""

    @property
    def bears_text(self) -> bool:
        """Whether anything was delivered in it that a reader sees."""
        return bool(self.text or self.reasoning or self.tool)

    @property
    def bears_tokens(self) -> bool:
        """Whether it carries tokens, visible or not."""
        return self.bears_text or bool(self.token_ids)


class ChunkError(ValueError):
    """An event that is not a JSON object."""


def read_chunk(data: bytes, shape: Callable[[dict[str, Any]], dict[str, Any]] | None = None) -> Chunk:
    """Read the data of one event; raises ChunkError. `shape` gives it in the OpenAI shape where it is in another."""
    value, has_nan = _load(data)
    if not isinstance(value, dict):
        raise ChunkError(f"an event is {type(value).__name__}, not an object")
    value = shape(value) if shape else value
    texts: list[str] = []
    reasonings: list[str] = []
    tools: list[str] = []
    indexes: list[int] = []
    ids: tuple[int, ...] | None = None
    finish = None
    for choice in _objects(value.get("choices")):
        index = choice.get("index")
        indexes.append(index if isinstance(index, int) else 0)
        delta = choice.get("delta")
        holder = delta if isinstance(delta, dict) else choice
        message = choice.get("message")
        holder = message if isinstance(message, dict) else holder
        texts.append(_text(holder.get("content")) or _text(choice.get("text")))
        thought = next((text for name in _REASONING if (text := _text(holder.get(name)))), "")
        reasonings.append(thought or _thought_parts(holder.get("content")))
        tools.extend(_tool_text(call) for call in _objects(holder.get("tool_calls")))
        tools.append(_tool_text({"function": holder.get("function_call")}))  # the older shape
        own_ids = choice.get("token_ids")
        if isinstance(own_ids, list):
            ids = (*(ids or ()), *(i for i in own_ids if isinstance(i, int) and 0 <= i < _MAX_COUNT))
        finish = choice.get("finish_reason") or finish
    return Chunk(
        raw=value,
        text="".join(texts),
        reasoning="".join(reasonings),
        tool="".join(tools),
        token_ids=ids,
        usage=_usage(value.get("usage")),
        finish_reason=str(finish) if finish else None,
        error=_error(value),
        choices=tuple(indexes),
        has_nan=has_nan,
    )


def _load(data: bytes) -> tuple[Any, bool]:
    try:
        return orjson.loads(data), False
    except orjson.JSONDecodeError:
        pass
    seen_nan = False

    def not_a_number(word: str) -> None:
        nonlocal seen_nan
        seen_nan = True

    try:
        value = _whole_characters(json.loads(data.decode("utf-8", "replace"), parse_constant=not_a_number))
    except (ValueError, RecursionError) as error:
        raise ChunkError(f"an event is not JSON: {data[:60].decode('utf-8', 'replace')!r}") from error
    return value, seen_nan


def _whole_characters(value: Any) -> Any:
    """The same with U+FFFD for each half of a surrogate pair: such a text cannot be written down again."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_whole_characters(key): _whole_characters(item) for key, item in value.items()}
    return [_whole_characters(item) for item in value] if isinstance(value, list) else value


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list):  # content parts
        return "".join(part.get("text", "") for part in _objects(value) if isinstance(part.get("text"), str))
    return ""


def _thought_parts(value: Any) -> str:
    """Reasoning that comes as a part of the content, a text or parts again."""
    return "".join(_text(part.get("thinking")) for part in _objects(value))


def _tool_text(call: dict[str, Any]) -> str:
    function = call.get("function")
    if not isinstance(function, dict):
        return ""
    return _text(function.get("name")) + _text(function.get("arguments"))


def _error(value: dict[str, Any]) -> str | None:
    error = value.get("error")
    if not error and value.get("object") == "error":
        error = value
    if not error:
        return None
    if isinstance(error, dict):
        return str(error.get("message") or error)
    return str(error)


def _usage(value: Any) -> Usage | None:
    if not isinstance(value, dict):
        return None
    prompt_details = value.get("prompt_tokens_details")
    completion_details = value.get("completion_tokens_details")
    return Usage(
        completion=_count(value, "completion_tokens"),
        prompt=_count(value, "prompt_tokens"),
        cached=_count(prompt_details, "cached_tokens"),
        reasoning=_first(_count(value, "reasoning_tokens"), _count(completion_details, "reasoning_tokens")),
        rejected_prediction=_count(completion_details, "rejected_prediction_tokens"),
    )


def _count(value: Any, name: str) -> int | None:
    count = value.get(name) if isinstance(value, dict) else None
    is_count = isinstance(count, int) and not isinstance(count, bool) and 0 <= count < _MAX_COUNT
    return count if is_count else None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)
