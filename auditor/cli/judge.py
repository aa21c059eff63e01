"""`audit judge`, `audit report`, `audit list`: look at runs again."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.errors import UsageError

JUDGE_EPILOG = """\b
Exit codes:
  0  reproduced or exceeded
  1  the tool failed, or the folder is damaged
  2  no such run
  3  miscounted, not-reproduced, invalid-output or impossible
  4  unlabelled, not-comparable or inconclusive"""
EPILOG = """\b
Exit codes:
  0  done
  1  the tool failed, or the folder or database is damaged
  2  no such run"""


def run_folder(name: str, reports: str) -> Path:
    """The folder of a run, by path or by id below the folder of reports; raises UsageError."""
    path = Path(name)
    if path.is_dir():
        return path
    found = sorted(Path(reports).glob(f"*/{name}")) if "/" not in name else []
    if len(found) == 1:
        return found[0]
    raise UsageError(f"there is no run {name}", where=reports, remedy="give its folder, or an id from `audit list`")


reports_option = click.option(
    "--reports", type=click.Path(file_okay=False), default="reports", show_default=True, help="Folder for runs."
)


@click.command(epilog=JUDGE_EPILOG)
@click.argument("run", metavar="RUN")
@click.option("--server-log", metavar="FILE", help="Add the measured server's own log; its lines must print dates.")
@click.option(
    "--witness-log", "witness_logs", multiple=True, metavar="FILE", help="Add a log of the claimant's; copied whole."
)
@click.option(
    "--reference", metavar="RUN", help="Add a run of the same model elsewhere, to compare log-probabilities with."
)
@reports_option
@database_option
@json_option
def judge(
    run: str,
    server_log: str | None,
    witness_logs: tuple[str, ...],
    reference: str | None,
    reports: str,
    database: str | None,
    as_json: bool,
) -> int:
    """Judge RUN again, from its evidence alone.

    RUN is a run folder or the id of a run. The same evidence gives the same verdict, byte for byte, on any machine;
    a run that was cut short is judged as partial. Logs that are added become part of the evidence: a witness is what
    the claimant's own server printed, and whether a log is that is for you to know.
    """
    import time

    from auditor.audit import judge_folder
    from auditor.core.amendment import amendments_of
    from auditor.core.folder import CLAIM, RunFolder
    from auditor.index import index_run
    from auditor.report.text import terminal
    from auditor.review.handedin import add_reference, add_server_log, add_witness

    out = Output(as_json)
    folder = run_folder(run, reports)
    if server_log is not None:
        add_server_log(folder, server_log)
    for path in witness_logs:
        add_witness(folder, path, time.time_ns())
    if reference is not None:
        add_reference(folder, run_folder(reference, reports))
    result = judge_folder(folder)
    index_run(result, text=RunFolder(folder).read(CLAIM).decode(), database=database, say=out.note)
    out.say(terminal(folder))
    amendments = [one.model_dump(mode="json") for one in amendments_of(RunFolder(folder))]
    out.document({"folder": str(folder), "amendments": amendments, **result.verdict.model_dump(mode="json")})
    return result.verdict.exit_code


@click.command(epilog=EPILOG)
@click.argument("run", metavar="RUN")
@click.option("--markdown", is_flag=True, help="Print a paragraph to paste into a thread instead.")
@reports_option
@json_option
def report(run: str, markdown: bool, reports: str, as_json: bool) -> None:
    """Write the report of RUN again, from its verdict and ledger."""
    from auditor.core.folder import LEDGER, MANIFEST, REPORT, TOKENS, VERDICT, RunFolder, write
    from auditor.core.record import canonical_json
    from auditor.report.page import write_report
    from auditor.report.text import markdown as as_markdown

    out = Output(as_json)
    folder = run_folder(run, reports)
    judged = RunFolder(folder)
    judged.check(VERDICT, LEDGER, TOKENS)
    if markdown:
        text = as_markdown(folder)
        out.say(text)
        out.document({"markdown": text})
        return
    write_report(folder)
    write(folder, MANIFEST, canonical_json(judged.manifest()))
    out.say(str(folder / REPORT))
    out.document({"report": str(folder / REPORT)})


@click.command("list", epilog=EPILOG)
@click.option("--claim", help="Only the runs of this claim.")
@database_option
@json_option
def list_runs(claim: str | None, database: str | None, as_json: bool) -> None:
    """List the runs, imports and reviews in the database and their verdicts, the newest first."""
    from dataclasses import asdict

    from auditor.db.store import open_store

    out = Output(as_json)
    with open_store(database) as store:
        runs, imports = store.runs(claim), store.imports(claim)
    if runs:
        _say_runs(runs, out)
    else:
        out.say(f"No run{f' of {claim}' if claim else ''} is stored. `audit run CLAIM` makes one.")
    if imports:
        _say_imports(imports, out)
    out.document({"runs": [asdict(one) for one in runs], "imports": [asdict(one) for one in imports]})


def _say_imports(imports: Sequence[Any], out: Output) -> None:
    from auditor.cli.columns import fitted

    rows: list[tuple[str, ...]] = [("IMPORT OR REVIEW", "CLAIM", "VERDICT", "OF", "EVIDENCE", "FOLDER")]
    rows += [(i.import_id, i.claim_id or "none", i.verdict or "none", i.tool, i.grade, i.folder) for i in imports]
    out.say("")
    for line in fitted(rows):
        out.say(line)


def _say_runs(runs: Sequence[Any], out: Output) -> None:
    """A table that fits the terminal; what is too long for its column goes on in the next line of the row."""
    from auditor.cli.columns import fitted
    from auditor.core.amendment import words_of
    from auditor.core.wording import figure

    rows: list[tuple[str, ...]] = [("RUN", "CLAIM", "VERDICT", "DELIVERED", "FOLDER")]
    for one in runs:
        flags = [*words_of(one.amendments), *(word for word in ("rehearsal", "quick", "partial") if getattr(one, word))]
        marks = f" ({', '.join(flags)})" if flags else ""
        verdict = f"{one.verdict or 'not judged'}{marks}"
        delivered = "not known" if one.delivered is None else f"{figure(one.delivered)} {one.unit}"
        rows.append((one.run_id, one.claim_id, verdict, delivered, str(one.folder)))
    for line in fitted(rows):
        out.say(line)
