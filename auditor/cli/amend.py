"""`audit amend`: add a reply, a correction or a withdrawal to a verdict, which stays as it was."""

import time

import click

from auditor.cli.judge import reports_option, run_folder
from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.errors import UsageError

EPILOG = """\b
Exit codes:
  0  it is added
  1  the tool failed, or the folder was changed
  2  no such run, it was not judged, or a bad option"""


@click.command(epilog=EPILOG)
@click.argument("run", metavar="RUN")
@click.option(
    "--reply", metavar="FILE", help="Add a reply of the claimant's, or of anyone: its text; - is standard input."
)
@click.option("--correct", is_flag=True, help="Say what is wrong in the verdict, with --reason.")
@click.option("--withdraw", is_flag=True, help="Take the verdict back, with --reason.")
@click.option("--reason", metavar="TEXT", help="Why it is corrected or withdrawn.")
@click.option("--by", metavar="NAME", help="Who says it.")
@click.option("--url", help="Where it was said.")
@reports_option
@database_option
@json_option
def amend(
    run: str,
    reply: str | None,
    correct: bool,
    withdraw: bool,
    reason: str | None,
    by: str | None,
    url: str | None,
    reports: str,
    database: str | None,
    as_json: bool,
) -> None:
    """Add to the verdict of RUN what was said of it since: a reply, a correction or a withdrawal.

    Nothing is overwritten: the verdict stands as it was given, and what is added is shown above it, with its time.
    """
    from auditor.cli.claimfile import read_text
    from auditor.core.amendment import AmendmentKind, in_one_line
    from auditor.core.folder import MANIFEST, RunFolder, write
    from auditor.core.record import canonical_json
    from auditor.index import index_amendments
    from auditor.publish.amending import amend as add
    from auditor.report.page import write_report

    wishes: dict[AmendmentKind, bool] = {
        "reply": reply is not None,
        "correction": correct,
        "withdrawal": withdraw,
    }
    asked = [kind for kind, is_asked in wishes.items() if is_asked]
    if len(asked) != 1:
        raise UsageError("give one of --reply, --correct and --withdraw", remedy="see `audit amend --help`")
    if (reason is None) != (reply is not None):
        raise UsageError(
            "--reason belongs to --correct and --withdraw, and they need it", remedy="a --reply is its file"
        )
    said, folder = Output(as_json), run_folder(run, reports)
    text = reason if reply is None else read_text(reply)
    one = add(folder, asked[0], text or "", by=by, url=url, now_ns=time.time_ns())
    write_report(folder)
    write(folder, MANIFEST, canonical_json(RunFolder(folder).manifest()))
    index_amendments(folder, database, said.note)
    said.say(in_one_line(one))
    said.note(f"The verdict is unchanged; {folder / 'report.html'} shows this above it.")
    said.document(one.model_dump(mode="json"))
