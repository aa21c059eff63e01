"""Replies, corrections and withdrawals: what was said of a verdict after it, each line bound to the one before."""

from collections.abc import Iterable
from typing import Literal

import orjson
from pydantic import Field, ValidationError

from auditor.core.folder import AMENDMENTS, RUN, RunFolder
from auditor.core.record import Record, sha256
from auditor.errors import EvidenceError

AmendmentKind = Literal["reply", "correction", "withdrawal"]
MOST_LETTERS = 20_000
"""In one amendment."""
MOST_BYTES = 8 << 20
"""Of the whole file."""


class Amendment(Record):
    """One line of `amendments.jsonl`."""

    amendment_version: Literal[1] = 1
    seq: int
    """Counts from 1."""
    kind: AmendmentKind
    text: str = Field(min_length=1, max_length=MOST_LETTERS)
    """The reply as given, or the reason."""
    by: str | None = Field(default=None, max_length=200)
    """Who says it, as told by whoever holds the run folder; nobody checked it."""
    url: str | None = Field(default=None, max_length=2000)
    """Where it was said."""
    at: str
    """UTC, ISO 8601: when it was added."""
    at_ns: int
    """The same, since the epoch."""
    verdict: str
    """SHA-256 of the verdict that stood then."""
    previous: str
    """SHA-256 of the line before; of `run.json` for the first."""

    def line(self) -> bytes:
        """Its line in the file."""
        return orjson.dumps(self.model_dump(mode="json"), option=orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE)


def read_amendments(data: bytes, run: bytes, where: str) -> tuple[Amendment, ...]:
    """The amendments in a file; `run` is the content of `run.json`.

    Raises EvidenceError with the line that was changed, or before which one is missing. That the last lines were cut
    off does not show in the file: the manifest, a bundle and the database tell it.
    """
    found: list[Amendment] = []
    previous = sha256(run)
    for number, line in enumerate(data.splitlines(keepends=True), 1):
        place = f"{where}:{number}"
        try:
            one = Amendment.from_json(line)
        except ValidationError:
            raise EvidenceError("is no amendment that this tool reads", where=place, remedy="restore it") from None
        if one.line() != line or one.seq != number or one.previous != previous:
            what = "does not follow the line before: this or an earlier one was changed or taken out"
            raise EvidenceError(what, where=place, remedy="restore the file")
        previous = sha256(line)
        found.append(one)
    return tuple(found)


def amendments_of(run: RunFolder) -> tuple[Amendment, ...]:
    """The amendments of a run folder; empty where there is none. Raises EvidenceError as `read_amendments` does."""
    path = run.path / AMENDMENTS
    if not path.exists():
        return ()
    if path.stat().st_size > MOST_BYTES:
        raise EvidenceError("is larger than any that this tool writes", where=str(path), remedy="restore the file")
    return read_amendments(run.read(AMENDMENTS), run.read(RUN), str(path))


def words_of(kinds: Iterable[str]) -> tuple[str, ...]:
    """The words beside a verdict, from the kinds of its amendments: `withdrawn`, `corrected`, `reply`, the gravest
    first."""
    found = set(kinds)
    words = {"withdrawal": "withdrawn", "correction": "corrected", "reply": "reply"}
    return tuple(word for kind, word in words.items() if kind in found)


TITLES: dict[AmendmentKind, str] = {
    "reply": "Reply", "correction": "Correction", "withdrawal": "Withdrawn",
}  # fmt: skip
"""What stands before each kind."""


def in_one_line(one: Amendment) -> str:
    """An amendment for lists and terminals, cut where it is long."""
    words = " ".join(one.text.split())
    words = words if len(words) <= _SHOWN else f"{words[:_SHOWN]} …"
    by = f" by {one.by}" if one.by else ""
    return f"{TITLES[one.kind]}{by}, {one.at}: {words}"


_SHOWN = 300
