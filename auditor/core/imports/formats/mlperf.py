"""MLPerf LoadGen's logs: the summary, the detail log and the answers of an accuracy run."""

import re
from collections.abc import Iterator

from auditor.core.imports.decoding import JsonError, clean, parse
from auditor.core.imports.fields import Fields
from auditor.core.imports.findings import about, fails, finding
from auditor.core.imports.format import File, Format, Parts, Reading
from auditor.core.imports.record import Figure, Grade, ImportFinding, Result, Settings
from auditor.core.imports.told import beside, named
from auditor.errors import UsageError
from auditor.terms import Outcome

MAX_LINES = 200_000
_TITLE = "MLPerf Results Summary"
_LOG = ":::MLLOG "
_LINE = re.compile(r"^ {0,4}([A-Za-z0-9][^:\n]{1,60}?)\s*:\s*(\S[^\n]{0,200})$", re.MULTILINE)
_FIGURES = {
    "Samples per second": ("samples/s", None),
    "Completed samples per second": ("samples/s", None),
    "Scheduled samples per second": ("samples/s", None),
    "Tokens per second": ("tokens/s", None),
    "Completed tokens per second": ("tokens/s", None),
    "Tokens per second (inferred)": ("tokens/s", None),
    "Completed tokens per second (inferred)": ("tokens/s", None),
    "Mean latency (ns)": ("ns", "e2e:mean"),
    "Mean First Token latency (ns)": ("ns", "ttft:mean"),
    "Mean Time per Output Token (ns)": ("ns", "tpot:mean"),
    "99.00 percentile latency (ns)": ("ns", "e2e:p99"),
    "99.00 percentile first token latency (ns)": ("ns", "ttft:p99"),
    "99.00 percentile time to output token (ns)": ("ns", "tpot:p99"),
}
_TOKEN_HEX = 8
"""Digits of a token id, which is of 32 bits in the logs of language models."""


def _recognise(file: File) -> str | None:
    text = file.text or ""
    if _TITLE in text[:400]:
        return "summary"
    if text.startswith(_LOG):
        return "detail"
    one = file.document[0] if isinstance(file.document, list) and file.document else None
    return "accuracy" if isinstance(one, dict) and {"seq_id", "qsl_idx", "data"} <= set(one) else None


def _read(parts: Parts) -> Reading:
    summary = dict(_LINE.findall(parts["summary"].text or "")) if "summary" in parts else {}
    detail = _detail(parts["detail"]) if "detail" in parts else {}
    figures = tuple(_figures(summary))
    result = Result(
        name=clean(" ".join(filter(None, (summary.get("Scenario"), summary.get("Mode"))))) or "MLPerf log",
        grade=Grade.AGGREGATE,
        grade_because="sums and percentiles; the answers, where they are given, have no times",
        counted_by="as many tokens as the tested system said that each answer has",
        settings=Settings(
            server=clean(summary["SUT name"]) if "SUT name" in summary else None,
            request_rate=clean(summary["target_qps"], 30) if "target_qps" in summary else None,
            more={
                name: clean(summary[name], 60)
                for name in ("Scenario", "Mode", "min_duration (ms)", "min_query_count", "performance_issue_same")
                if name in summary
            },
        ),
        figures=figures,
        findings=(*_validity(summary), *_inferred(figures), *_errors(detail), *_answers(parts.get("accuracy"))),
        missing=("single requests: LoadGen writes their times only into a trace",),
    )
    version = detail.get("loadgen_version")
    return Reading((result,), clean(version, 60) if isinstance(version, str) else None)


def _figures(summary: dict[str, str]) -> Iterator[Figure]:
    for name, (unit, quantity) in _FIGURES.items():
        try:
            value = float(summary.get(name, ""))
        except ValueError:
            continue
        if 0 <= value < 1e18:
            yield Figure(name=name, value=value, unit=unit, quantity=quantity)


