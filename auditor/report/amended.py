"""What was said of a verdict since: for the top of the page, the terminal and a thread."""

from auditor.core.amendment import MOST_LETTERS, TITLES, Amendment, amendments_of, in_one_line
from auditor.core.folder import RunFolder
from auditor.report.shown import one_line, plain
from auditor.report.views import Remark

_TONES = {"reply": "plain", "correction": "warn", "withdrawal": "bad"}
_BELOW = ("the verdict below is as it was given", "the verdict below is taken back, and shown as it was given")
_OPEN = 600
"""Letters of a text that is shown whole; a longer one is folded away, for the verdict to stay in sight."""


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
        about=f"{by}added {one.at}; {_BELOW[one.kind == 'withdrawal']}",
        paragraphs=tuple(line for line in plain(one.text, MOST_LETTERS).splitlines() if line.strip()),
        is_long=len(one.text) > _OPEN,
        url=one.url if one.url and one.url.startswith(("https://", "http://")) else None,
    )
