"""Prompts of the reviewer's own: JSON lines with `prompt` or `messages`, or the ShareGPT shape."""

from collections.abc import Sequence
from typing import Any

import orjson
from pydantic import ValidationError

from auditor.core.plan.prompts import Message, Prompt
from auditor.errors import UsageError

MAX_PROMPTS = 10_000
_ROLES = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "system",
}
_REMEDY = "give prompt, messages, or conversations"


def read_prompts(data: bytes, where: str) -> tuple[Prompt, ...]:
    """Read a prompt file; raises UsageError with the line, or the number of the item in a list."""
    items = _items(data.removeprefix(b"\xef\xbb\xbf"), where)
    if not items:
        raise UsageError("holds no prompt", where=where, remedy='give lines such as {"prompt": "..."}')
    if len(items) > MAX_PROMPTS:
        raise UsageError(f"holds {len(items):,} prompts", where=where, remedy=f"give at most {MAX_PROMPTS:,}")
    return tuple(
        Prompt(id=f"own-{i + 1}", kind="reviewer", origin="reviewer", messages=_messages(item, place))
        for i, (place, item) in enumerate(items)
    )


def _items(data: bytes, where: str) -> list[tuple[str, Any]]:
    """Objects with their places: one a line, or all in one list as ShareGPT files have them."""
    if data.lstrip().startswith(b"["):
        return [(f"{where}, item {i + 1}", item) for i, item in enumerate(_json(data, where))]
    lines = data.split(b"\n")
    return [(f"{where}:{i + 1}", _json(line, f"{where}:{i + 1}")) for i, line in enumerate(lines) if line.strip()]


def _json(data: bytes, where: str) -> Any:
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"is not JSON ({error})", where=where, remedy="write one object a line") from error


def _messages(item: Any, where: str) -> tuple[Message, ...]:
    if not isinstance(item, dict):
        raise UsageError("is not an object", where=where, remedy=_REMEDY)
    if isinstance(item.get("prompt"), str) and item["prompt"].strip():
        return (Message(role="user", content=item["prompt"]),)
    turns = item.get("messages") or item.get("conversations")
    if not isinstance(turns, list) or not turns:
        raise UsageError("has no prompt", where=where, remedy=_REMEDY)
    messages = [_message(turn, where) for turn in turns]
    if not any(message.role == "user" for message in messages):
        raise UsageError("has no turn of a user", where=where, remedy=_REMEDY)
    if not item.get("messages"):
        return _opening(messages)
    # A conversation ends with the question that is to be answered.
    while messages[-1].role == "assistant":
        messages.pop()
    return tuple(messages)


def _message(turn: Any, where: str) -> Message:
    if not isinstance(turn, dict):
        raise UsageError("has a turn that is not an object", where=where, remedy=_REMEDY)
    role = _ROLES.get(str(turn.get("role") or turn.get("from")))
    content = turn.get("content") or turn.get("value")
    try:
        return Message.model_validate({"role": role, "content": content})
    except ValidationError:
        raise UsageError("has a turn without a known role or text", where=where, remedy=_REMEDY) from None


def _opening(messages: Sequence[Message]) -> tuple[Message, ...]:
    """The first question of a recorded conversation, with what the system said before it."""
    first = next(i for i, message in enumerate(messages) if message.role == "user")
    return (*(message for message in messages[:first] if message.role == "system"), messages[first])
