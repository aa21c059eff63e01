"""Reading a claim file, or any other short text that a user names, from disk."""

import sys
from pathlib import Path

from auditor.core.claim.claim import Claim, parse_claim
from auditor.core.claim.text import MAX_BYTES
from auditor.core.claim.types import is_identifier
from auditor.errors import ClaimError, UsageError


def read_text(path: str) -> str:
    """The text of a file, `-` being standard input.

    Reads at most 1 MB; raises UsageError, in one line, for what is missing, too large or not UTF-8.
    """
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with Path(path).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise UsageError("is a folder", where=path, remedy="name a file") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UsageError(f"cannot be read: {reason}", where=path) from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"larger than {MAX_BYTES:,} bytes", where=path, remedy="give a shorter text")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ClaimError("not UTF-8", where=f"{path}:{line}", remedy="save the file as UTF-8") from None


def read_claim(path: str) -> tuple[Claim, str]:
    """A claim file and its text; raises ClaimError or UsageError, in one line with the file's name."""
    text = read_text(path)
    return parse_claim(text, path), text


def find_claim(name: str, database: str | None) -> tuple[Claim, str]:
    """The claim, and its text, of a file or of an id in the database; a file of that name goes first."""
    if not is_identifier(name) or name.endswith((".yaml", ".yml")) or Path(name).is_file():
        return read_claim(name)
    from auditor.db.store import open_store

    with open_store(database) as store:
        text = store.claim_text(name)
    return parse_claim(text, f"database:{name}"), text
