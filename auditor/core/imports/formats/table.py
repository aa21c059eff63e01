"""A plain table of timestamps, as CSV or JSON lines: a row per event or token, with a time whose name says its unit."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from auditor.core.imports.clock import time_of_text
from auditor.core.imports.decoding import clean
from auditor.core.imports.fields import MAX_COUNT, time_of
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Grade, Request, Result
from auditor.errors import UsageError
from auditor.terms import Rung

_TIMES = {f"{name}_{unit}": unit for name in ("t", "time", "timestamp", "at") for unit in ("ns", "us", "ms", "s")}
_BARE = ("t", "time", "timestamp", "at")
_IDS = ("request", "request_id", "exchange", "stream", "id")
_TOKENS = ("tokens", "n_tokens", "token_count")
_ONE = ("token", "token_id", "index")
_WHAT = ("event", "what", "kind", "type")
_MARKS = {"send": "send", "sent": "send", "start": "send", "request": "send", "end": "end", "done": "end"}
_TEXTS = ("text", "content", "delta")


def _recognise(file: File) -> str | None:
    names = _header(file) if not file.lines else list(file.lines[0])
    has_time = any(name in _TIMES or name in _BARE for name in names)
    return "table" if has_time and any(name in (*_IDS, *_TOKENS, *_ONE, *_TEXTS, *_WHAT) for name in names) else None


def _header(file: File) -> list[str]:
    first = (file.text or "").lstrip("\n").partition("\n")[0][:2000]
    return [name.strip().lower() for name in next(csv.reader([first]), [])] if "," in first else []


def _rows(file: File) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if file.lines:
        yield from enumerate(file.lines, 1)
        return
    try:
        reader = csv.reader(io.StringIO(file.text or "", newline=""), strict=True)
        names = [name.strip().lower() for name in next(reader)]
        for row in reader:
            if row:
                yield reader.line_num, dict(zip(names, row, strict=False))
    except csv.Error as error:
        raise UsageError(f"is no CSV: {clean(str(error), 80)}", where=file.name) from None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    grouped: dict[str, _Rows] = {}
    for number, row in _rows(file):
        where = f"{file.name}: line {number}"
        key = clean(str(next((row[name] for name in _IDS if row.get(name) not in (None, "")), "")), 60)
        grouped.setdefault(key, _Rows()).take(row, where)
    requests = tuple(rows.request(key) for key, rows in grouped.items())
    if not any(one.events_ns for one in requests):
        raise UsageError("holds no row of an event", where=file.name)
    is_counted = all(one.rung is not Rung.EVENTS for one in requests)
    result = Result(
        name="table",
        grade=Grade.TIMED,
        grade_because="each event has its time",
        counted_by="the table's own column of tokens"
        if is_counted
        else "its rows: a row may be several tokens, or none",
        clock="monotonic",
        requests=requests,
        missing=() if all(one.send_ns is not None for one in requests) else ("when each request was sent",),
    )
    return Reading((result,))


class _Rows:
    """The rows of one request."""

    def __init__(self) -> None:
        self.send: int | None = None
        self.end: int | None = None
        self.events: list[tuple[int, int | None]] = []
        self.is_by_token = True

    def take(self, row: Mapping[str, Any], where: str) -> None:
        """One row: a mark of the request, or an event."""
        at = _time(row, where)
        what = str(next((row[name] for name in _WHAT if row.get(name) is not None), "")).lower()
        mark = _MARKS.get(what)
        if mark == "send":
            self.send = at
        elif mark == "end":
            self.end = at
        else:
            self.events.append((at, _tokens(row, where)))
            self.is_by_token = self.is_by_token and any(row.get(name) not in (None, "") for name in _ONE)

    def request(self, key: str) -> Request:
        """The request; tokens of one time are one event."""
        counted = [tokens for _, tokens in self.events]
        knows = None not in counted or self.is_by_token
        merged: dict[int, int] = {}
        for at, tokens in self.events:
            merged[at] = merged.get(at, 0) + (1 if tokens is None else tokens)
        times = list(merged)
        origin = self.send if self.send is not None else min(times, default=0)
        offsets = tuple(at - origin for at in times)
        has_send = self.send is not None
        return Request(
            id=key or None,
            send_ns=self.send,
            ttft_ns=offsets[0] if offsets and has_send else None,
            last_ns=offsets[-1] if offsets and has_send else None,
            e2e_ns=self.end - origin if self.end is not None and has_send else None,
            events_ns=offsets,
            event_tokens=tuple(merged.values()) if knows else None,
            output_tokens=sum(merged.values()),
            rung=None if knows else Rung.EVENTS,
            error=None if offsets else "no event",
        )


def _time(row: Mapping[str, Any], where: str) -> int:
    for name, unit in _TIMES.items():
        value = row.get(name)
        if value not in (None, ""):
            return time_of(_as_number(value), f"{where}: {name}", unit)
    value = next((row[name] for name in _BARE if row.get(name) not in (None, "")), None)
    if value is None:
        raise UsageError("has no time", where=where, remedy="name the column t_s, t_ms, t_us or t_ns")
    return time_of_text(str(value)[:60], where)


def _as_number(value: Any) -> Any:
    """A number that CSV holds as text; what is none stays as it is, and the reader says so."""
    if not isinstance(value, str) or len(value) > 40:
        return value
    try:
        return int(value)
    except ValueError:
        try:
            return float(value)
        except ValueError:
            return value


def _tokens(row: Mapping[str, Any], where: str) -> int | None:
    value = next((row[name] for name in _TOKENS if row.get(name) not in (None, "")), None)
    if value is None:
        return None
    number = _as_number(value)
    if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number <= MAX_COUNT:
        raise UsageError(f"tokens must be a count, and are {clean(str(value), 20)!r}", where=where)
    return number


FORMAT = Format(
    name="table",
    tool="table of timestamps",
    recognise=_recognise,
    read=_read,
    source="columns `request`, a time as `t_s`, `t_ms`, `t_us` or `t_ns` (or `time` as ISO 8601), `tokens`, `token`, "
    "`text`, and `event` with `send` and `end` for the marks of a request; `audit log` writes such a table",
    wrong=("without `tokens`, a row is an event: it may hold several tokens, or none",),
)
