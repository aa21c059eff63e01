"""A claim laid beside the bounds: what may be said of it."""

from auditor.core.claim.record import Case
from auditor.core.judging.ceiling import Ceiling, Line, Possibility, Reading, Span
from auditor.core.physics.figures import Figures
from auditor.core.physics.lines import lines_of
from auditor.core.physics.readings import readings_of, sides_of
from auditor.core.physics.stated import Stated, stated_of
from auditor.core.physics.wording import assumptions_of, inputs_of, remarks_of, sentence_of
from auditor.core.record import six


def ceiling_of(
    case: Case, figures: Figures | None = None, context: int | None = None, given: frozenset[str] = frozenset()
) -> Ceiling:
    """Lay a claim beside what its hardware can do.

    `figures` are those of a checkpoint, where one was read; `context` (tokens) is laid over what the claim states.
    `given` are the fields of speculation that were laid over it: their sources say so.
    """
    reported = case.reported
    text = reported.as_text() if reported.has_number else None
    interval = reported.interval()
    stated = stated_of(case, figures, context, given)
    if isinstance(stated, str):
        low, high = interval or (None, None)
        words = f"no bound can be worked out: {stated}"
        return Ceiling(claim_text=text, low=low, high=high, outcome="unknown", sentence=words, until=_missing(case))
    claimed = _for_all(interval, stated)
    readings, lines = readings_of(stated, claimed), lines_of(stated, claimed)
    outcome = _outcome(readings) if claimed else "unknown"
    until = _until(case, stated) if claimed and outcome in ("open", "unknown") else ()
    ceilings = [one.ceiling for one in readings if one.ceiling is not None]
    return Ceiling(
        claim_text=text,
        low=claimed[0] if claimed else None,
        high=claimed[1] if claimed else None,
        outcome=outcome,
        sentence=sentence_of(outcome, text, readings, _own(lines, stated), until),
        until=until,
        hard=max(ceilings, default=None),
        lines=lines,
        readings=readings,
        sides=sides_of(stated),
        inputs=inputs_of(stated),
        remarks=remarks_of(stated, _own(lines, stated)),
        assumptions=assumptions_of(stated),
    )


def _own(lines: tuple[Line, ...], stated: Stated) -> tuple[Line, ...]:
    """The lines that a claim is about: those with speculation where it says that there was, without where not."""
    return tuple(
        line
        for line in lines
        if not (stated.is_on and not line.draft_tokens and stated.drafts) and not (stated.is_off and line.draft_tokens)
    )


def _for_all(interval: Span | None, stated: Stated) -> Span | None:
    """The claimed interval for all cards together."""
    if interval is None:
        return None
    factor = stated.count if stated.per_gpu else 1
    return (six(interval[0] * factor), six(interval[1] * factor))


def _outcome(readings: tuple[Reading, ...]) -> Possibility:
    bounded = [one for one in readings if one.is_possible is not None]
    if not bounded:
        return "unknown"
    if all(one.is_possible for one in bounded):
        return "within"
    return "impossible" if not any(one.is_possible is not False for one in readings) else "open"


def _until(case: Case, stated: Stated) -> tuple[str, ...]:
    """What of a claim would decide, were it stated."""
    names = []
    if stated.counted in ("open", "unbounded"):
        names.append("basis")
    if stated.streams is None and stated.counted != "stream":
        names.append("streams")
    if not stated.is_off and not stated.is_on:
        names.append("speculation")
    elif stated.is_on and case.speculation.draft_tokens is None:
        names.append("draft width")
    if not stated.choice.is_stated and case.model.quantisation is None:
        names.append("quantisation")
    return tuple(names)


def _missing(case: Case) -> tuple[str, ...]:
    """What a bound needs and the claim does not state."""
    needed = (
        ("GPU", case.hardware.gpu),
        ("number of GPUs", case.hardware.count),
        ("model", case.model.id or case.model.checkpoint),
    )
    return tuple(name for name, value in needed if value is None)
