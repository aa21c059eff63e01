"""`audit explain`: which counting rules turn what was measured into what was claimed."""

from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from auditor.cli.judge import reports_option, run_folder
from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.errors import UsageError

if TYPE_CHECKING:
    from auditor.core.claim.claim import Case
    from auditor.core.explain.record import Explanation

_EPILOG = """\b
Examples:
  audit explain claims/fork-130tps.yaml --delivered 39.6 --draft-tokens 2 --acceptance 0.61:0.85
  audit explain claims/fork-130tps.yaml --run 20260312T101500Z-1a2b

\b
Exit codes:
  0  done, whatever was found
  1  the tool failed, or the folder or database is damaged
  2  usage: a bad claim, option or number, or no such run"""

_DEFINITIONS = ("per_drafted", "per_position", "with_bonus")
_OF_NUMBERS = ("draft_tokens", "acceptance", "streams", "prompt_tokens", "output_tokens")
_COUNTS = click.IntRange(min=1, max=1_000_000_000)


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="CLAIM")
@click.option("--row", metavar="ID", help="One measurement of a claim that has several.")
@click.option("--run", "run", metavar="RUN", help="A run folder or id: explain the claim from what it measured.")
@click.option("--cell", metavar="KEY", help="A cell of the run other than the judged one.")
@click.option("--delivered", metavar="RATE", help="Delivered tokens per second: 39.6, or an interval as 39.6:40.1.")
@click.option("--draft-tokens", metavar="K", type=click.IntRange(0, 1000), help="Most drafted per step; 0 is none.")
@click.option("--acceptance", metavar="SHARE", help="Acceptance from 0 to 1: 0.7, or a range as 0.61:0.85.")
@click.option(
    "--acceptance-definition", "definition", type=click.Choice([*_DEFINITIONS, "all"]), default="all",
    show_default=True, help="Which ratio the acceptance is; all where it is not said.",
)  # fmt: skip
@click.option("--streams", metavar="N", type=_COUNTS, help="Requests in flight. Default: as the claim states.")
@click.option("--gpus", metavar="N", type=_COUNTS, help="Number of GPUs. Default: as the claim states.")
@click.option("--prompt-tokens", metavar="N", type=_COUNTS, help="Prompt length. Default: as the claim states.")
@click.option("--output-tokens", metavar="N", type=_COUNTS, help="Answer length. Default: as the claim states.")
@click.option("--chunks", is_flag=True, help="The rate given counts chunks (events): leave out the other reading.")
@click.option("--full", "is_full", is_flag=True, help="Say how the chance is worked out.")
@reports_option
@database_option
@json_option
def explain(
    name: str,
    row: str | None,
    run: str | None,
    cell: str | None,
    is_full: bool,
    reports: str,
    database: str | None,
    as_json: bool,
    **numbers: Any,
) -> None:
    """Say which counting rules turn what was measured into what CLAIM says, and what would have to be true.

    What was measured comes from a run, or from a few numbers; no server is asked. A rule that meets the claim is
    arithmetic, not proof.
    """
    from auditor.cli.claimfile import find_claim
    from auditor.cli.explaintext import explanations_text
    from auditor.core.judging.switches import stated_switches

    claim, _ = find_claim(name, database)
    case = claim.case(row)
    if (run is None) == (numbers["delivered"] is None):
        raise UsageError("give either --run RUN or --delivered RATE", remedy="see `audit explain --help`")
    if not case.reported.has_number:
        raise UsageError("the claim states no number", where=name, remedy="choose a --row with one")
    found = _from_run(case, run_folder(run, reports), cell, numbers) if run else _from_numbers(case, cell, numbers)
    output = Output(as_json)
    warnings = stated_switches(case)
    for words in warnings:
        output.note(f"audit: {words}")
    output.say(explanations_text(found, is_full=is_full))
    explanations = [one.model_dump(mode="json") for one in found]
    output.document({"claim": claim.id, "case": case.id, "warnings": warnings, "explanations": explanations})


