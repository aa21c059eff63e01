"""The table of a sweep, as `audit sweep` keeps it, as an entry of the site. Its rows are runs of their own."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from auditor.core.folder import RunFolder
from auditor.core.sweeping.result import Sweep
from auditor.core.wording import plural
from auditor.report.shown import one_line
from auditor.report.site.claimwords import slug_of
from auditor.report.site.entries import Entry
from auditor.report.site.filing import UNREADABLE, Rule, check_files, check_keys, kept_files, told
from auditor.report.site.found import Found
from auditor.report.sweeppage import sweep_page

SWEEP = "sweep.json"
MARKS = (SWEEP,)
"""A folder that holds it is a sweep's."""
_KEPT = {SWEEP, "sweep.md"}
"""Not the logs of its servers, which may hold prompts and addresses. The page is made from the record."""


def read_sweep(folder: Path, where: str, rule: Rule) -> Found:
    """The sweep in a folder; never raises for what the folder holds."""
    name = one_line(folder.name, 120)
    found = Found(folder, where, Entry(kind="sweep", id=name, slug=slug_of(folder.name), claim=None, title=name))
    try:
        check_files(folder, MARKS)
        sweep = RunFolder(folder).record(SWEEP, Sweep)
        measured, rows = len(sweep.rows), len(sweep.rows) + len(sweep.left)
        page, files = sweep_page(sweep).encode(), kept_files(folder, _KEPT, rule)
        check_keys(folder, files)
        found.update(
            id=one_line(sweep.sweep, 120),
            slug=slug_of(sweep.sweep),
            title=one_line(sweep.title, 300),
            sentence=f"{measured:,} of {plural(rows, 'row')} measured.",
            files=files,
            **_begun(sweep.sweep),
        )
        found.page = page
    except UNREADABLE as error:
        found.update(problem=told(error), files=())
    return found


def _begun(name: str) -> dict[str, Any]:
    """When the sweep began, which its name tells; nothing where it has another name."""
    try:
        when = datetime.strptime(name[:22], "sweep-%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError:
        return {}
    return {"started": when.isoformat(timespec="seconds"), "started_ns": int(when.timestamp()) * 10**9}
