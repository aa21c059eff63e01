"""`audit compare`: servers or forks beside each other, with what the difference could have been."""

from pathlib import Path

import click

from auditor.cli.judge import reports_option, run_folder
from auditor.cli.output import Output, json_option, write_page
from auditor.errors import Exit, UsageError

_EPILOG = """\b
Examples:
  audit compare RUN                         the servers of one run, measured in turns
  audit compare RUN RUN RUN --out page.html each with the first
  audit compare RUN RUN --of quantisation   two quantisations, said to be what is compared

\b
Exit codes:
  0  compared, whether or not a difference was shown
  1  the tool failed, or a folder is damaged
  2  no such run, or no load that two servers share
  4  compared, but something differs that makes it a comparison of other things: the first lines say what"""


@click.command(epilog=_EPILOG)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--on", "headline", metavar="QUANTITY", default="decode-rate", show_default=True, help="What it is about."
)
@click.option("--of", "compared", metavar="FIELD", multiple=True, help="A condition that is compared and may differ.")
@click.option(
    "--margin", type=click.FloatRange(0.1, 50), help="Per cent within which servers count as near each other."
)
@click.option(
    "--out", metavar="FILE.html", type=click.Path(path_type=Path), help="Write the comparison as a page, too."
)
@click.option("--markdown", is_flag=True, help="Print lines to paste into a thread instead.")
@reports_option
@json_option
def compare(
    runs: tuple[str, ...],
    headline: str,
    compared: tuple[str, ...],
    margin: float | None,
    out: Path | None,
    markdown: bool,
    reports: str,
    as_json: bool,
) -> int:
    """Compare the servers of one RUN, or the judged servers of several, each with the first.

    First what was equal and what was not; then, under each load, the ratio of rates and times with its 95 % interval.
    The unit is the repeat: two servers of one run (`audit run --beside`) are paired repeat by repeat, and so are runs
    with the same --seed. The conclusion is about one quantity, the others are held to 5 % together. No difference shown
    is not equality: what could have been shown is said beside it.
    """
    from auditor.audit import judged
    from auditor.cli.comparetext import comparison_text
    from auditor.core.comparing.compare import compare as compare_runs
    from auditor.core.comparing.side import Run
    from auditor.core.folder import RunFolder
    from auditor.report.comparison import comparison_page
    from auditor.report.comparisontext import markdown as as_markdown
    from auditor.report.shown import visible

    output = Output(as_json)
    _known(headline, compared)
    found = []
    for name in runs:
        folder = run_folder(name, reports)
        account, verdict = judged(folder)
        found.append(Run(RunFolder(folder).plan(), RunFolder(folder).facts(), account, verdict))
    share = None if margin is None else margin / 100
    comparison = compare_runs(found, headline=headline, compared=compared, margin=share)
    shown = visible(comparison)
    output.say(as_markdown(shown) if markdown else comparison_text(shown))
    if out is not None:
        write_page(out, comparison_page(shown, found))
        output.say(f"\nPage: {out}")
    output.document(comparison.model_dump(mode="json"))
    return Exit.OK if comparison.is_comparable else Exit.UNDECIDED


def _known(headline: str, compared: tuple[str, ...]) -> None:
    """Raises UsageError for a quantity or field that there is not."""
    from auditor.core.comparing.conditions import field_names
    from auditor.core.comparing.quantities import BY_ID

    if headline not in BY_ID:
        raise UsageError(f"--on: there is no quantity {headline}", remedy=f"give one of {', '.join(BY_ID)}")
    fields = field_names()
    for name in compared:
        if name.lower() not in {field.lower() for field in fields}:
            raise UsageError(f"--of: there is no field {name}", remedy=f"give one of {', '.join(fields)}")
