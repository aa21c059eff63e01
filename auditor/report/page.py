"""The report of a run folder as one HTML file, which needs no network and no script to be read."""

from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

from auditor.core import folder as names
from auditor.core.counting.ledger import Ledger
from auditor.core.folder import RunFolder, write
from auditor.core.judging.verdict import Verdict
from auditor.report.amended import remarks_of
from auditor.report.charts import draw_all
from auditor.report.templating import environment, policy_digest, text_of
from auditor.report.tokens import read_tokens
from auditor.report.view import Source, make_view
from auditor.report.views import ReportView

_DERIVED = (names.REPORT, names.MANIFEST)
"""Files that follow from the report and so cannot be named in it."""


def write_report(folder: Path) -> None:
    """Write `report.html` into a judged run folder; raises EvidenceError or AuditError.

    The same folder gives the same bytes with the same versions of the libraries.
    """
    write(folder, names.REPORT, page_of(folder).encode("utf-8"))


def page_of(folder: Path) -> str:
    """The page of a judged run folder."""
    run_folder = RunFolder(folder)
    ledger, plan = run_folder.record(names.LEDGER, Ledger), run_folder.plan()
    digests = {name: digest for name, digest in run_folder.manifest().items() if name not in _DERIVED}
    source = Source(
        verdict=run_folder.record(names.VERDICT, Verdict),
        ledger=ledger,
        plan=plan,
        facts=run_folder.facts(),
        tokens=read_tokens(folder, ledger, plan.subject.key),
        telemetry=run_folder.telemetry() or (),
        digests=digests,
    )
    return render(replace(make_view(source), remarks=remarks_of(run_folder)))


def render(view: ReportView, template: str = "report.html") -> str:
    """The view as HTML."""
    css = text_of("style.css")
    drawings = {name: (Markup(drawing.wide), Markup(drawing.narrow)) for name, drawing in draw_all(view).items()}
    page = environment().get_template(template)
    return page.render(view=view, drawings=drawings, css=Markup(css), style_digest=policy_digest(css))
