"""`audit publish`: a static site of all audits."""

import time
from pathlib import Path
from urllib.parse import urlsplit

import click

from auditor.cli.judge import reports_option
from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.errors import UsageError

EPILOG = """\b
Exit codes:
  0  published; folders that could not be read are rows with their reason
  1  the tool failed, or the site cannot be written
  2  usage: nothing to publish, a bad option, or a file of somebody else in the way"""


@click.command(epilog=EPILOG)
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder of the site.")
@reports_option
@database_option
@click.option("--base-url", metavar="URL", default="", help="Where the site will be: for feeds, cards and badges.")
@click.option("--title", default="Audits of speed claims", show_default=True, help="Title of the site.")
@click.option("--wire-logs", is_flag=True, help="Copy the wire logs of the runs as well, whatever their size.")
@click.option("--cards/--no-cards", default=True, help="Draw the pictures that links to a page are shown with.")
@json_option
def publish(
    out: Path,
    reports: str,
    database: str | None,
    base_url: str,
    title: str,
    wire_logs: bool,
    cards: bool,
    as_json: bool,
) -> None:
    """Write a static site of all audits in the reports folder and the database.

    It works from a folder, under any path and on any host, asks for nothing elsewhere, and needs no script to be read.
    Published again into the same folder, it changes only what is new; what was published once stays as removed when its
    run is gone. Wire logs and files over 1 MiB are listed with their digests.
    """
    from auditor.core.wording import plural
    from auditor.report.site.building import Site
    from auditor.report.site.filing import Rule
    from auditor.site import publish as publish_site

    said = Output(as_json)
    site = Site(title=_title(title), base_url=_address(base_url), rule=Rule(wire_logs=wire_logs), has_cards=cards)
    done = publish_site(Path(reports), out, database=database, site=site, now_ns=time.time_ns())
    for problem in done.problems:
        said.note(f"audit: {problem.folder}: {problem.what}")
    said.say(str(out / "index.html"))
    tally = done.tally
    said.note(
        f"{plural(done.audits, 'audit')} of {plural(done.claims, 'claim')}: {plural(tally.written, 'file')} written, "
        f"{tally.unchanged:,} unchanged, {tally.removed:,} removed"
    )
    said.document(
        {
            "site": str(out),
            "audits": done.audits,
            "claims": done.claims,
            "forks": done.forks,
            "written": tally.written,
            "unchanged": tally.unchanged,
            "removed": tally.removed,
            "problems": [one.model_dump(mode="json") for one in done.problems],
        }
    )


def _address(text: str) -> str:
    """The base address with one slash at its end; raises UsageError."""
    if not text:
        return ""
    try:
        parts = urlsplit(text)
        is_good = parts.scheme in ("http", "https") and bool(parts.hostname) and not (parts.query or parts.fragment)
        is_good = is_good and parts.username is None and text.isprintable() and " " not in text
    except ValueError:
        is_good = False
    if not is_good:
        raise UsageError(f"--base-url {text!r} is no address of a site", remedy="give it as https://HOST/PATH/")
    return f"{text.rstrip('/')}/"


def _title(text: str) -> str:
    from auditor.report.shown import one_line

    if not text.strip():
        raise UsageError("--title is empty", remedy="leave it out, or give one")
    return one_line(text, 200)
