"""Raw server-sent events: what `curl -N` printed, with or without its headers, and with or without a time on each line
as `ts` puts there."""

import re
from collections.abc import Iterator

from auditor.core.counting.reading import ReadDetails
from auditor.core.imports.clock import time_of_text
from auditor.core.imports.decoding import clean
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Grade, Request, Result, Settings
from auditor.core.imports.streams import Piece, arrivals_of, request_of, stream_of
from auditor.core.wire.chunks import ChunkError, read_chunk
from auditor.errors import UsageError

_TIMED = re.compile(r"\[?([0-9][0-9T:.+Z -]{2,40}?)\]?[ \t]+(?=data:|event:|id:|:)")
_HEAD = re.compile(r"(< )?HTTP/[0-9.]+ [0-9]{3}")
_LOOKED_AT = 100_000
"""Characters in which the first event must be."""


def _recognise(file: File) -> str | None:
    text = file.text
    if text is None:
        return None
    for line in text[:_LOOKED_AT].splitlines():
        if _event_line(line)[1].startswith(("data: {", "data:{")):
            return "capture"
    return None


def _event_line(line: str) -> tuple[str | None, str]:
    """The time before a line, as written, and the line."""
    found = _TIMED.match(line)
    return (found[1], line[found.end() :]) if found else (None, line)


def _read(parts: Parts) -> Reading:
    file = only(parts)
    streams = list(_streams(file))
    is_timed = all(at is not None for pieces in streams for at, _ in pieces)
    requests = tuple(_request(pieces, file.details, is_timed=is_timed) for pieces in streams)
    if all(one.error is not None for one in requests):
        raise UsageError("holds no event with text or tokens", where=file.name, remedy="give a whole response")
    result = Result(
        name="capture",
        grade=Grade.RAW,
        grade_because="what the server sent, event by event" + ("" if is_timed else ", without times"),
        counted_by="counted here from the events",
        settings=Settings(model=_model(streams)),
        clock="monotonic" if is_timed else "none",
        requests=requests,
        missing=("when the request was sent",) if is_timed else ("the time of each event: pipe through `ts -s %.s`",),
    )
    return Reading((result,))


def _streams(file: File) -> Iterator[list[Piece]]:
    """The lines of each response with their times: one ends with `[DONE]` or where another begins."""
    pieces: list[Piece] = []
    for number, line in enumerate((file.text or "").split("\n"), 1):
        time, rest = _event_line(line.rstrip("\r"))
        if _HEAD.match(rest) and pieces:
            yield pieces
            pieces = []
        if rest.startswith(("data:", "event:")):
            at = None if time is None else time_of_text(time, f"{file.name}: line {number}")
            # Every line is an event of its own here: what a server sends has its data in one line.
            pieces.append((at, rest.encode("utf-8", "replace") + b"\n\n" * rest.startswith("data:")))
        if rest.removeprefix("data:").strip() == "[DONE]" and pieces:
            yield pieces
            pieces = []
    if pieces:
        yield pieces


def _request(pieces: list[Piece], details: ReadDetails, *, is_timed: bool) -> Request:
    return request_of(stream_of(arrivals_of(pieces), details), sent_ns=None, is_timed=is_timed)


def _model(streams: list[list[Piece]]) -> str | None:
    for pieces in streams:
        for _, data in pieces[:20]:
            try:
                raw = read_chunk(data.removeprefix(b"data:").strip()).raw
            except ChunkError:
                continue
            if isinstance(raw.get("model"), str):
                return clean(raw["model"]) or None
    return None


FORMAT = Format(
    name="sse",
    tool="raw server-sent events",
    recognise=_recognise,
    read=_read,
    source="the event stream of the HTML standard, as `curl -N`, `curl -Ni`, `curl -Nv` and `ts` write it",
    wrong=(
        "a pipe or a terminal may hold lines back, so that several come at one time",
        "without usage and ids, events are all that can be counted",
    ),
    seen="curl 7.88 against llama.cpp: plain, `-i`, `-v`, and with times before each line",
)
