"""Prompts of the reviewer's own: JSON lines with `prompt` or `messages`, or the ShareGPT shape."""

from typing import Any

import orjson
from pydantic import ValidationError

from auditor.core.prompts import Message, Prompt
from auditor.errors import UsageError

MAX_PROMPTS = 10_000
_ROLES = {"human": "user", "user": "user", "gpt": "assistant", "assistant": "assistant", "system": "system"}


def read_prompts(data: bytes, where: str) -> tuple[Prompt, ...]:
    """Read a prompt file; raises UsageError with the line."""
    items = _items(data, where)
    if not items:
        raise UsageError("holds no prompt", where=where, remedy='give lines such as {"prompt": "..."}')
    if len(items) > MAX_PROMPTS:
        raise UsageError(f"holds {len(items):,} prompts", where=where, remedy=f"give at most {MAX_PROMPTS:,}")
    return tuple(
        Prompt(id=f"own-{i + 1}", kind="reviewer", origin="reviewer", messages=_messages(item, f"{where}:{line}"))
        for i, (line, item) in enumerate(items)
    )


def _items(data: bytes, where: str) -> list[tuple[int, Any]]:
    """Objects with their lines: one a line, or all in one list as ShareGPT files have them."""
    try:
        if data.lstrip().startswith(b"["):
            whole = orjson.loads(data)
            return [(i + 1, item) for i, item in enumerate(whole)]
        lines = data.split(b"\n")
        return [(i + 1, _line(line, f"{where}:{i + 1}")) for i, line in enumerate(lines) if line.strip()]
    except orjson.JSONDecodeError as error:
        raise UsageError(f"is not JSON ({error})", where=where) from error


def _line(line: bytes, where: str) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"is not JSON ({error})", where=where, remedy="write one object a line") from error


def _messages(item: Any, where: str) -> tuple[Message, ...]:
    remedy = "give prompt, messages, or conversations"
    if not isinstance(item, dict):
        raise UsageError("is not an object", where=where, remedy=remedy)
    if isinstance(item.get("prompt"), str) and item["prompt"].strip():
        return (Message(role="user", content=item["prompt"]),)
    turns = item.get("messages") or item.get("conversations")
    if not isinstance(turns, list) or not turns:
        raise UsageError("has no prompt", where=where, remedy=remedy)
    messages = []
    for turn in turns:
        if not isinstance(turn, dict):
            raise UsageError("has a turn that is not an object", where=where)
        role = _ROLES.get(str(turn.get("role") or turn.get("from")))
        content = turn.get("content") or turn.get("value")
        try:
            messages.append(Message.model_validate({"role": role, "content": content}))
        except ValidationError:
            raise UsageError("has a turn without a known role or text", where=where, remedy=remedy) from None
    # A conversation ends with the question that is to be answered.
    while messages and messages[-1].role == "assistant":
        messages.pop()
    if not messages:
        raise UsageError("has no turn of a user", where=where, remedy=remedy)
    if "conversations" in item:
        return tuple(messages[:1]) if messages[0].role == "user" else tuple(messages[:2])
    return tuple(messages)
