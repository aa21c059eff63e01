"""What a verification says: one line for each thing that was looked at, and what stays a matter of trust."""

from collections.abc import Iterable

from auditor.core.record import Record
from auditor.errors import Exit
from auditor.terms import Outcome


class Check(Record):
    """One thing that was looked at.

    `fails` says that it is not as stated, `error` that it could not be settled; `not_available` and `not_applicable`
    say what was not there to be looked at.
    """

    id: str
    outcome: Outcome
    sentence: str
    remedy: str | None = None


class Signer(Record):
    """Whose key signed."""

    key: str
    """The public key as OpenSSH writes it, without a comment."""
    fingerprint: str
    """As `ssh-keygen -l` prints it."""
    name: str | None
    """The name beside the key in the file that `--key` gave; None where no file vouches for the key."""


class Verification(Record):
    """The result of `audit verify`."""

    what: str
    """The file, folder or address."""
    sha256: str | None
    """Of the bundle; None for a folder."""
    run: str | None
    claim: str | None
    verdict: str | None
    """Its kind, as the bundle has it; None where it could not be read."""
    sentence: str | None
    signers: tuple[Signer, ...]
    checks: tuple[Check, ...]
    amendments: tuple[str, ...]
    """Replies, corrections and withdrawals, in a line each."""
    trust: tuple[str, ...]
    """What no verification can show."""

    @property
    def exit_code(self) -> Exit:
        """0 all holds, 3 something is not as stated, 4 something could not be settled."""
        return exit_of(check.outcome for check in self.checks)


def exit_of(outcomes: Iterable[Outcome]) -> Exit:
    """The gravest of them as an exit code."""
    found = set(outcomes)
    if Outcome.FAILS in found:
        return Exit.REFUTED
    return Exit.UNDECIDED if Outcome.ERROR in found else Exit.OK


TRUST = (
    "That the bytes came from the stated server: whoever ran the tool could write a wire log by hand, or put a proxy "
    "before another machine.",
    "That hardware, engine and model are those stated: the tool repeats what the machine said of itself.",
    "When it was: times are those of the machine that ran the tool.",
    "That no other run was left out: nothing here tells how often it was tried.",
)
"""What no verification can show."""
SIGNED = (
    "That what is signed is true, when it was signed, or whose key it is: a signature shows that the holder of the key "
    "made this bundle and that nobody changed it since."
)
UNSIGNED = "Who made it: an unsigned bundle can be made anew by anyone, and its digests show damage only."
FOLDER = "Who made it: whoever holds a run folder can make it anew."
