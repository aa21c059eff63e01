"""`audit bases`: what a run gives under every counting rule."""

import click

from auditor.cli.judge import reports_option, run_folder
from auditor.cli.output import Output, json_option

_EPILOG = """\b
Exit codes:
  0  done
  1  the tool failed, or the folder is damaged
  2  no such run or cell"""


@click.command(epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.option("--cell", metavar="KEY", help="A cell of the run other than the judged one.")
@reports_option
@json_option
def bases(run: str, cell: str | None, reports: str, as_json: bool) -> None:
    """Print what RUN gives under every counting rule, with an interval from its repeats.

    Each rule is shown with the factor from it to the claim, whether it counts delivered tokens under a label that
    people use for them, and, where it has no value, what it needs.
    """
    from auditor.cli.cells import measured_cell
    from auditor.cli.explaintext import bases_text
    from auditor.core.explain.matching import number_of, reading_of
    from auditor.core.folder import RunFolder

    folder = run_folder(run, reports)
    claim, case = RunFolder(folder).claim()
    measured = measured_cell(folder, cell, case)
    number = number_of(case.reported)
    readings = [reading_of(value, number, measured.limit) for value in measured.bases] if number else []
    output = Output(as_json)
    output.say(bases_text(measured.bases, readings, number, measured.cell.cell))
    output.document(
        {
            "run": folder.name,
            "cell": measured.cell.cell,
            "streams": measured.load.streams,
            "gpus": measured.load.gpus,
            "claim": claim.id,
            "case": case.id,
            "claimed": None if number is None else {"text": number.text, "low": number.low, "high": number.high},
            "bases": [
                {
                    **value.model_dump(mode="json"),
                    "factor": readings[index].factor if readings else None,
                    "state": readings[index].state if readings else None,
                }
                for index, value in enumerate(measured.bases)
            ],
        }
    )
