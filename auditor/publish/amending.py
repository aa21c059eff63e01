"""Adds an amendment to a run folder: a line after the lines that are there, none of which is touched."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import orjson

from auditor.core.amendment import MOST_BYTES, MOST_LETTERS, Amendment, AmendmentKind, amendments_of
from auditor.core.folder import AMENDMENTS, MANIFEST, RUN, VERDICT, RunFolder, write
from auditor.core.record import canonical_json, sha256
from auditor.errors import UsageError


def amend(folder: Path, kind: AmendmentKind, text: str, *, by: str | None, url: str | None, now_ns: int) -> Amendment:
    """Add a line; `now_ns` is the time since the epoch.

    Raises UsageError for a run that was not judged and for a text that is empty or too long, EvidenceError where
    anything in the folder was changed.
    """
    said = text.strip()
    _refuse(said, by, url)
    run = RunFolder(folder)
    if not ((folder / VERDICT).exists() and (folder / MANIFEST).exists()):
        raise UsageError("the run was not judged yet", where=str(folder), remedy="`audit judge` it")
    with _alone(folder):
        # The manifest is written anew below: what was changed until now must not pass for whole afterwards.
        run.check(*orjson.loads(run.read(MANIFEST)))
        before = amendments_of(run)
        one = Amendment(
            seq=len(before) + 1,
            kind=kind,
            text=said,
            by=by,
            url=url,
            at=datetime.fromtimestamp(now_ns / 1e9, UTC).isoformat(timespec="seconds"),
            at_ns=now_ns,
            verdict=sha256(run.read(VERDICT)),
            previous=sha256(before[-1].line() if before else run.read(RUN)),
        )
        data = b"".join(amendment.line() for amendment in (*before, one))
        if len(data) > MOST_BYTES:
            raise UsageError(f"the amendments would be more than {MOST_BYTES >> 20} MiB", where=str(folder))
        write(folder, AMENDMENTS, data)
        write(folder, MANIFEST, canonical_json(run.manifest()))
    return one


def _refuse(text: str, by: str | None, url: str | None) -> None:
    if not text:
        raise UsageError("the text is empty", remedy="say what there is to say")
    if len(text) > MOST_LETTERS:
        what = f"the text has {len(text):,} letters, more than {MOST_LETTERS:,}"
        raise UsageError(what, remedy="give a shorter one, and --url where the whole is")
    if by is not None and not 0 < len(by) <= 200:
        raise UsageError("--by is empty or longer than 200 letters", remedy="give a name")
    if url is not None and not (url.startswith(("https://", "http://")) and len(url) <= 2000):
        raise UsageError("--url is no web address", where=url[:80], remedy="give one that begins with https://")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One at a time: two that amend at once would each write a line after the same one."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
