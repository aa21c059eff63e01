"""HAR: what a browser or a proxy recorded; of its entries, those whose answer is an event stream."""

import base64
import binascii
from collections.abc import Iterator

from auditor.core.counting.reading import ReadDetails
from auditor.core.imports.clock import time_of_text
from auditor.core.imports.decoding import JsonError, parse
from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Grade, Request, Result, Settings
from auditor.core.imports.streams import Piece, arrivals_of, request_of, stream_of
from auditor.errors import UsageError


def _recognise(file: File) -> str | None:
    log = file.document.get("log") if isinstance(file.document, dict) else None
    return "har" if isinstance(log, dict) and isinstance(log.get("entries"), list) else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    log = Fields(file.document, file.name).fields("log")
    assert log is not None  # it was recognised by it
    found = [made for entry in log.objects("entries") if (made := _entry(entry, file.details)) is not None]
    if not found:
        raise UsageError("holds no entry whose answer is an event stream", where=file.name)
    creator = log.fields("creator")
    requests = tuple(request for request, _ in found)
    result = Result(
        name="entries",
        grade=Grade.RAW,
        grade_because="what the server sent is in it",
        counted_by="counted here from the events",
        settings=Settings(model=next((model for _, model in found if model), None)),
        clock="epoch",
        requests=requests,
        missing=() if any(one.events_ns for one in requests) else ("the time of each event",),
    )
    tool = " ".join(word for name in ("name", "version") if creator and (word := creator.text(name, 60)))
    return Reading((result,), notes=(f"recorded by {tool}",) if tool else ())


def _entry(entry: Fields, details: ReadDetails) -> tuple[Request, str | None] | None:
    response, asked = entry.fields("response"), _asked(entry)
    content = response.fields("content") if response else None
    started = entry.text("startedDateTime", 60)
    sent = time_of_text(started, entry.where) if started else None
    messages = list(_messages(entry))
    pieces = messages or _body(content)
    if not pieces or not any(data.lstrip().startswith(b"data:") for _, data in pieces):
        return None
    end = entry.time("time", "ms")
    request = request_of(
        stream_of(arrivals_of(pieces), details),
        sent_ns=sent,
        end_ns=None if end is None or sent is None else sent + end,
        is_timed=bool(messages),
    )
    limits = [asked.count(name) for name in ("max_tokens", "max_completion_tokens") if name in asked] if asked else []
    made = request.model_copy(update={"requested_tokens": limits[0] if limits else None})
    return made, asked.text("model") if asked else None


def _messages(entry: Fields) -> Iterator[Piece]:
    """Chrome's list of events, each with the second at which it came."""
    for one in entry.objects("_eventSourceMessages"):
        at, data = one.time("time", "s"), one.raw_text("data")
        if at is not None and data is not None:
            yield at, b"data: " + data.replace("\n", " ").encode("utf-8", "replace") + b"\n\n"


def _body(content: Fields | None) -> list[Piece]:
    text = content.raw_text("text") if content else None
    if content is None or text is None:
        return []
    if content.text("encoding") != "base64":
        return [(None, text.encode("utf-8", "replace"))]
    try:
        return [(None, base64.b64decode(text, validate=True))]
    except (binascii.Error, ValueError):
        raise UsageError("is no base64, though it says so", where=content.where) from None


def _asked(entry: Fields) -> Fields | None:
    """The body of the request; None where it is no JSON object."""
    request = entry.fields("request")
    post = request.fields("postData") if request else None
    text = post.raw_text("text") if post else None
    try:
        value = parse(text) if text else None
    except JsonError:
        return None
    return Fields(value, entry.where) if isinstance(value, dict) else None


FORMAT = Format(
    name="har",
    tool="HAR",
    recognise=_recognise,
    read=_read,
    source="HAR 1.2, with Chrome's `_eventSourceMessages`",
    wrong=("a browser notes one time for the whole answer; only an EventSource has one for each event",),
    seen="Chromium by Playwright 1.65, against llama.cpp; `_eventSourceMessages` in its documented shape only",
)
