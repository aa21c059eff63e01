"""The errors of the tool and the exit code that each one ends with.

    AuditError                 1   the tool failed
    |-- UsageError             2   a bad claim, option or file: the user can mend it
    |   `-- ClaimError         2   a claim file, with file and line
    |-- ServerError            5   the server refused or could not be reached
    |-- EvidenceError          1   a run folder is damaged or from a newer version
    |-- DatabaseError          1   the database is locked, missing or from a newer version
    `-- InterruptedRunError  130   stopped before there was anything to judge, or twice

An error is one line: where, what, and what to do about it. Verdicts are not errors; their exit codes are in
`auditor.terms`.
"""

from enum import IntEnum


class Exit(IntEnum):
    """What the process says to the shell."""

    OK = 0
    """Done, or the verdict is reproduced or exceeded."""
    FAILED = 1
    """The tool failed."""
    USAGE = 2
    """A bad claim, option or file."""
    REFUTED = 3
    """Miscounted, not-reproduced, invalid-output or impossible."""
    UNDECIDED = 4
    """Unlabelled, not-comparable or inconclusive."""
    SERVER = 5
    """The server refused or could not be reached."""
    INTERRUPTED = 130
    """Stopped by Ctrl-C with nothing to judge."""

    @property
    def meaning(self) -> str:
        """What it says, in one line."""
        return _MEANINGS[self]


_MEANINGS = {
    Exit.OK: "done; of `run` and `judge`: reproduced or exceeded",
    Exit.FAILED: "the tool failed",
    Exit.USAGE: "a bad claim, option or file",
    Exit.REFUTED: "miscounted, not-reproduced, invalid-output or impossible",
    Exit.UNDECIDED: "unlabelled, not-comparable or inconclusive",
    Exit.SERVER: "the server refused or could not be reached",
    Exit.INTERRUPTED: "interrupted with nothing to judge",
}


class AuditError(Exception):
    """Something went wrong; `str()` of it is the one line that the user reads."""

    exit_code: Exit = Exit.FAILED

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__(what)

    def __str__(self) -> str:
        line = f"{self.where}: {self.what}" if self.where else self.what
        return f"{line}; {self.remedy}" if self.remedy else line


class UsageError(AuditError):
    """The user asked for something that cannot be."""

    exit_code = Exit.USAGE


class ClaimError(UsageError):
    """A claim file does not say what a claim must say; `where` is file:line."""


class ServerError(AuditError):
    """The server refused, failed, or could not be reached."""

    exit_code = Exit.SERVER


class EvidenceError(AuditError):
    """A run folder cannot be read as evidence."""


class DatabaseError(AuditError):
    """The database cannot be used."""


class InterruptedRunError(AuditError):
    """Ctrl-C or SIGTERM before there was anything to judge, or twice."""

    exit_code = Exit.INTERRUPTED
