"""Engine logs: lines in, records out. Pure; files are opened by `auditor.review.serverlog`."""

from auditor.core.enginelogs.backing import backing
from auditor.core.enginelogs.reading import ENGINES, KEPT, LogReader, entries_of
from auditor.core.enginelogs.records import Interval, LogEntry, Scope
from auditor.core.enginelogs.result import LogReading
from auditor.core.enginelogs.witnesses import Artefact, LogWitness, WitnessKind, witnesses

__all__ = [
    "ENGINES",
    "KEPT",
    "Artefact",
    "Interval",
    "LogEntry",
    "LogReader",
    "LogReading",
    "LogWitness",
    "Scope",
    "WitnessKind",
    "backing",
    "entries_of",
    "witnesses",
]