def _from_run(case: "Case", folder: Path, key: str | None, numbers: dict[str, Any]) -> "list[Explanation]":
    from auditor.cli.cells import measured_cell
    from auditor.core.explain.cell import explain_cell
    from auditor.core.folder import RunFolder
    from auditor.core.judging.basis import judged_basis

    given = [name for name in _OF_NUMBERS if numbers[name] is not None]
    if given or numbers["chunks"]:
        option = (given or ["chunks"])[0].replace("_", "-")
        raise UsageError(f"--{option} goes with --delivered, not with --run", remedy="the run has measured it")
    measured = measured_cell(folder, key, case, numbers["gpus"])
    found = explain_cell(
        case,
        measured.cell,
        measured.load,
        measured.bases,
        delivered_id=judged_basis(case, measured.load)[0],
        limit=measured.limit,
        is_comparable=not measured.is_rehearsal,
        witnesses=RunFolder(folder).witnesses(case),
    )
    return [] if found is None else [found]


def _from_numbers(case: "Case", cell: str | None, numbers: dict[str, Any]) -> "list[Explanation]":
    from auditor.core.claim.claim import AcceptanceDefinition
    from auditor.core.explain.given import Given
    from auditor.core.explain.matching import Number
    from auditor.core.explain.numbers import from_numbers
    from auditor.core.plan.plan import MAX_HALF_WIDTH

    if cell is not None:
        raise UsageError("--cell goes with --run", remedy="leave it out")
    text, definition, acceptance = numbers["delivered"], numbers["definition"], numbers["acceptance"]
    if acceptance is not None and not numbers["draft_tokens"]:
        raise UsageError("--acceptance goes with --draft-tokens of 1 or more", remedy="give how many were drafted")
    low, high = _interval(text, "--delivered", 1e9)
    if low <= 0:
        raise UsageError(f"--delivered {text}: must be more than 0", remedy="give tokens per second, as 39.6")
    given = Given(
        rate=Number(text.replace(":", " to "), low, high),
        width=numbers["draft_tokens"],
        acceptance=_interval(acceptance, "--acceptance", 1.0) if acceptance is not None else None,
        definitions=tuple(one for one in AcceptanceDefinition if definition in ("all", one.value)),
        streams=numbers["streams"],
        gpus=numbers["gpus"],
        prompt_tokens=numbers["prompt_tokens"],
        output_tokens=numbers["output_tokens"],
    ).with_claim(case)
    readings = [True] if numbers["chunks"] else [False, True] if given.knows_steps else [False]
    found = [from_numbers(case, given, MAX_HALF_WIDTH, as_events=as_events) for as_events in readings]
    return [one for one in found if one is not None]


def _interval(text: str, option: str, top: float) -> tuple[float, float]:
    """`39.6` is what rounds to it, 39.55 to 39.65; `39.6:40.1` is that interval. Raises UsageError."""
    words = text.split(":")
    remedy = "write 39.6 or 39.6:40.1" if top > 1 else "write 0.7 or 0.61:0.85; 61 % is 0.61"
    try:
        ends = [Decimal(word.strip()) for word in words]
    except InvalidOperation:
        ends = []
    if not 1 <= len(ends) <= 2 or not all(end.is_finite() and 0 <= end <= Decimal(top) for end in ends):
        raise UsageError(f"{option} {text}: not a number from 0 to {top:,.15g}, or two with a colon", remedy=remedy)
    if len(ends) == 2:
        if ends[0] > ends[1]:
            raise UsageError(f"{option} {text}: must begin with the smaller number", remedy=remedy)
        return float(ends[0]), float(ends[1])
    half = Decimal(1).scaleb(int(ends[0].as_tuple().exponent)) / 2
    return float(max(Decimal(0), ends[0] - half)), float(min(Decimal(top), ends[0] + half))
