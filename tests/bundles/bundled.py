"""What the tests of this room share beside their fixtures."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Said:
    """What a command said."""

    returncode: int
    stdout: str
    stderr: str

    @property
    def words(self) -> str:
        """Standard output as one line, however it was wrapped."""
        return " ".join(self.stdout.split())


Audit = Callable[..., Said]
