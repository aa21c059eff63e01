"""evalscope perf: the SQLite database of requests, its summary and its percentiles.

The database is read from a copy in memory, by columns, with the schema untrusted. `response_messages` holds pickles: it
is never selected, and nothing is ever unpickled.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import accumulate
from typing import Any

from auditor.core.imports.decoding import JsonError, parse
from auditor.core.imports.fields import Fields, time_of
from auditor.core.imports.format import File, Format, Parts, Reading
from auditor.core.imports.measured import Measured
from auditor.core.imports.record import Figure, Grade, ImportFinding, Request, Result, Settings
from auditor.core.imports.told import Told, beside, figures_of, named
from auditor.errors import UsageError

MAX_ROWS = 500_000
MAX_STEPS = 20_000_000
"""Of SQLite's machine: more than that is no reading of a table."""
_MAGIC = b"SQLite format 3\0"
_COLUMNS = (
    "request", "start_time", "completed_time", "latency", "first_chunk_latency", "inter_token_latencies",
    "prompt_tokens", "completion_tokens", "success", "request_id", "is_stream",
)  # fmt: skip
_NEEDED = {"start_time", "latency", "completion_tokens", "success"}
_SUMMARY = (
    Told("Output Throughput (tok/s)", "tokens/s", "delivered/system"),
    Told("Total Throughput (tok/s)", "tokens/s", "total/system"),
    Told("Req Throughput (req/s)", "requests/s", "requests/second"),
    Told("Success Requests", "requests", "completed"),
    Told("Failed Requests", "requests", "failed"),
    Told("Avg Latency (s)", "s", "e2e:mean"),
    Told("Avg TTFT (ms)", "ms", "ttft:mean"),
    Told("Avg TPOT (ms)", "ms", "tpot:mean"),
    Told("Avg ITL (ms)", "ms", "icl:mean", "itl:mean"),
    Told("Avg Decoded Tok/Iter", "tokens/event"),
    Told("Spec. Accept Rate", ""),
)
_SHOWN = ("50%", "90%", "99%", "max")
_PERCENTILES = (
    Told("Latency (s)", "s"),
    Told("TTFT (ms)", "ms"),
    Told("ITL (ms)", "ms"),
    Told("TPOT (ms)", "ms"),
    Told("Output (tok/s)", "tokens/s"),
    Told("Decode (tok/s)", "tokens/s"),
)


def _recognise(file: File) -> str | None:
    if file.data.startswith(_MAGIC):
        return "requests" if b"first_chunk_latency" in file.data[:65_536] else None
    one = file.document
    if isinstance(one, dict) and {"Test Duration (s)", "Success Requests"} <= set(one):
        return "summary"
    first = one[0] if isinstance(one, list) and one else None
    return "percentiles" if isinstance(first, dict) and {"Percentiles", "TTFT (ms)"} <= set(first) else None


def _read(parts: Parts) -> Reading:
    summary = Fields(parts["summary"].document, parts["summary"].name) if "summary" in parts else None
    file = parts.get("requests")
    rows = _rows(file) if file else []
    requests = tuple(_request(row) for row in rows)
    bodies = [body for row in rows[:50] if (body := _body(row)) is not None]
    result = Result(
        name="requests" if file else "summary",
        grade=Grade.TIMED if file else Grade.AGGREGATE,
        grade_because="each request has its start, the gaps between its events and a count"
        if file
        else "the summary only",
        counted_by="usage of the server, else the text tokenised: the file does not record which",
        settings=Settings(
            model=next((model for body in bodies if (model := body.text("model"))), None),
            concurrency=summary.count("Concurrency") or None if summary else None,
            request_rate=_rate(summary),
            prompts=summary.count("Total Requests") if summary else None,
        ),
        clock="monotonic" if file else "none",
        duration_ns=summary.time("Test Duration (s)", "s") if summary else None,
        requests=requests,
        figures=(*figures_of(summary, _SUMMARY), *_percentiles(parts.get("percentiles"))),
        missing=() if summary else ("rates over all requests: they are in benchmark_summary.json",),
    )
    return Reading((result.model_copy(update={"findings": tuple(_findings(result))}),))


def _rate(summary: Fields | None) -> str | None:
    """The rate that was asked for; -1 is none."""
    value = summary.number("Request Rate (req/s)") if summary else None
    return f"{value:g}" if value is not None and value > 0 else None


def _percentiles(file: File | None) -> Iterator[Figure]:
    """Percentiles, which are values of single requests: they are not counted anew."""
    for value in file.document if file else ():
        row = Fields(value, file.name if file else "")
        if (which := row.text("Percentiles", 10)) not in _SHOWN:
            continue
        for one in figures_of(row, _PERCENTILES):
            yield one.model_copy(update={"name": f"{one.name} {which}"})


