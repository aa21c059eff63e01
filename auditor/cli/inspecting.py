"""`audit inspect`: what does not fit in a log or a result file."""

import time
from typing import TYPE_CHECKING

import click

from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option

if TYPE_CHECKING:
    from auditor.core.inspection.inspect import Known
    from auditor.core.inspection.record import Inspection, Misfit, ResultInspection

_EPILOG = """\b
Examples:
  audit inspect results.json
  audit inspect reports/fork-130tps/20260312T101500Z-1a2b
  audit inspect profile_export.jsonl --claim claims/fork-130tps.yaml --tokenizer ./model

\b
Exit codes:
  0  inspected, whatever was found
  1  the tool failed, or the run folder is damaged
  2  the file cannot be read or is no known result, or a bad claim or option"""
_PASSED_SHOWN, _RESULTS_SHOWN = 10, 6
_NOTHING = "Nothing was found that does not fit."


@click.command(epilog=_EPILOG)
@click.argument("path", metavar="RUN|FILE|DIR")
@click.option("--claim", metavar="CLAIM", help="Claim file or stored id: its hardware and model bound the rates.")
@click.option("--row", metavar="ID", help="One measurement of a claim that has several.")
@click.option("--tokenizer", metavar="DIR", help="Folder with the model's tokenizer.json: count the texts again.")
@database_option
@json_option
def inspect(
    path: str, claim: str | None, row: str | None, tokenizer: str | None, database: str | None, as_json: bool
) -> None:
    """Say what does not fit in a log or a result file: times, counts, text, rates.

    Reads a run folder or all that `audit import` reads; nothing is stored. What is found is a contradiction (two things
    that cannot both be so), odd (no honest recording at hand showed it) or a note (honest files have it, too). None of
    them says that anything was forged, and a file without any may be: docs/inspect.md lists what is not seen.
    """
    from auditor.review.inspecting import inspect_path

    out = Output(as_json)
    found, passed = inspect_path(path, _known(claim, row, tokenizer, database))
    out.say("\n\n".join(_text(one) for one in found))
    for words in passed[:_PASSED_SHOWN]:
        out.note(f"audit: passed over: {words}")
    out.document({"inspections": [one.model_dump(mode="json") for one in found], "passed_over": passed})


def _known(claim: str | None, row: str | None, tokenizer: str | None, database: str | None) -> "Known":
    from auditor.cli.claimfile import find_claim
    from auditor.core.inspection.inspect import Known
    from auditor.errors import UsageError

    if row is not None and claim is None:
        raise UsageError("--row without --claim", remedy="name the claim that the row belongs to")
    known = Known(now_ns=time.time_ns(), case=find_claim(claim, database)[0].case(row) if claim else None)
    if tokenizer is None:
        return known
    from dataclasses import replace

    from auditor.capture.recount import load_tokenizer

    one = load_tokenizer(tokenizer)
    return replace(known, count=one.count, tokenizer=one.name)


def _text(one: "Inspection") -> str:
    from auditor.cli.columns import wrapped
    from auditor.core.wording import listed, plural

    lines = wrapped(f"{one.format}: {one.name} (SHA-256 {one.sha256[:12]})")
    lines += [line for misfit in one.found for line in _misfit(misfit)]
    shown = sorted(one.results, key=_weight)[:_RESULTS_SHOWN]
    for result in shown:
        size = f"{plural(result.requests, 'request')}, {plural(result.gaps, 'gap')} between events"
        lines += ["", *wrapped(f"Result {result.name}: {size}.")]
        lines += [line for misfit in result.found for line in _misfit(misfit)] or [f"  {_NOTHING}"]
        for why, names in _not_checked(result).items():
            lines += wrapped(f"{listed(names)}: {why}.", first="  not checked    ")
    if len(shown) < len(one.results):
        lines += ["", f"{len(one.results) - len(shown):,} more results, none of them stronger; --json has them."]
    return "\n".join(lines)


def _weight(result: "ResultInspection") -> int:
    """0 for a contradiction, more for what is weaker."""
    from auditor.core.inspection.record import STRENGTHS

    return min((STRENGTHS.index(one.strength) for one in result.found), default=len(STRENGTHS))


def _not_checked(result: "ResultInspection") -> dict[str, list[str]]:
    """The checks that could not be made, by reason."""
    by_reason: dict[str, list[str]] = {}
    for one in result.not_checked:
        by_reason.setdefault(one.why, []).append(one.id)
    return by_reason


def _misfit(misfit: "Misfit") -> list[str]:
    from auditor.cli.columns import wrapped

    honest = f" In honest files: {misfit.seen_in_honest}." if misfit.seen_in_honest else ""
    return wrapped(f"{misfit.sentence}{honest}", first=f"  {misfit.strength:<14} ")
