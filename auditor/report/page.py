"""The report of a run folder as one HTML file, which needs no network and no script to be read."""

import base64
import hashlib
from dataclasses import replace
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from auditor.core import folder as names
from auditor.core.counting.ledger import Ledger
from auditor.core.folder import RunFolder, write
from auditor.core.judging.verdict import Verdict
from auditor.report.amended import remarks_of
from auditor.report.charts import draw_all
from auditor.report.tokens import read_tokens
from auditor.report.view import Source, make_view
from auditor.report.views import ReportView

_TEMPLATES = Path(__file__).parent / "templates"
_DERIVED = (names.REPORT, names.MANIFEST)
"""Files that follow from the report and so cannot be named in it."""
LONG_WORD = 22


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
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["ticks"] = _ticks
    environment.filters["is_long"] = _is_long
    css = (_TEMPLATES / "style.css").read_text(encoding="utf-8")
    drawings = {name: (Markup(drawing.wide), Markup(drawing.narrow)) for name, drawing in draw_all(view).items()}
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    page = environment.get_template(template)
    return page.render(view=view, drawings=drawings, css=Markup(css), style_digest=digest)


def _ticks(text: str) -> Markup:
    """Escaped text in which what stands between backticks is code."""
    parts = [escape(part) for part in text.split("`")]
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else part for index, part in enumerate(parts)
    )


def _is_long(text: str) -> bool:
    """Whether a word of the text must be broken to fit."""
    return any(len(word) > LONG_WORD for word in text.split())