def _detail(file: File) -> dict[str, object]:
    """The last value of each key of the detail log; raises UsageError with the line."""
    found: dict[str, object] = {}
    for number, line in enumerate((file.text or "").splitlines(), 1):
        if number > MAX_LINES:
            raise UsageError(f"has more than {MAX_LINES:,} lines", where=file.name, remedy="give the summary")
        if not line.startswith(_LOG):
            continue
        try:
            one = Fields(parse(line.removeprefix(_LOG)), f"{file.name}: line {number}")
        except JsonError as error:
            raise UsageError(f"line {number}: {str(error).removeprefix('line 1: ')}", where=file.name) from None
        if (key := one.text("key", 100)) is not None:
            found[key] = one.data.get("value")
    return found


def _validity(summary: dict[str, str]) -> Iterator[ImportFinding]:
    result = summary.get("Result is", "").strip()
    if result == "VALID":
        yield finding("loadgen-valid", Outcome.HOLDS, "note", "LoadGen calls the run valid.")
    elif result:
        failed = [
            name.removesuffix("satisfied")
            for name, said in summary.items()
            if name.endswith("satisfied") and said.strip().upper() == "NO"
        ]
        why = f": not satisfied are {', '.join(clean(name.strip(), 60).lower() for name in failed)}" if failed else ""
        yield fails("loadgen-invalid", f"LoadGen calls the run {clean(result, 20)}{why}.", gravity="dirty")


def _inferred(figures: tuple[Figure, ...]) -> Iterator[ImportFinding]:
    for name in ("Tokens per second (inferred)", "Completed tokens per second (inferred)"):
        if (one := named(figures, name)) is not None:
            what = "samples per second by a scaling factor, and no count of tokens"
            yield from beside(one, what, "the rate of tokens", None, "tokens-inferred")


def _errors(detail: dict[str, object]) -> Iterator[ImportFinding]:
    count = detail.get("num_errors")
    if isinstance(count, int) and count > 0:
        yield fails("loadgen-errors", f"LoadGen notes {count:,} errors.", gravity="dirty")


def _answers(file: File | None) -> Iterator[ImportFinding]:
    """TEST06's questions: is each count the number of ids, and is the end there once at most?"""
    if file is None:
        return
    wrong = doubled = counted = 0
    said = held = 0
    ends = [ids[-1] for one in file.document if (ids := _ids(Fields(one, file.name)))]
    end = max(set(ends), key=ends.count) if ends else None
    for number, value in enumerate(file.document):
        one = Fields(value, f"{file.name}: answer {number + 1}")
        ids, count = _ids(one), one.count("token_count")
        if count is None or ids is None:
            continue
        counted, said, held = counted + 1, said + count, held + len(ids)
        wrong += count != len(ids)
        doubled += len(ids) > 1 and ids[-1] == ids[-2] == end
    if counted:
        words = f"{said:,} tokens are counted in {counted:,} answers, which hold {held:,} ids"
        if wrong:
            counted_by_it = Figure(name="token_count", value=said, unit="tokens")
            words = f"{words}; {wrong:,} answers differ."
            yield about(counted_by_it, held, fails("count-is-not-ids", words, gravity="dirty"))
        else:
            yield finding("count-is-ids", Outcome.HOLDS, "note", f"{words}.")
        if doubled:
            words = (
                f"{doubled:,} of {counted:,} answers end with the same id twice: padding or a second end was counted."
            )
            yield fails("end-counted-twice", words)


def _ids(one: Fields) -> list[str] | None:
    data = one.raw_text("data") or ""
    if not data or len(data) % _TOKEN_HEX or not re.fullmatch(r"[0-9A-Fa-f]*", data):
        return None
    return [data[at : at + _TOKEN_HEX] for at in range(0, len(data), _TOKEN_HEX)]


FORMAT = Format(
    name="mlperf",
    tool="MLPerf LoadGen",
    recognise=_recognise,
    read=_read,
    source="mlcommons/inference b66003e1: loadgen/results.cc, loadgen/logging.cc, compliance/TEST06",
    wrong=(
        "`Tokens per second (inferred)` is samples by a scaling factor",
        "tokens are those that the tested system reports: padding and second ends were counted "
        "(mlcommons/inference#1545: 2730.51 for 2275.43 tokens/s)",
        "`Scheduled samples per second` is what was offered, not what was done",
    ),
    seen="LoadGen 6.0.17, Server scenario and an accuracy run, against vLLM 0.32 on a CPU",
)
