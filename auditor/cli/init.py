"""`audit init`: a draft of a claim file from a pasted post or a few questions."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from auditor.cli.output import Output, json_option
from auditor.errors import UsageError

if TYPE_CHECKING:
    from auditor.core.post.scan import Stated

_EPILOG = """\b
Exit codes:
  0  the draft was written
  2  usage: nothing to draft from, a bad id, or the file exists already"""

_FOLDER = Path("claims")
_QUESTIONS = (
    ("source.url", "Address of the publication"),
    ("source.kind", "Kind of claimant, as forum post (no names)"),
    ("hardware.gpu", "GPU"),
    ("hardware.count", "Number of GPUs"),
    ("model.id", "Model"),
    ("model.quantisation", "Quantisation"),
    ("engine.name", "Engine"),
    ("reported.value", "Tokens per second"),
    ("reported.basis", "What the number counts (decode, request, output, total, aggregate, peak, per_user, per_gpu)"),
    ("reported.streams", "Streams in flight"),
    ("speculation.method", "Speculation method, or none"),
    ("speculation.draft_tokens", "Tokens drafted per step (k)"),
)


@click.command(epilog=_EPILOG)
@click.option("--post", metavar="FILE", help="The pasted post; - reads standard input.")
@click.option("--out", metavar="FILE", help="Where to write the draft; - is standard output. [claims/ID.yaml]")
@click.option("--id", "claim_id", metavar="ID", help="Id of the claim. [from the post]")
@json_option
def init(post: str | None, out: str | None, claim_id: str | None, as_json: bool) -> None:
    """Draft a claim file from a pasted post or a few questions.

    Takes what the post states, quotes the words beside each value, and lists what is left to ask the claimant. Words
    that could mean two things give no value: they are quoted among the questions. Without --post it asks, on a
    terminal. An existing file is never overwritten.
    """
    from auditor.core.claim.types import ID_RULE, is_identifier
    from auditor.core.post.draft import draft_claim

    output = Output(as_json)
    if claim_id is not None and not is_identifier(claim_id):
        raise UsageError(f"--id {claim_id!r} {ID_RULE}")
    if out not in (None, "-") and Path(str(out)).exists():
        raise _exists(str(out))
    title: str | None = None
    answers: tuple[Stated, ...] = ()
    if post is not None:
        text = _post(post)
    elif sys.stdin.isatty():
        text, title, answers = _asked()
    else:
        raise UsageError("nothing to draft from", remedy="give --post FILE, or --post - for standard input")
    found_id, draft = draft_claim(text, claim_id=claim_id, title=title, answers=answers)
    place = _write(draft, found_id, out)
    if place is not None:
        output.say(f"{place}: a draft; check it, then `audit claims validate {place}`")
    elif not as_json:
        click.echo(draft, nl=False)
    output.document({"id": found_id, "path": place, "text": draft})


def _post(path: str) -> str:
    from auditor.cli.claimfile import read_text
    from auditor.core.post.scan import MAX_POST

    text = read_text(path)
    if not text.strip():
        raise UsageError("is empty", where=path, remedy="paste the post into it")
    if len(text) > MAX_POST:
        raise UsageError(f"longer than {MAX_POST:,} characters", where=path, remedy="keep the part that claims")
    return text


def _asked() -> "tuple[str, str | None, tuple[Stated, ...]]":
    """The words, the title and the answers of someone at a terminal."""
    from auditor.core.post.fields import placed
    from auditor.core.post.rates import scan_post

    click.echo("An empty answer leaves a field out.", err=True)
    title = _line("The claim in one line") or None
    words = "\n".join(filter(None, [title, _line("The sentence that states the number, as published")]))
    scan = scan_post(words)
    place = placed(scan, scan.rates, ())
    found = {item.field for items in (place.common, *place.rows) for item in items}
    found |= {"reported.value"} if scan.rates else set()
    answers: list[Stated] = []
    for field, question in _QUESTIONS:
        off = any(i.field == "speculation.method" and i.value == "none" for i in (*place.common, *answers))
        if field in found or (off and field == "speculation.draft_tokens"):
            continue
        answer = _answer(field, question)
        if answer:
            answers.append(answer)
    return words, title, tuple(answers)


def _answer(field: str, question: str) -> "Stated | None":
    """One answer, asked again until a claim may hold it; None if it is empty."""
    from auditor.core.post.draft import problem_with
    from auditor.core.post.scan import Stated

    while text := _line(question):
        answer = Stated(field, text, "answered")
        problem = problem_with(answer)
        if problem is None:
            return answer
        click.echo(f"  {problem}", err=True)
    return None


def _line(question: str) -> str:
    return str(click.prompt(question, default="", show_default=False, err=True)).strip()


def _write(draft: str, claim_id: str, out: str | None) -> str | None:
    """The path of the new file; None for standard output."""
    if out == "-":
        return None
    path = _FOLDER / f"{claim_id}.yaml" if out is None else Path(out)
    try:
        if out is None:
            _FOLDER.mkdir(exist_ok=True)
        with path.open("x", encoding="utf-8", newline="\n") as file:
            file.write(draft)
    except FileExistsError:
        raise _exists(str(path)) from None
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot be written: {getattr(error, 'strerror', None) or error}", where=str(path)) from None
    return str(path)


def _exists(path: str) -> UsageError:
    return UsageError("exists already", where=path, remedy="name another file with --out, or another claim with --id")