def _rows(file: File) -> list[Fields]:
    """The rows of `result`; raises UsageError for what is no such table, and for what takes too long to read."""
    steps = iter(range(MAX_STEPS // 100_000))
    try:
        with closing(sqlite3.connect(":memory:")) as database:
            database.deserialize(_without_wal(file.data))
            database.text_factory = lambda data: data.decode("utf-8", "replace")
            for pragma in ("trusted_schema=OFF", "cell_size_check=ON", "query_only=ON", "mmap_size=0"):
                database.execute(f"PRAGMA {pragma}")
            database.set_progress_handler(lambda: next(steps, None) is None, 100_000)
            return list(_selected(database, file.name))
    except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
        words = "takes too long to read" if "interrupt" in str(error) else "is no database that can be read"
        raise UsageError(words, where=file.name, remedy="give the tool's own file") from None


def _without_wal(data: bytes) -> bytes:
    """The same database with its header saying that there is no write-ahead log, for there is none in memory."""
    return data[:18] + b"\x01\x01" + data[20:] if data[18:20] == b"\x02\x02" else data


def _selected(database: sqlite3.Connection, where: str) -> Iterator[Fields]:
    kinds = database.execute("SELECT type, sql FROM sqlite_master WHERE name = 'result'").fetchall()
    if len(kinds) != 1 or kinds[0][0] != "table" or "virtual" in str(kinds[0][1]).lower():
        raise UsageError("holds no table `result`", where=where)
    there = [row[1] for row in database.execute("PRAGMA table_info(result)")]
    names = [name for name in _COLUMNS if name in there]
    if not set(names) >= _NEEDED:
        raise UsageError("its table `result` has other columns than evalscope's", where=where)
    chosen = ", ".join(names)
    for number, row in enumerate(database.execute(f"SELECT {chosen} FROM result ORDER BY rowid"), 1):
        if number > MAX_ROWS:
            raise UsageError(f"holds more than {MAX_ROWS:,} requests", where=where)
        yield Fields(dict(zip(names, row, strict=True)), f"{where}: row {number}")


def _request(row: Fields) -> Request:
    failed = not row.count("success")
    first = row.time("first_chunk_latency", "s") if row.count("is_stream") != 0 else None
    gaps = [time_of(gap, f"{row.where}: inter_token_latencies", "s") for gap in _list(row)]
    events = tuple(accumulate(gaps, initial=first)) if first is not None else None
    body = _body(row)
    return Request(
        id=row.text("request_id", 80),
        send_ns=row.time("start_time", "s"),
        ttft_ns=None if failed else first,
        last_ns=None if failed or not events else events[-1],
        e2e_ns=None if failed else row.time("latency", "s"),
        events_ns=None if failed else events,
        prompt_tokens=row.count("prompt_tokens"),
        output_tokens=None if failed else row.count("completion_tokens"),
        requested_tokens=body.count("max_tokens") if body else None,
        error="no success" if failed else None,
    )


def _list(row: Fields) -> list[Any]:
    value = _json(row, "inter_token_latencies")
    return value if isinstance(value, list) else []


def _body(row: Fields) -> Fields | None:
    value = _json(row, "request")
    return Fields(value, row.where) if isinstance(value, dict) else None


def _json(row: Fields, name: str) -> Any:
    try:
        return parse(row.raw_text(name) or "null")
    except JsonError:
        return None


def _findings(result: Result) -> Iterator[ImportFinding]:
    measured = Measured(result)
    events, delivered, count = measured.events, measured.delivered, len(measured.done)
    right = (delivered - count) / (events - count) if events and delivered and events > count else None
    if (length := named(result.figures, "Avg Decoded Tok/Iter")) is not None and length.value > 1:
        what = "a mean over requests of which those with one token an event were left out"
        yield from beside(length, what, "all tokens by all events, less the first ones", right, "length-selected")
    if (rate := named(result.figures, "Spec. Accept Rate")) is not None and rate.value:
        what = (
            "1 - 1/L, the share of tokens that did not take a step of their own: accepted by drafted is another number"
        )
        yield from beside(
            rate, what, "that share over all requests", 1 - 1 / right if right else None, "acceptance-estimated"
        )


FORMAT = Format(
    name="evalscope",
    tool="evalscope perf",
    recognise=_recognise,
    read=_read,
    source="evalscope 1.14.1: perf/utils/db_util.py, perf/utils/benchmark_util.py (read at fde259d too)",
    wrong=(
        "`Spec. Accept Rate` is 1 - 1/L, which no count of drafts enters: with 3 drafts a step, each right 7 times in "
        "10, it says 0.61 where 0.51 of the drafts are accepted",
        "`Avg Decoded Tok/Iter` is a mean over requests and leaves out those with one token an event",
        "`Avg ITL` is the gap between events",
        "responses are kept as pickles, which are not read",
    ),
    seen="evalscope 1.14.1, database and summary, against vLLM 0.32 on a CPU with n-gram drafts",
)
