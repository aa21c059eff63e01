"""InferenceX (InferenceMAX before): rows that sum up a run of vLLM's benchmark by the GPU."""

from collections.abc import Iterator

from auditor.core.imports.decoding import clean
from auditor.core.imports.fields import Fields
from auditor.core.imports.findings import fails
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Figure, Grade, ImportFinding, Result, Settings
from auditor.core.imports.told import Told, beside, figures_of, named

_MINE = {"hw", "conc", "tput_per_gpu", "framework", "precision"}
_SUMS = (
    Told("tput_per_gpu", "tokens/s per GPU", "total/gpu"),
    Told("output_tput_per_gpu", "tokens/s per GPU"),
    Told("input_tput_per_gpu", "tokens/s per GPU"),
    *(Told(f"{how}_ttft", "s", f"ttft:{how}") for how in ("mean", "median", "p99")),
    *(Told(f"{how}_tpot", "s", f"tpot:{how}") for how in ("mean", "median", "p99")),
    *(Told(f"{how}_itl", "s", f"icl:{how}") for how in ("mean", "median", "p99")),
    *(Told(f"{how}_e2el", "s", f"e2e:{how}") for how in ("mean", "median", "p99")),
    *(Told(f"{how}_intvty", "tokens/s") for how in ("mean", "median", "p99")),
    Told("joules_per_output_token", "J/token"),
)
_KEPT = ("hw", "image", "framework", "precision", "disagg", "ep", "dp_attention")


def _recognise(file: File) -> str | None:
    rows = file.document if isinstance(file.document, list) else [file.document]
    return "rows" if rows and isinstance(rows[0], dict) and set(rows[0]) >= _MINE else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    rows = file.document if isinstance(file.document, list) else [file.document]
    return Reading(tuple(_result(Fields(row, f"{file.name}: row {n}")) for n, row in enumerate(rows, 1)))


def _result(one: Fields) -> Result:
    gpus = _gpus(one)
    figures = tuple(figures_of(one, _SUMS))
    speculation = one.text("spec_decoding")
    return Result(
        name=f"{one.text('hw') or '?'} {one.text('framework') or ''}, concurrency {one.text('conc') or '?'}",
        grade=Grade.AGGREGATE,
        grade_because="sums and percentiles, divided by the GPUs",
        counted_by="as vLLM's benchmark counts: usage of the server, else the text tokenised again",
        settings=Settings(
            model=one.text("model"),
            server=one.text("framework"),
            concurrency=one.count("conc") or None,
            prompt_tokens=one.count("isl"),
            output_tokens=one.count("osl"),
            gpus=gpus,
            speculation=speculation,
            more={name: value for name in _KEPT if (value := one.text(name))},
        ),
        figures=figures,
        missing=("the run itself: it is in the result of vLLM's benchmark that the row was made from",),
        findings=tuple(_findings(one, figures)),
    )


def _gpus(one: Fields) -> int | None:
    """What a row of one node divides by: tp x pp x pcp; with several nodes, all of both kinds."""
    if "num_prefill_gpu" in one or "num_decode_gpu" in one:
        return (one.count("num_prefill_gpu") or 0) + (one.count("num_decode_gpu") or 0) or None
    wide = one.count("tp")
    return None if not wide else wide * (one.count("pp") or 1) * (one.count("pcp_size") or 1)


def _findings(one: Fields, figures: tuple[Figure, ...]) -> Iterator[ImportFinding]:
    both, output = named(figures, "tput_per_gpu"), named(figures, "output_tput_per_gpu")
    decode, prefill = one.count("num_decode_gpu") or 0, one.count("num_prefill_gpu") or 0
    share = decode / (decode + prefill) if decode and prefill else 1.0
    right = output.value * share if output else None
    if both is not None:
        yield from beside(both, "prompt and output tokens together by all GPUs", "output tokens by all GPUs", right)
    if output is not None and share < 1:
        what = f"output tokens by the {decode:,} GPUs that decode, and not by all {decode + prefill:,}"
        yield from beside(output, what, "output tokens by all GPUs", right)
    if one.data.get("power_valid") in (0, False):
        reasons = [clean(str(reason), 60) for reason in one.items("power_invalid_reasons") or ()][:5]
        because = f": {', '.join(reasons)}" if reasons else ""
        yield fails("power-invalid", f"The tool itself calls the power readings of this row invalid{because}.")


FORMAT = Format(
    name="inferencex",
    tool="InferenceX",
    recognise=_recognise,
    read=_read,
    source="SemiAnalysisAI/InferenceX 843c6254f: utils/process_result.py",
    wrong=(
        "`tput_per_gpu` counts prompt and output tokens together",
        "`output_tput_per_gpu` divides by the decode GPUs only where prefill has its own",
        "`intvty` is 1000 / TPOT: of one stream after its first token",
        "with simulated acceptance the answers are no valid text, and a row does not say so",
    ),
)
