"""What a figure of a log says for a counting rule, in the words of `auditor.core.explain.record`."""

from collections.abc import Mapping

from auditor.core.enginelogs.printed import Printed
from auditor.core.enginelogs.witnesses import LogWitness, WitnessKind
from auditor.core.explain.record import Witness, WitnessFigure
from auditor.core.record import six

RULES: Mapping[WitnessKind, str] = {
    WitnessKind.DELIVERED: "delivered",
    WitnessKind.AGGREGATE: "delivered/system",
    WitnessKind.PEAK: "log/best",
    WitnessKind.MEAN: "log/mean",
    WitnessKind.ACCEPTED: "accepted",
    WitnessKind.DRAFTED: "drafted",
}
"""The counting rule that a figure speaks for; the other kinds speak for none."""


def backing(witness: LogWitness, taken: str) -> Witness | None:
    """The claimant's own log as a witness for a rule; None for a kind that speaks for none.

    `taken` is when the log was taken, ISO 8601: it stands beside what the line itself prints, which is rarely a date.
    Whether the log is the claimant's is for the caller to know.
    """
    rule = RULES.get(witness.kind)
    if rule is None:
        return None
    figure = Printed(witness.text)
    place = f"line {witness.line}" if witness.line is not None else f"{witness.lines} lines"
    printed = f", which prints {witness.time.text}" if witness.time.text else ""
    return Witness(
        rule=rule,
        kind="claimant",
        artefact_sha256=witness.artefact.sha256,
        origin=f"{witness.artefact.name}, {witness.origin}, {place}{printed}",
        at=taken,
        figures=(WitnessFigure(text=witness.text, low=six(float(figure.low)), high=six(float(figure.high))),),
    )
