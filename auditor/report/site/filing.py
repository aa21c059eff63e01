"""The files of an audit's folder that may go onto the site, and the rule by which they do."""

import hashlib
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from auditor.core.bundle.secrets import secrets_seen
from auditor.core.counting.evidence import assemble
from auditor.core.folder import REPORT, WIRE
from auditor.core.wording import figure
from auditor.errors import AuditError, EvidenceError
from auditor.report.shown import one_line
from auditor.report.site.entries import Kept

LARGEST = 1 << 20
"""Bytes up to which a file is copied; a larger one is listed with its digest."""
LARGEST_PAGE = 8 << 20
"""The same for a page."""
LARGEST_READ = 64 << 20
"""Bytes up to which a record is read."""
_ACTIVE = {".html", ".htm", ".xhtml", ".shtml", ".svg", ".xml", ".js", ".mjs", ".pdf"}
"""Endings of files that a browser runs, or shows as a page, where the site serves them."""
UNREADABLE = (AuditError, OSError, ValueError, ArithmeticError, RecursionError)
"""What a damaged or hostile folder raises when it is read; the site shows it as a row with its reason."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is copied."""

    wire_logs: bool = False
    """Whether wire logs are, whatever their size."""

    def reason(self, name: str, size: int) -> str | None:
        """Why a file is not copied; None where it is."""
        if name == WIRE:
            return None if self.wire_logs else "wire logs are left out unless asked for"
        if name != REPORT and Path(name).suffix.lower() in _ACTIVE:
            return "a browser might run it"
        limit = LARGEST_PAGE if name == REPORT else LARGEST
        return None if size <= limit else f"larger than {figure(limit / (1 << 20))} MiB"


def kept_files(folder: Path, names: Set[str], rule: Rule) -> tuple[Kept, ...]:
    """The files of these names that are there, with their digests. Links are passed over: they lead elsewhere."""
    found = []
    for name in sorted(names):
        path = folder / name
        if path.is_symlink() or path.parent.is_symlink() or not path.is_file():
            continue
        size = path.stat().st_size
        found.append(Kept(name=name, bytes=size, sha256=digest_of(path), left_out=rule.reason(name, size)))
    return tuple(found)


def digest_of(path: Path) -> str:
    """SHA-256 of a file, read in pieces; raises EvidenceError."""
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise EvidenceError(f"cannot be read ({error.strerror})", where=path.name) from None


def check_files(folder: Path, names: tuple[str, ...]) -> None:
    """Raises EvidenceError where a file to be read is no plain one, or larger than any that this tool writes."""
    for name in names:
        path = folder / name
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise EvidenceError("is no plain file", where=name)
        if path.exists() and path.stat().st_size > LARGEST_READ:
            raise EvidenceError(f"is larger than {LARGEST_READ >> 20} MiB", where=name)


def check_keys(folder: Path, files: tuple[Kept, ...]) -> None:
    """Raises EvidenceError where a file that is copied holds what looks like a key."""
    copied = {one.name: (folder / one.name).read_bytes() for one in files if one.left_out is None}
    if (seen := next(secrets_seen(copied, assemble([], None)), None)) is not None:
        raise EvidenceError(f"nothing of its folder is published: {seen}")


def told(error: Exception) -> str:
    """An error in words that hold no path of this machine."""
    if not isinstance(error, AuditError):
        return "a file of it cannot be read"
    name = Path(error.where).name if error.where else ""
    return one_line(f"{name} {error.what}" if name else error.what, 400)
