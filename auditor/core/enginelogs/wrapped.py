"""The text of a line: without colours, and out of the JSON or the carriage returns that it may be wrapped in."""

import re
from collections.abc import Iterator, Sequence

import orjson

_COLOUR = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
_PROCESS = re.compile(r"\((\w+ pid=\d+)\)")


def plain(raw: bytes) -> bytes:
    """A line of a file without colours; Docker's and journald's JSON is opened.

    Docker's time is put before the text, so that it is found as any other.
    """
    if raw[:1] == b"{" and (b'"log"' in raw or b'"MESSAGE"' in raw):
        raw = _unwrapped(raw)
    return _COLOUR.sub(b"", raw) if b"\x1b" in raw else raw


def texts_of(raw: bytes) -> Iterator[str]:
    """What a plain line says: one text, or one for each part that a carriage return would overwrite."""
    text = raw.decode("utf-8", "replace").rstrip("\r\n")
    for part in re.split(r"[\r\n]", text) if "\r" in text or "\n" in text else (text,):
        if part:
            yield part


def pieces(text: str, starts: Sequence[int]) -> Iterator[str]:
    """The text cut at each start, what lies before the first left out."""
    for begin, end in zip(starts, [*starts[1:], len(text)], strict=False):
        yield text[begin:end]


def process_of(text: str) -> str:
    """The process that printed a line, as vLLM names it; empty where the line does not tell."""
    match = _PROCESS.search(text[:200])
    return match[1] if match else ""


def _unwrapped(raw: bytes) -> bytes:
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError:
        return raw
    if not isinstance(document, dict):
        return raw
    log, message, time = document.get("log"), document.get("MESSAGE"), document.get("time")
    if isinstance(log, str):
        return f"{time} {log}".encode() if isinstance(time, str) else log.encode()
    if isinstance(message, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in message):
        return bytes(message)
    return message.encode() if isinstance(message, str) else raw
