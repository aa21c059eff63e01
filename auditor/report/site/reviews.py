"""The review of a fork, as `audit fork` keeps it and prints it with `--json`, as an entry of the site."""

from pathlib import Path

from auditor.core.folder import MANIFEST, RunFolder
from auditor.core.forks.review import FORK_REVIEW, ForkReview
from auditor.report.forkpage import fork_page
from auditor.report.forkwords import size_words
from auditor.report.shown import one_line
from auditor.report.site.claimwords import slug_of
from auditor.report.site.entries import Entry, ForkCard
from auditor.report.site.filing import UNREADABLE, Rule, check_files, kept_files, told
from auditor.report.site.found import Found

MARKS = (FORK_REVIEW,)
"""A folder that holds it is a review's."""


def read_review(folder: Path, where: str, rule: Rule) -> Found:
    """The review in a folder; never raises for what the folder holds."""
    name = one_line(folder.name, 120)
    found = Found(folder, where, Entry(kind="review", id=name, slug=slug_of(folder.name), claim=None, title=name))
    try:
        check_files(folder, (*MARKS, MANIFEST))
        kept = RunFolder(folder)
        kept.check(*MARKS)
        review = kept.record(FORK_REVIEW, ForkReview)
        yes = tuple(one_line(f"{one.ask} {one.sentence}", 500) for one in review.answers if one.outcome == "yes")
        title, head = one_line(review.name, 200), one_line(review.history.head, 64)
        page, found.fork = fork_page(review).encode(), ForkCard(slug=slug_of(title), name=title)
        found.update(
            id=head, slug=slug_of(f"{title}-{head[:12]}"), title=title, sentence=f"{size_words(review)}.", reasons=yes,
            fork=found.fork.slug, files=kept_files(folder, {*MARKS, MANIFEST}, rule),
        )  # fmt: skip
        found.page = page
    except UNREADABLE as error:
        found.update(problem=told(error), files=())
    return found
