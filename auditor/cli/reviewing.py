"""`audit review`: one review of a claim from the files, logs and forks that others publish."""

import time
from pathlib import Path

import click

from auditor.cli.judge import reports_option
from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option, write_page

_EPILOG = """\b
Examples:
  audit review claims/fork-130tps.yaml --import bench.json --log engine.log
  audit review claims/fork-130tps.yaml --fork ./their-vllm --upstream v0.11.0

\b
Exit codes:
  0  the claim states no number: reviewed, nothing to judge
  1  the tool failed
  2  usage: a piece that cannot be read, or a bad claim or option
  3  miscounted, or impossible on the claim's own hardware
  4  unlabelled, not-comparable or inconclusive"""
_PASSED_SHOWN = 10


@click.command(epilog=_EPILOG)
@click.argument("name", metavar="CLAIM")
@click.option("--row", metavar="ID", help="One measurement of a claim that has several.")
@click.option("--import", "imports", metavar="PATH", multiple=True, help="A result file or folder; repeatable.")
@click.option("--log", "logs", metavar="FILE", multiple=True, help="An engine's log; may be repeated.")
@click.option("--fork", "forks", metavar="REPO", multiple=True, help="A local clone; may be repeated.")
@click.option("--upstream", "upstreams", metavar="REPO|REF", multiple=True, help="What a fork is beside: one for "
              "all, or one for each --fork in their order.")  # fmt: skip
@click.option("--out", metavar="FILE.html", type=click.Path(path_type=Path), help="Write the page here, too.")
@reports_option
@database_option
@json_option
def review(
    name: str,
    row: str | None,
    imports: tuple[str, ...],
    logs: tuple[str, ...],
    forks: tuple[str, ...],
    upstreams: tuple[str, ...],
    out: Path | None,
    reports: str,
    database: str | None,
    as_json: bool,
) -> int:
    """Review CLAIM by what others publish: result files, engine logs, forks.

    Each piece is graded, the best one decides, and its grade caps what may be said; pieces that do not fit each other
    are named. The review is kept below --reports with a page, and stored beside the claim's runs. Nothing is measured,
    and nothing of a fork is run: no review reproduces a claim.
    """
    from auditor.cli.claimfile import find_claim
    from auditor.cli.columns import wrapped
    from auditor.errors import Exit, UsageError
    from auditor.report.reviewtext import terminal_of
    from auditor.reviewing import Handed, index_review, keep_review, review_claim

    if not (imports or logs or forks):
        raise UsageError("nothing to review", remedy="give --import, --log or --fork; each may be repeated")
    if upstreams and not forks:
        raise UsageError("--upstream without --fork", remedy="name the clone that is to be compared")
    claim, text = find_claim(name, database)
    case, now_ns = claim.case(row), time.time_ns()
    made = review_claim(claim, case, text, Handed(imports, logs, forks, upstreams), now_ns)
    folder, output = keep_review(made, Path(reports), text), Output(as_json)
    index_review(made.review, folder, now_ns=now_ns, database=database, say=output.note)
    for line in terminal_of(made.review):
        output.say("\n".join(wrapped(line, rest="  ")))
    if out is not None:
        write_page(out, (folder / "report.html").read_text(encoding="utf-8"))
    output.say(f"Report: {folder / 'report.html'}")
    for words in made.passed[:_PASSED_SHOWN]:
        output.note(f"audit: passed over: {words}")
    output.document({"folder": str(folder), "passed_over": made.passed, **made.review.model_dump(mode="json")})
    return int(made.review.exit_code if case.reported.has_number else Exit.OK)
