"""What was read of one folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditor.report.site.entries import ClaimCard, Entry, ForkCard


@dataclass(slots=True)
class Found:
    """An entry with what the site takes from its folder. Filled while it is read, then left alone."""

    folder: Path
    where: str
    """The folder below the reports tree."""
    entry: Entry
    card: ClaimCard | None = None
    fork: ForkCard | None = None
    claim_text: bytes | None = None
    page: bytes | None = None
    """A whole page that stands for the entry, in place of one that the site makes."""

    def update(self, **values: Any) -> None:
        """Set fields of the entry."""
        self.entry = self.entry.model_copy(update=values)
