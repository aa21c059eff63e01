"""What was read of one folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from auditor.core.forks.review import ForkReview
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
    review: ForkReview | None = None

    def update(self, **values: Any) -> None:
        """Set fields of the entry."""
        self.entry = self.entry.model_copy(update=values)
