"""llama-benchy's Markdown table, as people paste it: a row of prompt speed and one of generation speed a test."""

import re
from collections.abc import Iterator

from auditor.core.imports.decoding import clean
from auditor.core.imports.format import File
from auditor.core.imports.record import Figure, Grade, Result, Settings

MAX_ROWS = 5_000
_COLUMNS = {"model", "test", "ttfr (ms)", "est_ppt (ms)"}
_CELL = re.compile(r"([0-9]{1,12}(?:\.[0-9]{1,6})?) ± [0-9.]{1,20}")
_TEST = re.compile(r"(?:ctx_)?(pp|tg)(\d{1,9})?(?: @ d(\d{1,9}))?(?: \(c(\d{1,6})\))?")
_FIGURES = {
    "t/s": ("tokens/s", None),
    "t/s (total)": ("tokens/s", None),
    "t/s (req)": ("tokens/s", None),
    "peak t/s": ("tokens/s", None),
    "peak t/s (req)": ("tokens/s", None),
    "ttfr (ms)": ("ms", None),
    "est_ppt (ms)": ("ms", None),
    "e2e_ttft (ms)": ("ms", "ttft:mean"),
}


def is_table(file: File) -> bool:
    """Whether the text holds a table of llama-benchy's columns."""
    text = file.text or ""
    return "est_ppt (ms)" in text and any(_header(line) for line in text.splitlines())


def results_of(file: File) -> Iterator[Result]:
    """A result a row."""
    header: list[str] = []
    for line in (file.text or "").splitlines()[:MAX_ROWS]:
        header = _header(line) or header
        row = dict(zip(header, _cells(line), strict=False))
        test = _TEST.fullmatch(row.get("test", ""))
        if test is not None:
            yield _result(row, test)


def _header(line: str) -> list[str] | None:
    cells = _cells(line)
    return cells if set(cells) >= _COLUMNS else None


def _cells(line: str) -> list[str]:
    line = line.strip()
    return [cell.strip() for cell in line.strip("|").split("|")] if line.startswith("|") else []


def _result(row: dict[str, str], test: re.Match[str]) -> Result:
    kind, length, depth, streams = test.groups()
    size = int(length) if length else None
    return Result(
        name=clean(row["test"], 60),
        grade=Grade.AGGREGATE,
        grade_because="means over runs, as a table",
        counted_by="token ids, else usage, else one a chunk: the table does not say which",
        settings=Settings(
            model=clean(row.get("model", ""), 200) or None,
            concurrency=int(streams) or None if streams else 1,
            prompt_tokens=size if kind == "pp" else None,
            output_tokens=size if kind == "tg" else None,
            more={"depth": depth} if depth else {},
        ),
        figures=tuple(_figures(row, kind)),
        missing=("single runs and requests: they are in the JSON and in the progress log",),
    )


def _figures(row: dict[str, str], kind: str) -> Iterator[Figure]:
    for name, (unit, quantity) in _FIGURES.items():
        if found := _CELL.fullmatch(row.get(name, "")):
            is_decode = kind == "tg" and name in ("t/s", "t/s (req)")
            what = "delivered/decode" if is_decode else quantity
            yield Figure(name=name, value=float(found[1]), unit=unit, quantity=what)
