"""A further measurement that parts rules which agree about a claim: made of one run's explanation, for another run."""

from typing import Literal

from auditor.core.explain.closedloop import HALF_LENGTH, TWICE_STREAMS
from auditor.core.explain.record import Explanation, Prediction
from auditor.core.record import Record
from auditor.errors import UsageError

_CHANGES: dict[str, Literal["length", "streams"]] = {HALF_LENGTH: "length", TWICE_STREAMS: "streams"}
"""Changes that a client can make; the draft width and the GPUs are the server's."""
CELL = "discriminating"
"""Key of the cell that measures it."""


class Discrimination(Record):
    """What is measured beside the claim's own load, and what each rule would show there."""

    run: str
    """Id of the run whose explanation asks for it."""
    plan_digest: str
    """Of that run."""
    change: str
    """In words."""
    what: Literal["length", "streams"]
    """Answers half as long, or twice the streams."""
    predictions: tuple[Prediction, ...]


def discrimination_of(explanation: Explanation | None, run: str, plan_digest: str) -> Discrimination:
    """The further measurement that an explanation names; raises UsageError where a client can make none."""
    aliases = explanation.aliases if explanation else ()
    if not aliases:
        raise UsageError(f"run {run} has no rules that agree about its claim", remedy="leave --discriminate out")
    found = [alias.discriminator for alias in aliases if alias.discriminator is not None]
    ours = next((one for one in found if one.change in _CHANGES), None)
    if ours is None:
        words = found[0].change if found else "nothing that is known"
        raise UsageError(
            f"what would part the rules of run {run} is {words}, which no client can change",
            remedy="set the server up that way and run again" if found else "ask the claimant for a log",
        )
    return Discrimination(
        run=run,
        plan_digest=plan_digest,
        change=ours.change,
        what=_CHANGES[ours.change],
        predictions=ours.predictions,
    )
