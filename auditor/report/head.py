"""The top of the page: the verdict, its reasons, and the headline numbers."""

import re

from auditor.core.counting.ledger import Ledger
from auditor.core.judging.verdict import Verdict
from auditor.report.rates import (
    NOT_COMPARABLE,
    factor,
    interval,
    is_comparable,
    is_valid,
    marks_of,
    measured_words,
    span,
)
from auditor.report.shown import NOT_KNOWN, figure
from auditor.report.views import Head, Tile
from auditor.terms import Outcome, VerdictKind

MEANINGS = {
    VerdictKind.REPRODUCED: "The claimed speed was delivered, on the basis on which the claim is judged.",
    VerdictKind.EXCEEDED: "More than the claimed speed was delivered, on the basis on which the claim is judged.",
    VerdictKind.MISCOUNTED: "The number counts tokens that were not delivered, or its stated basis is contradicted.",
    VerdictKind.NOT_REPRODUCED: "Everything that matters was the same, and the claimed speed was not delivered.",
    VerdictKind.INVALID_OUTPUT: "Something was delivered, but it is not valid output, so its speed says nothing.",
    VerdictKind.IMPOSSIBLE: "The claim lies above what the hardware can do.",
    VerdictKind.UNLABELLED: "The claim does not say what it counts; a usual way of counting reaches it.",
    VerdictKind.NOT_COMPARABLE: "Something that matters differs from the claim, so its speed is neither confirmed nor "
    "refuted. The counting below is of what was measured here.",
    VerdictKind.INCONCLUSIVE: "The evidence does not carry a judgement either way.",
}
_STATED = {"stated-acceptance": "Forced acceptance stated"}
"""Failed notes that stand at the top of a report, for they change what the claim is about."""
TONES = {0: "ok", 3: "bad", 4: "warn"}
"""Name of the colour of a verdict, by its exit code."""


def head_of(verdict: Verdict, ledger: Ledger) -> Head:
    """The top of the page."""
    claimed, run = verdict.claimed, verdict.run
    title = claimed.title if claimed.case == claimed.claim else f"{claimed.title} ({claimed.case})"
    facts = [("Claim", claimed.claim if claimed.case == claimed.claim else f"{claimed.claim}, {claimed.case}")]
    facts.append(("Source", claimed.source or NOT_KNOWN))
    facts.append(("Disputed by", claimed.disputed_by or "nobody known"))
    facts.append(("Measured", measured_words(verdict)))
    facts.append(("Server", f"{run.server}, {run.started}"))
    source = claimed.source or ""
    return Head(
        title=title,
        kind=verdict.kind.value,
        tone=TONES[verdict.exit_code],
        sentence=sentence_of(verdict),
        meaning=MEANINGS[verdict.kind],
        reasons=verdict.reasons,
        flags=flags_of(verdict, ledger),
        tiles=_tiles(verdict),
        facts=tuple(facts),
        source_url=source if source.startswith(("https://", "http://")) else None,
    )


def sentence_of(verdict: Verdict) -> str:
    """The verdict's sentence without its kind, which stands beside it."""
    words = rounded(verdict, verdict.sentence.removeprefix(f"{verdict.kind.value}: "))
    return words[:1].upper() + words[1:] + "."


def rounded(verdict: Verdict, words: str) -> str:
    """A sentence of the verdict with the figures of its rates as they are shown everywhere else."""
    marks, shown = marks_of(verdict.claimed), {}
    for basis in (*verdict.bases, verdict.delivered):
        estimate = basis.estimate if basis else None
        for value in (estimate.value, estimate.low, estimate.high) if estimate else ():
            if value is not None:
                shown[f"{value:g}"] = figure(value, marks)
    return re.sub(r"(?<![\w.,])\d+\.\d+(?:e\+\d+)?(?![\w.,]*\d)", lambda found: shown.get(found[0], found[0]), words)


def flags_of(verdict: Verdict, ledger: Ledger | None = None) -> tuple[tuple[str, str], ...]:
    """What limits the run or the claim as a whole, said plainly."""
    run = verdict.run
    flags = [(_STATED[f.id], f.sentence) for f in verdict.findings if f.id in _STATED and f.outcome is Outcome.FAILS]
    if run.rehearsal:
        words = "measured on this tool's embedded server: the counting is real, the speed says nothing of the claim"
        flags.append(("Rehearsal", words))
    if run.quick:
        flags.append(("Quick look", "shorter and fewer answers than a full audit"))
    if run.partial:
        words = "the run did not reach its end"
        if ledger is not None:
            words = f"{len(ledger.exchanges):,} of {ledger.planned_requests:,} planned requests are in the record"
            words += f"; the log is damaged: {ledger.damage}" if ledger.damage else ""
        flags.append(("Partial run", words))
    return tuple(flags)


def _tiles(verdict: Verdict) -> tuple[Tile, ...]:
    claimed, marks = verdict.claimed, marks_of(verdict.claimed)
    basis = claimed.basis or "basis not stated"
    tiles = [Tile("Claimed", claimed.text, basis)]
    estimate = verdict.delivered.estimate if verdict.delivered else None
    if estimate is None:
        reason = verdict.delivered.reason if verdict.delivered and verdict.delivered.reason else "nothing was measured"
        tiles.append(Tile("Delivered", NOT_KNOWN, reason))
    else:
        name = "Delivered" if is_valid(verdict) else "Invalid output, at"
        tiles.append(Tile(name, f"{figure(estimate.value, marks)} tok/s", f"95 %: {interval(estimate, marks)}"))
    times = factor(verdict, verdict.delivered)
    if times is not None:
        tiles.append(Tile("Claimed / delivered", times, f"claim read as {span(claimed)}"))
    elif not is_comparable(verdict):
        tiles.append(Tile("Claimed / delivered", NOT_COMPARABLE, "what was measured is not what the claim is about"))
    return tuple(tiles)
