"""What was said of a verdict since: for the top of the page, the terminal and a thread."""

from auditor.core.amendment import TITLES, Amendment, amendments_of, in_one_line
from auditor.core.folder import RunFolder
from auditor.report.shown import one_line, plain
from auditor.report.views import Remark

_TONES = {"reply": "plain", "correction": "warn", "withdrawal": "bad"}
_LETTERS = 20_000


def remarks_of(run: RunFolder) -> tuple[Remark, ...]:
    """The amendments of a run folder as the page shows them, the oldest first; withdrawals before all else."""
    found = sorted(amendments_of(run), key=lambda one: (one.kind != "withdrawal", one.seq))
    return tuple(map(_remark, found))


def remark_lines(run: RunFolder) -> tuple[str, ...]:
    """The same, a line each."""
    return tuple(one_line(in_one_line(one)) for one in amendments_of(run))


def _remark(one: Amendment) -> Remark:
    by = f"by {one_line(one.by)}, " if one.by else ""
    return Remark(
        label=TITLES[one.kind],
        tone=_TONES[one.kind],
        about=f"{by}added {one.at}; the verdict below stands as it was given",
        paragraphs=tuple(line for line in plain(one.text, _LETTERS).splitlines() if line.strip()),
        url=one.url if one.url and one.url.startswith(("https://", "http://")) else None,
    )
