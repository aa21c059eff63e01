"""`audit import`: read the result file of a benchmark tool, and say what it can prove."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from auditor.cli.judge import reports_option
from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option

if TYPE_CHECKING:
    from auditor.review.imports import Taken

_EPILOG = """\b
Examples:
  audit import results.json
  audit import artifacts/ --claim claims/fork-130tps.yaml
  curl -N ... | audit import -

\b
Exit codes:
  0  read and kept, whatever it says; with --claim only where the claim states no number
  1  the tool failed
  2  the file cannot be read or is no known result, or a bad claim or option
  3  with --claim: miscounted
  4  with --claim: unlabelled, not-comparable or inconclusive"""
_PASSED_SHOWN = 10


@click.command("import", epilog=_EPILOG)
@click.argument("path", metavar="FILE|DIR")
@click.option("--claim", metavar="CLAIM", help="Claim file or stored id: lay the result beside it.")
@click.option("--row", metavar="ID", help="One measurement of a claim that has several.")
@click.option("--full", "is_full", is_flag=True, help="Print every figure and check, and what is known of the tool.")
@reports_option
@database_option
@json_option
def import_result(
    path: str,
    claim: str | None,
    row: str | None,
    is_full: bool,
    reports: str,
    database: str | None,
    as_json: bool,
) -> int:
    """Read FILE, the result that a benchmark tool wrote, and say what it can prove and what it counts wrong.

    The format is recognised by the content; FILE may be `-` for standard input, and DIR holds the files of one or
    several runs. The original bytes are kept by digest below --reports. With --claim, its number is looked for among
    the printed figures and under every counting rule. No file reproduces a claim, for that takes `audit run`.
    """
    from auditor.cli.importtext import text_of
    from auditor.errors import Exit, UsageError
    from auditor.index import index_import
    from auditor.review.imports import keep, take_in

    if row is not None and claim is None:
        raise UsageError("--row without --claim", remedy="name the claim that the row belongs to")
    case, text = _case(claim, row, database) if claim else (None, "")
    out, now_ns = Output(as_json), time.time_ns()
    found, passed = take_in(path, case, now_ns)
    documents = []
    for taken in found:
        folder = keep(taken, Path(reports), (case.claim_id, text) if case else None)
        index_import(taken, folder, case, now_ns=now_ns, database=database, say=out.note)
        out.say(text_of(taken, folder, case, is_full=is_full))
        documents.append(_document(taken, folder))
    for words in passed[:_PASSED_SHOWN]:
        out.note(f"audit: passed over: {words}")
    if len(passed) > _PASSED_SHOWN:
        out.note(f"audit: passed over: {len(passed) - _PASSED_SHOWN:,} more")
    codes = [taken.beside[0].verdict.exit_code for taken in found if taken.beside]
    code = int(min(codes, default=Exit.OK))
    out.document({"imports": documents, "passed_over": passed, "exit_code": code})
    return code


def _case(name: str, row: str | None, database: str | None) -> tuple[Any, str]:
    from auditor.cli.claimfile import find_claim

    claim, text = find_claim(name, database)
    return claim.case(row), text


def _document(taken: "Taken", folder: Path) -> dict[str, Any]:
    """The record without its requests, which `requests.jsonl` in the folder has."""
    from auditor.cli.importtext import known_of

    record = taken.imported.model_dump(mode="json", exclude={"results": {"__all__": {"requests"}}})
    for result, one in zip(record["results"], taken.imported.results, strict=True):
        result["request_count"] = len(one.requests)
    return {
        "folder": str(folder),
        "known_of_the_tool": known_of(taken.imported.format),
        "grade": taken.imported.grade,
        **record,
        "beside": [one.model_dump(mode="json") for one in taken.beside],
    }
