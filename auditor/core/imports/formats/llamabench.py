"""llama.cpp's `llama-bench`: a row per test, as JSON, JSON lines, SQL or a table in Markdown."""

import re
from collections.abc import Iterator
from typing import Any

from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Figure, Grade, Request, Result, Settings

MAX_ROWS = 10_000
_INSERT = re.compile(r"INSERT INTO (?:llama_bench|test) \(([^()]{1,4000})\) VALUES \((.*)\);")
_QUOTED = re.compile(r"'((?:[^']|'')*)'")
_CELL = re.compile(r"([0-9.]+)\s*(?:±|\+/-)\s*([0-9.]+)")
_BUILD = re.compile(r"^build: (\w{1,40}) \((\d{1,10})\)", re.MULTILINE)
_TEST = re.compile(r"(?:pp(\d+))?\+?(?:tg(\d+))?(?:\s*@\s*d(\d+))?")
_NUMBERS = ("n_prompt", "n_gen", "n_depth", "avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "n_gpu_layers")


def _recognise(file: File) -> str | None:
    rows = file.document if isinstance(file.document, list) else file.lines
    if rows:
        return "rows" if isinstance(rows[0], dict) and {"avg_ts", "n_gen", "model_filename"} <= rows[0].keys() else None
    text = file.text or ""
    if "INSERT INTO" in text and _INSERT.search(text) and "avg_ts" in text:
        return "sql"
    return "table" if "t/s" in text and any(map(_header, text.splitlines())) else None


def _header(line: str) -> list[str] | None:
    """The columns that a line names; None where it names none."""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    return cells if line.lstrip().startswith("|") and {"model", "test", "t/s"} <= set(cells) else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    read = {"rows": _json_rows, "sql": _sql_rows, "table": _table_rows}[next(iter(parts))]
    rows = [Fields(row, f"{file.name}: row {number}") for number, row in enumerate(read(file), 1) if number <= MAX_ROWS]
    return Reading(tuple(map(_result, rows)), _version(rows[0]) if rows else None)


def _version(row: Fields) -> str | None:
    build, commit = row.text("build_number", 20), row.text("build_commit", 40)
    return f"build {build} ({commit})" if build and commit else build or commit


def _json_rows(file: File) -> Iterator[Any]:
    yield from file.document if isinstance(file.document, list) else file.lines


def _sql_rows(file: File) -> Iterator[dict[str, Any]]:
    for found in _INSERT.finditer(file.text or ""):
        names = [name.strip() for name in found[1].split(",")]
        values = [value.replace("''", "'") for value in _QUOTED.findall(found[2])]
        yield {name: _number(name, value) for name, value in zip(names, values, strict=False)}


def _number(name: str, value: str) -> Any:
    """Numbers are written as texts in SQL; what is none stays a text, and reading it says so."""
    if name not in _NUMBERS:
        return value
    try:
        return float(value) if "." in value or "e" in value.lower() else int(value[:30])
    except ValueError:
        return value


def _table_rows(file: File) -> Iterator[dict[str, Any]]:
    """Rows under the header; a table says the test in a word, as `pp512` or `tg128 @ d4096`."""
    text = file.text or ""
    build = _BUILD.search(text)
    header: list[str] = []
    for line in text.splitlines():
        header = _header(line) or header
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        row = dict(zip(header, cells, strict=False))
        rate, test = _CELL.search(row.get("t/s", "")), _TEST.fullmatch(row.get("test", ""))
        if not line.lstrip().startswith("|") or rate is None or test is None:
            continue
        yield {
            "build_commit": build[1] if build else None,
            "build_number": build[2] if build else None,
            "model_type": row.get("model"),
            "backends": row.get("backend"),
            "n_prompt": int((test[1] or "0")[:12]),
            "n_gen": int((test[2] or "0")[:12]),
            "n_depth": int((test[3] or "0")[:12]),
            "avg_ts": _number("avg_ts", rate[1]),
            "stddev_ts": _number("stddev_ts", rate[2]),
        }


def _result(row: Fields) -> Result:
    prompt, generated, depth = row.count("n_prompt") or 0, row.count("n_gen") or 0, row.count("n_depth") or 0
    samples = row.times("samples_ns", "ns") or ()
    parts = [f"pp{prompt}" if prompt else "", f"tg{generated}" if generated else ""]
    name = "+".join(part for part in parts if part) + (f" @ d{depth}" if depth else "")
    return Result(
        name=name or "test",
        grade=Grade.UNTIMED if samples else Grade.AGGREGATE,
        grade_because="every repetition with its duration" if samples else "the mean of the repetitions",
        counted_by="made up: the tool decodes random tokens, without sampling, text or a server",
        settings=Settings(
            model=row.text("model_filename") or row.text("model_type"),
            server="llama.cpp, in the process of the tool",
            concurrency=1,
            prompt_tokens=prompt or None,
            output_tokens=generated or None,
            more={
                key: value for key in ("backends", "gpu_info", "flash_attn", "model_type") if (value := row.text(key))
            },
        ),
        started=row.text("test_time"),
        requests=tuple(Request(e2e_ns=one, prompt_tokens=prompt, output_tokens=generated) for one in samples),
        figures=tuple(_figures(row, prompt, generated)),
        missing=("a client: nothing passed a server",),
    )


def _figures(row: Fields, prompt: int, generated: int) -> Iterator[Figure]:
    quantity = None if prompt and not generated else "total/request" if prompt else "delivered/decode"
    if (rate := row.number("avg_ts")) is not None:
        yield Figure(name="avg_ts", value=rate, unit="tokens/s", quantity=quantity)
    if (spread := row.number("stddev_ts")) is not None:
        yield Figure(name="stddev_ts", value=spread, unit="tokens/s")
    if (time := row.number("avg_ns")) is not None:
        yield Figure(name="avg_ns", value=time, unit="ns", quantity="e2e:mean")


FORMAT = Format(
    name="llama-bench",
    tool="llama-bench",
    recognise=_recognise,
    read=_read,
    source="llama.cpp tools/llama-bench/llama-bench.cpp: the json, jsonl, sql and md printers",
    wrong=(
        "no server, no sampling, no text: the same machine serves slower (llama.cpp#25121)",
        "a test with a prompt and generation counts the tokens of both",
        "nothing is drafted: speculation is not measured",
    ),
    seen="a table published in llama.cpp benches/dgx-spark (build 7941); json, jsonl and sql in their documented shape",
)
