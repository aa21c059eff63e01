"""Logs of the claimant, stored with a run: what figures in them say for a counting rule."""

from typing import Literal

from auditor.core.claim.record import Case
from auditor.core.enginelogs import Artefact, LogReader, backing
from auditor.core.enginelogs.ofclaim import of_claim
from auditor.core.explain.record import Witness
from auditor.core.record import Record


class WitnessFile(Record):
    """`witnesses/DIGEST.json`: where `witnesses/DIGEST.log` comes from."""

    witness_version: Literal[1] = 1
    name: str
    """Name of the file that it was copied from."""
    sha256: str
    size: int
    """Bytes."""
    taken: str
    """When it was put beside the run, ISO 8601; the log itself rarely prints a date."""

    @property
    def stem(self) -> str:
        """Name of both files without their suffix."""
        return self.sha256[:16]


def witnesses_in(case: Case, file: WitnessFile, data: bytes) -> tuple[Witness, ...]:
    """The figures of a log that meet the claimed number, each for the rule that it speaks for.

    None where the log is not seen to be of the claim's engine and model.
    """
    claim = case.reported.interval()
    if claim is None:
        return ()
    reader = LogReader(claim=claim)
    for raw in data.split(b"\n"):
        reader.add(raw)
    found = reader.finish(Artefact(name=file.name, sha256=file.sha256, size=file.size))
    if found is None or not of_claim(case, found[0]).same:
        return ()
    backed = (backing(one, file.taken) for one in found[0].witnesses)
    return tuple(one for one in backed if one is not None)
