"""llama-benchy: the JSON of means over runs, the progress log with every event of every request, and the table."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from auditor.core.imports.fields import Fields
from auditor.core.imports.findings import ASK, about, fails, is_near, with_unit
from auditor.core.imports.format import File, Format, Parts, Reading
from auditor.core.imports.formats.llamabenchytable import is_table, results_of
from auditor.core.imports.record import Figure, Grade, ImportFinding, Request, Result, Settings
from auditor.terms import Rung

_SCHEMA = "llama-benchy-progress."
_FIGURES = {
    "pp_throughput": ("tokens/s", None),
    "pp_req_throughput": ("tokens/s", None),
    "tg_throughput": ("tokens/s", None),
    "tg_req_throughput": ("tokens/s", "delivered/decode"),
    "peak_throughput": ("tokens/s", None),
    "peak_req_throughput": ("tokens/s", None),
    "ttfr": ("ms", None),
    "est_ppt": ("ms", None),
    "e2e_ttft": ("ms", "ttft:mean"),
}


def _recognise(file: File) -> str | None:
    one = file.document
    if isinstance(one, dict) and {"latency_mode", "benchmarks", "prefix_caching_enabled"} <= set(one):
        return "report"
    first = file.lines[0] if file.lines else {}
    if str(first.get("schema", "")).startswith(_SCHEMA):
        return "progress"
    return "table" if is_table(file) else None


def _read(parts: Parts) -> Reading:
    version: str | None = None
    results: list[Result] = []
    if "report" in parts:
        fields = Fields(parts["report"].document, parts["report"].name)
        version = fields.text("version", 40)
        results += [_result(one, fields) for one in fields.objects("benchmarks")]
    if "progress" in parts:
        lines = [Fields(line, parts["progress"].name) for line in parts["progress"].lines]
        version = version or lines[0].text("llama_benchy_version", 40)
        results += [_of_run(key, run) for key, run in _runs(lines).items()]
    if "table" in parts:
        results += results_of(parts["table"])
    return Reading(tuple(results), version)


def _result(one: Fields, file: Fields) -> Result:
    prompt, answer, depth = (one.count(name) for name in ("prompt_size", "response_size", "context_size"))
    streams = one.count("concurrency")
    return Result(
        name=f"pp{prompt or 0} tg{answer or 0} depth {depth or 0}, concurrency {streams or 1}",
        grade=Grade.AGGREGATE,
        grade_because="means over runs, with the value of each run",
        counted_by="token ids, else usage, else one a chunk: the file does not record which",
        settings=Settings(
            model=file.text("model"),
            concurrency=streams or None,
            prompt_tokens=prompt,
            output_tokens=answer,
            more={"latency subtracted": f"{latency:g} ms"} if (latency := file.number("latency_ms")) else {},
        ),
        started=file.text("timestamp"),
        figures=tuple(_figures(one)),
        missing=("single requests: run with --emit-progress",),
        findings=tuple(_means_differ(one)),
    )


def _figures(one: Fields) -> Iterator[Figure]:
    for name, (unit, quantity) in _FIGURES.items():
        each = one.fields(name)
        if each is not None and (mean := each.number("mean", low=0)) is not None:
            yield Figure(name=name, value=mean, unit=unit, quantity=quantity)


def _means_differ(one: Fields) -> Iterator[ImportFinding]:
    for figure in _figures(one):
        each = one.fields(figure.name)
        values = [value for value in (each.items("values") if each else None) or () if isinstance(value, int | float)]
        right = sum(values) / len(values) if values else figure.value
        if not is_near(figure.value, right):
            words = f"`{figure.name}` is printed as {with_unit(figure.value, figure)}; the mean of its values is"
            yield about(
                figure, right, fails("figure-differs", f"{words} {with_unit(right, figure)}.", ASK, gravity="dirty")
            )


@dataclass
class _Run:
    """The requests of one run while its lines come."""

    model: str | None
    asked: int | None
    prompt: int | None
    sent: dict[str, int] = field(default_factory=dict)
    events: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    """When each event came, and the tokens that the tool counted in it."""
    ended: dict[str, Fields] = field(default_factory=dict)


def _runs(lines: list[Fields]) -> dict[str, _Run]:
    """The runs by name, in order; a request belongs to the last run that began it."""
    runs: dict[str, _Run] = {}
    of: dict[str, _Run] = {}
    for line in lines:
        kind, id_, at = line.text("type", 40), line.text("request_id", 80) or "", line.time("ts", "s")
        if at is None:
            continue
        if kind == "request_start":
            words = ("prompt_size", "response_size", "context_size", "concurrency", "run_index")
            name = "pp{} tg{} depth {}, concurrency {}, run {}".format(*(line.text(word, 20) or "?" for word in words))
            new = _Run(line.text("model"), line.count("response_size"), line.count("prompt_size"))
            of[id_] = runs.setdefault(name, new)
            of[id_].sent[id_], of[id_].events[id_] = at, []
        elif id_ in of and kind == "tokens":
            of[id_].events[id_].append((at, line.count("count") or 0))
        elif id_ in of and kind == "request_end":
            of[id_].ended[id_] = line
    return runs


def _of_run(name: str, run: _Run) -> Result:
    return Result(
        name=name,
        grade=Grade.TIMED,
        grade_because="every event of every request has its time and a count",
        counted_by="by the tool, event by event, and in all as the end of each request tells",
        settings=Settings(
            model=run.model, concurrency=len(run.sent) or None, prompt_tokens=run.prompt, output_tokens=run.asked
        ),
        clock="epoch",
        requests=tuple(_request(run, id_) for id_ in run.sent),
    )


def _request(run: _Run, id_: str) -> Request:
    sent, events, end = run.sent[id_], run.events[id_], run.ended.get(id_)
    times = tuple(max(0, at - sent) for at, _ in events)
    counted = sum(tokens for _, tokens in events)
    ended = end.time("ts", "s") if end else None
    said = end.count("total_tokens") if end else None
    error = (end.text("error", 300) if end else "no end of the request in the log") or None
    return Request(
        id=id_,
        send_ns=sent,
        ttft_ns=times[0] if times else None,
        last_ns=times[-1] if times else None,
        e2e_ns=None if ended is None else max(0, ended - sent),
        events_ns=times or None,
        event_tokens=tuple(tokens for _, tokens in events) if said is not None and counted == said else None,
        prompt_tokens=end.count("prompt_tokens") if end else None,
        output_tokens=said,
        counts={Rung.EVENTS: len(times)},
        requested_tokens=run.asked,
        error=error,
    )


FORMAT = Format(
    name="llama-benchy",
    tool="llama-benchy",
    recognise=_recognise,
    read=_read,
    source="llama-benchy 0.4.0: llama_benchy/results.py, progress.py (llama-benchy-progress.v1)",
    wrong=(
        "`tg_throughput` runs from the first token of any stream to the last of any and leaves out the tokens of the "
        "first events: it is higher than what the requests got",
        "`pp_throughput` takes a measured latency off the time, by default that of listing the models",
        "`peak_throughput` of a run under one second is tokens by its time",
        "without token ids and usage a chunk was a token (eugr/llama-benchy#11: 5.51 for 25.16 tokens/s)",
    ),
    seen="llama-benchy 0.4.0: JSON, progress log and table, of vLLM 0.32 on a CPU with n-gram drafts and of llama.cpp",
)
