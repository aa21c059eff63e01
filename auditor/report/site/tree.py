"""The reports tree: which folders hold an audit, and of which kind."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from auditor.report.site import claimreviews, imported, reviews, runs, sweeps
from auditor.report.site.filing import Rule
from auditor.report.site.found import Found
from auditor.report.site.writing import WRITTEN

Reader = Callable[[Path, str, Rule], Found]

KINDS: tuple[tuple[tuple[str, ...], Reader], ...] = (
    (imported.MARKS, imported.read_import),
    (claimreviews.MARKS, claimreviews.read_claim_review),
    (reviews.MARKS, reviews.read_review),
    (sweeps.MARKS, sweeps.read_sweep),
    (runs.MARKS, runs.read_run),
)
"""The files by which a folder is known, and what reads it; the first that fits. A new kind is a line here."""
_DEPTH = 4


def read_tree(reports: Path, rule: Rule) -> Iterator[Found]:
    """Every audit below the reports tree, by the name of its folder. Links are not followed, nor sites entered."""
    for folder, reader in _folders(reports, _DEPTH):
        yield reader(folder, folder.relative_to(reports).as_posix(), rule)


def _folders(folder: Path, depth: int) -> Iterator[tuple[Path, Reader]]:
    try:
        with os.scandir(folder) as listed:
            inside = sorted(listed, key=lambda one: one.name)
    except OSError:
        return
    files = {one.name for one in inside if not one.is_dir(follow_symlinks=False)}
    if WRITTEN in files:
        return
    for marks, reader in KINDS:
        if files.intersection(marks):
            yield folder, reader
            return
    if depth:
        for one in inside:
            if one.is_dir(follow_symlinks=False) and not one.name.startswith("."):
                yield from _folders(Path(one.path), depth - 1)
