"""`audit fork`: what a fork changes beside its upstream, and the questions that a reviewer asks of it."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from auditor.cli.output import Output, json_option, write_page
from auditor.errors import Exit, UsageError

if TYPE_CHECKING:
    from auditor.core.forks.review import ForkReview
    from auditor.reference.forkrules import RuleFile

_EPILOG = """\b
Examples:
  audit fork ./their-vllm --upstream ./vllm
  audit fork ./their-vllm --upstream v0.11.0 --out review.html
  audit fork ./their-vllm --upstream ./vllm --reports reports
  audit fork ./their-vllm.git --base 3f2a91c --head sm120 --json

\b
Exit codes:
  0  reviewed
  1  the tool failed
  2  usage: no repository, a name that means nothing, contents that are not there, or a bad file of rules
  4  reviewed, but no common history shows what is the fork's own: read the notes"""


@click.command(epilog=_EPILOG)
@click.argument("repo")
@click.option("--upstream", metavar="REPO|REF", help="Folder of a clone of the upstream, or a ref or tag of REPO.")
@click.option("--base", metavar="REF", help="Commit to compare with, in place of the merge base.")
@click.option("--head", metavar="REF", help="What is reviewed. Default: HEAD of REPO.")
@click.option("--rules", metavar="FILE", multiple=True, help="More rules or questions, in TOML; may be repeated.")
@click.option("--out", metavar="FILE.html", type=click.Path(path_type=Path), help="Write the review as a page, too.")
@click.option("--reports", metavar="DIR", type=click.Path(path_type=Path), help="Keep the review, for `audit publish`.")
@json_option
def fork(
    repo: str,
    upstream: str | None,
    base: str | None,
    head: str | None,
    rules: tuple[str, ...],
    out: Path | None,
    reports: Path | None,
    as_json: bool,
) -> int:
    """Review what the fork in REPO changes: whose commits, which lines of which kind, and what follows.

    REPO is a local clone, bare or not. Nothing of it is run or written, and nothing is fetched. Every changed hunk is
    classed by rules (docs/forks.md), and each answer comes with its lines: does it change kernels, open a gate for an
    architecture without one, count tokens differently, accept drafts differently, change defaults or sampling, ship
    numbers. Code that could count otherwise does not say that a number was made with it.
    """
    from auditor.cli.forktext import review_text
    from auditor.review.forks import review_fork
    from auditor.review.forks.notes import is_sure

    review = review_fork(repo, _rules(rules), upstream=upstream, base=base, head=head)
    output = Output(as_json)
    output.say(review_text(review))
    if out is not None or reports is not None:
        from auditor.report.forkpage import fork_page

        page = fork_page(review)
        if out is not None:
            write_page(out, page)
            output.say(f"\nPage: {out}")
        if reports is not None:
            output.say(f"\nKept: {_keep(review, page, reports)}")
    output.document(review.model_dump(mode="json"))
    return Exit.OK if is_sure(review.history) else Exit.UNDECIDED


def _keep(review: "ForkReview", page: str, reports: Path) -> Path:
    """Write the review into a folder of its own below `reports`, and give it; the same review gives the same bytes."""
    from auditor.core.folder import MANIFEST, REPORT, RunFolder, write
    from auditor.core.forks.review import FORK_REVIEW
    from auditor.core.record import canonical_json, sha256
    from auditor.report.site.claimwords import slug_of

    data = review.to_json()
    folder = reports / "forks" / f"{slug_of(review.name)}-{sha256(data)[:12]}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"the folder cannot be made ({error.strerror})"
        raise UsageError(what, where=str(folder), remedy="choose another with --reports") from None
    write(folder, FORK_REVIEW, data)
    write(folder, REPORT, page.encode())
    write(folder, MANIFEST, canonical_json(RunFolder(folder).manifest()))
    return folder


def _rules(files: tuple[str, ...]) -> "RuleFile":
    """The rules of the package and of the user; one of the user's goes before one of the same id."""
    from auditor.reference.forkrules import MOST_BYTES, bundled_fork_rules, parse_fork_rules

    rules = bundled_fork_rules()
    for file in files:
        try:
            with open(file, "rb") as stream:
                data = stream.read(MOST_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"cannot be read: {reason}", where=file, remedy="give a file of rules") from None
        rules = rules.with_more(parse_fork_rules(data, file))
    return rules
