"""LocalScore's submission: rates of a few prompt and answer lengths, and one score."""

from collections.abc import Iterator

from auditor.core.imports.fields import Fields
from auditor.core.imports.findings import ASK, about, fails, is_near, with_unit
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Figure, Grade, ImportFinding, Result, Settings
from auditor.core.imports.told import Told, figures_of

_ROW = (
    Told("prompt_tps", "tokens/s"),
    Told("gen_tps", "tokens/s", "delivered/decode"),
    Told("ttft_ms", "ms", "ttft:mean"),
    Told("avg_time_ms", "ms", "e2e:mean"),
    Told("power_watts", "W"),
    Told("gen_tps_watt", "tokens/s per W"),
)
_SUMMARY = (
    Told("avg_prompt_tps", "tokens/s"),
    Told("avg_gen_tps", "tokens/s"),
    Told("avg_ttft_ms", "ms"),
    Told("performance_score", ""),
)
_MEANS = {"avg_prompt_tps": "prompt_tps", "avg_gen_tps": "gen_tps", "avg_ttft_ms": "ttft_ms"}


def _recognise(file: File) -> str | None:
    one = file.document
    return (
        "report" if isinstance(one, dict) and {"accelerator_info", "results_summary", "results"} <= set(one) else None
    )


def _read(parts: Parts) -> Reading:
    file = only(parts)
    fields = Fields(file.document, file.name)
    runtime, card, summary = (fields.fields(name) for name in ("runtime_info", "accelerator_info", "results_summary"))
    rows = list(fields.objects("results"))
    server, gpu = runtime.text("name") if runtime else None, card.text("name") if card else None
    results = [_result(row, server, gpu) for row in rows]
    if summary is not None and rows:
        figures = tuple(figures_of(summary, _SUMMARY))
        whole = results[0].model_copy(update={"name": "summary", "figures": figures})
        results.append(whole.model_copy(update={"findings": tuple(_means_differ(figures, rows))}))
    return Reading(tuple(results), runtime.text("version", 40) if runtime else None)


def _result(row: Fields, server: str | None, gpu: str | None) -> Result:
    return Result(
        name=row.text("name") or "test",
        grade=Grade.AGGREGATE,
        grade_because="means, sent in by the person who ran it, with nothing that binds them to a machine",
        counted_by="the tokens asked for: the prompts are made up and nothing ends early",
        settings=Settings(
            model=" ".join(filter(None, (row.text("model_name"), row.text("model_quant_str")))) or None,
            server=server,
            concurrency=1,
            prompt_tokens=row.count("n_prompt"),
            output_tokens=row.count("n_gen"),
            more={"accelerator": gpu} if gpu else {},
        ),
        figures=tuple(figures_of(row, _ROW)),
        missing=("single runs: only their mean is sent in",),
    )


def _means_differ(figures: tuple[Figure, ...], rows: list[Fields]) -> Iterator[ImportFinding]:
    for one in figures:
        values = [row.number(_MEANS[one.name], low=0) for row in rows] if one.name in _MEANS else []
        known = [value for value in values if value is not None]
        if not known or len(known) < len(values):
            continue
        right = sum(known) / len(known)
        if not is_near(one.value, right):
            words = f"`{one.name}` is printed as {with_unit(one.value, one)}; the mean of the rows is"
            yield about(one, right, fails("figure-differs", f"{words} {with_unit(right, one)}.", ASK, gravity="dirty"))


FORMAT = Format(
    name="localscore",
    tool="LocalScore",
    recognise=_recognise,
    read=_read,
    source="cjpais/LocalScore ef2c21f: src/pages/api/results.ts",
    wrong=(
        "results are taken in without a signature or bounds: a number is what someone sent",
        "`power_watts` is what the sender's tool read, of the accelerator only",
        "`avg_gen_tps` is a mean of rates over lengths, and no rate of a load",
    ),
)
