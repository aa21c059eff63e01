"""The text of a line: without colours, and out of the JSON or the carriage returns that it may be wrapped in."""

import re
from collections.abc import Iterator

import orjson

_COLOUR = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_PROCESS = re.compile(r"\((\w+ pid=\d+)\)")


def texts_of(raw: bytes) -> Iterator[str]:
    """What one line of a file says: one text, or one for each part that a carriage return would overwrite.

    Docker's and journald's JSON is opened and its time put before the text, so that it is found as any other.
    """
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    if text[:1] == "{":
        text = _unwrapped(text)
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    for part in re.split(r"[\r\n]", text) if "\r" in text or "\n" in text else (text,):
        if part:
            yield part


def process_of(text: str) -> str:
    """The process that printed a line, as vLLM names it; empty where the line does not tell."""
    match = _PROCESS.search(text[:200])
    return match[1] if match else ""


def _unwrapped(text: str) -> str:
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(document, dict):
        return text
    log, message = document.get("log"), document.get("MESSAGE")
    if isinstance(log, str):
        time = document.get("time")
        return f"{time} {log}" if isinstance(time, str) else log
    if isinstance(message, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in message):
        message = bytes(message).decode("utf-8", "replace")
    return message if isinstance(message, str) else text
