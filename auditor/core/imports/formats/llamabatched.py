"""llama.cpp's `llama-batched-bench`: a row per load, as JSON lines or a table in Markdown."""

from collections.abc import Iterator
from typing import Any

from auditor.core.imports.checks import laid
from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Figure, Grade, ImportFinding, Result, Settings

_COLUMNS = ("pp", "tg", "pl", "n_kv", "t_pp", "speed_pp", "t_tg", "speed_tg", "t", "speed")
_TABLE = ("PP", "TG", "B", "N_KV", "T_PP s", "S_PP t/s", "T_TG s", "S_TG t/s", "T s", "S t/s")


def _recognise(file: File) -> str | None:
    if file.lines:
        return "rows" if {"pp", "tg", "pl", "speed_tg"} <= file.lines[0].keys() else None
    return "table" if any(_cells(line) == list(_TABLE) for line in (file.text or "").splitlines()[:500]) else None


def _cells(line: str) -> list[str] | None:
    return [cell.strip() for cell in line.strip().strip("|").split("|")] if line.lstrip().startswith("|") else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    rows = file.lines if "rows" in parts else tuple(_table(file.text or ""))
    results = [_result(Fields(row, f"{file.name}: row {number}")) for number, row in enumerate(rows, 1)]
    return Reading(tuple(results))


def _table(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        cells = _cells(line)
        if cells is None or len(cells) != len(_COLUMNS):
            continue
        try:
            yield {name: float(cell[:30]) for name, cell in zip(_COLUMNS, cells, strict=True)}
        except ValueError:
            continue


def _result(row: Fields) -> Result:
    prompt, generated, streams = (row.count(name) or 0 for name in ("pp", "tg", "pl"))
    is_shared = bool(row.count("is_pp_shared")) if "is_pp_shared" in row else None
    figures = tuple(_figures(row, streams))
    return Result(
        name=f"pp{prompt} tg{generated} x {streams}",
        grade=Grade.AGGREGATE,
        grade_because="one duration for the prompts and one for the generation",
        counted_by="made up: the tool decodes tokens of its own, without sampling, text or a server",
        settings=Settings(
            server="llama.cpp, in the process of the tool",
            concurrency=streams or None,
            prompt_tokens=prompt or None,
            output_tokens=generated or None,
            more={} if is_shared is None else {"is_pp_shared": str(is_shared).lower()},
        ),
        duration_ns=row.time("t", "s"),
        figures=figures,
        missing=("a client: nothing passed a server", "the model"),
        findings=tuple(_sums(row, figures, prompt, generated, streams, is_shared=is_shared)),
    )


def _figures(row: Fields, streams: int) -> Iterator[Figure]:
    rate = "delivered/decode" if streams == 1 else "span/system"
    quantities = {"speed_pp": None, "speed_tg": rate, "speed": "total/system" if streams > 1 else "total/request"}
    for name, quantity in quantities.items():
        if (value := row.number(name)) is not None:
            yield Figure(name=name, value=value, unit="tokens/s", quantity=quantity)


def _sums(
    row: Fields, figures: tuple[Figure, ...], prompt: int, generated: int, streams: int, *, is_shared: bool | None
) -> Iterator[ImportFinding]:
    """Each rate against the counts and the duration beside it; of a shared prompt, one is worked on."""
    prompts = prompt if is_shared else prompt * streams
    counts = {"speed_pp": (prompts, "t_pp"), "speed_tg": (generated * streams, "t_tg")}
    for one in figures:
        count, clock = counts.get(one.name, (0, "t"))
        time = row.number(clock)
        if count and time and not (one.name == "speed_pp" and is_shared is None and streams > 1):
            yield from laid(one, count / time)


FORMAT = Format(
    name="llama-batched-bench",
    tool="llama-batched-bench",
    recognise=_recognise,
    read=_read,
    source="llama.cpp tools/batched-bench/batched-bench.cpp: the jsonl and md printers",
    wrong=(
        "`speed_tg` is the sum over all streams: one stream gets it divided by `pl`",
        "`speed` counts prompt and generated tokens together",
        "no server, no sampling, no text",
    ),
    seen="a table published in llama.cpp benches/dgx-spark (build 7941); jsonl in its documented shape",
)
