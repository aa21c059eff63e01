"""`audit log-read`: read an engine's own log."""

from typing import TYPE_CHECKING, Any

import click

from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option

if TYPE_CHECKING:
    from auditor.core.claim.claim import Case
    from auditor.core.enginelogs import Interval

EPILOG = """\b
Exit codes:
  0  read, whatever it says
  1  the tool failed
  2  the file cannot be read or is no engine's log, or a bad claim or option"""


@click.command("log-read", epilog=EPILOG)
@click.argument("file", metavar="FILE")
@click.option("--claim", metavar="CLAIM", help="Claim file or stored id: look for its number in the log.")
@click.option("--row", help="Which measurement of a claim with several.")
@click.option("--release", metavar="VERSION", help="Version of the engine, where the log does not tell.")
@database_option
@json_option
def log_read(
    file: str, claim: str | None, row: str | None, release: str | None, database: str | None, as_json: bool
) -> None:
    """Read FILE, the log of a server: what it delivered, drafted and accepted, and whether its lines agree.

    FILE may be `-` for standard input. The engine is recognised by its lines: vLLM, SGLang, TensorRT-LLM, llama.cpp,
    Ollama, LMDeploy, TabbyAPI. With --claim, figures that meet the published number are listed. They are witnesses only
    where the log names the engine and the model of the claim; a witness says what the log prints, and accuses nobody.
    """
    from auditor.core.enginelogs.ofclaim import of_claim
    from auditor.errors import UsageError
    from auditor.review.logtext import text_of, witness_lines
    from auditor.review.serverlog import read_server_log

    out = Output(as_json)
    if row is not None and claim is None:
        raise UsageError("--row without --claim", remedy="name the claim that the row belongs to")
    case = _case(claim, row, database) if claim else None
    log = read_server_log(file, claim=case.reported.interval() if case else None, release=release)
    out.say(text_of(log))
    reading, beside = log.reading, None
    if case is not None:
        beside = of_claim(case, reading)
        for line in witness_lines(reading.witnesses, case.reported.as_text(), beside):
            out.say(line)
        reading = reading if beside.same else reading.model_copy(update={"witnesses": ()})
    candidates = log.reading.witnesses if beside and beside.same is None else ()
    out.document(
        {
            "reading": reading.model_dump(mode="json"),
            "intervals": [_row(interval) for interval in log.intervals],
            "cut_lines": log.cut_lines,
            "claim": _claimed(case) if case else None,
            "of_claim": {"same": beside.same, **beside.model_dump(mode="json")} if beside else None,
            "candidates": [figure.model_dump(mode="json") for figure in candidates],
        }
    )


def _case(name: str, row: str | None, database: str | None) -> "Case":
    from auditor.cli.claimfile import find_claim
    from auditor.errors import UsageError

    case = find_claim(name, database)[0].case(row)
    if not case.reported.has_number:
        raise UsageError(f"claim {case.claim_id} has no number to look for", remedy="leave --claim out")
    return case


def _claimed(case: "Case") -> dict[str, Any]:
    low, high = case.reported.interval() or (None, None)
    return {"claim_id": case.claim_id, "row": case.id, "low": low, "high": high, "unit": case.reported.unit}


def _row(interval: "Interval") -> dict[str, Any]:
    """An interval as plain numbers; null where the line gives none."""
    from dataclasses import fields

    from auditor.core.enginelogs.printed import Printed, Span
    from auditor.core.record import six

    row: dict[str, Any] = {}
    for field in fields(interval):
        value = getattr(interval, field.name)
        if isinstance(value, Printed):
            value = float(value.text)
        elif isinstance(value, Span):
            value = [six(float(value.low)), six(float(value.high))]
        elif field.name == "per_position":
            value = [float(number.text) for number in value] or None
        elif field.name == "stamp":
            row |= {"time": value.text, "epoch_ns": value.epoch_ns, "no_epoch": value.reason}
            continue
        row[field.name] = value
    return row
