"""`audit answer`: the run that a challenge asks for, made beside the claimant's own server, as a bundle."""

import secrets
import shlex
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from auditor.cli.bundle import save, sign_option, signers
from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.cli.runparts import hardware_of, left_out, parts_options, sampler_of, without
from auditor.errors import UsageError

if TYPE_CHECKING:
    from auditor.core.challenge.challenge import Challenge
    from auditor.job import Job
    from auditor.publish.challenges import Asked

EPILOG = """\b
Exit codes:
  0    the bundle is written, whatever the verdict
  1    the tool failed
  2    no challenge, one that was changed or has expired, or a bad option
  5    the server refused or could not be reached
  130  interrupted with nothing to judge"""


@click.command(epilog=EPILOG)
@click.argument("challenge", metavar="CHALLENGE")
@click.option("--server", required=True, help="Base address of your server.")
@click.option("--key", metavar="FILE", help="Whose challenge it is to be: a public key, or allowed_signers.")
@click.option("--api-key", envvar="AUDIT_API_KEY", help="Key of the server; never written down. Or AUDIT_API_KEY.")
@click.option("--model", help="Model to ask for, where the server has several.")
@click.option("--kind", help="Kind of server, where it cannot be recognised; `audit servers` lists them.")
@parts_options
@click.option("--dry-run", is_flag=True, help="Show what is asked, prompts and all, and send nothing.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write. Default: RUN.audit.tar.")
@sign_option
@click.option(
    "--reports", type=click.Path(file_okay=False), default="reports", show_default=True, help="Folder for runs."
)
@database_option
@json_option
def answer(
    challenge: str, dry_run: bool, out: Path | None, sign: str | None, key: str | None, as_json: bool, **options: Any
) -> None:
    """Answer CHALLENGE: run what it asks for against your server, and write the bundle to send back.

    Give the hardware facts, with --nvml where the server runs on this machine, and sign: the reviewer looks for both.
    Prompts, answers and their times are in the bundle; keys never are.
    """
    from auditor import audit
    from auditor.bundles import make_bundle
    from auditor.cli.progress import Display
    from auditor.index import index_run
    from auditor.publish.challenges import keep_challenge, load_challenge
    from auditor.publish.keys import read_public

    said = Output(as_json)
    asked, keys = load_challenge(challenge), signers(sign)
    trusted = () if key is None else read_public(key)
    started_ns = time.time_ns()
    _refuse(asked, challenge, {one.key for one in trusted}, started_ns)
    said.note(f"The challenge was {asked.issuer(trusted)}; it expires {asked.challenge.expires}.")
    if dry_run:
        _show(asked.challenge, said)
        return
    job = _job(asked, challenge, options, started_ns)
    path = out or Path(f"{job.run}.audit.tar")
    if path.exists():
        raise UsageError("is there already", where=str(path), remedy="name another file with --out")
    with Display() as display:
        result = audit.run(job, display.watch)
    keep_challenge(result.folder, asked)
    if result.stopped:
        said.note(f"audit: the run ended early, so the answer is incomplete: {result.stopped}")
    index_run(result, text=asked.challenge.claim, database=options["database"], say=said.note)
    save(path, make_bundle(result.folder, keys))
    said.say(str(path))
    said.note(f"{result.verdict.sentence}. The run is in {result.folder}; send {path} to the reviewer.")
    document = {"bundle": str(path), "folder": str(result.folder), "stopped": result.stopped}
    said.document({**document, "verdict": result.verdict.kind.value, "sentence": result.verdict.sentence})


def _show(asked: "Challenge", said: Output) -> None:
    """What would be run, prompts and all."""
    from auditor.core.wording import plural
    from auditor.report.shown import plain

    streams = "the claim's streams" if asked.streams is None else plural(asked.streams, "stream")
    said.say(f"{asked.case}: {streams}, {plural(asked.repeats, 'repeat')}, {plural(asked.tokens, 'token')} an answer")
    for prompt in asked.prompts:
        said.say(f"\n{prompt.id}")
        for message in prompt.messages:
            said.say(f"{message.role}: {plain(message.content, MOST_SHOWN)}")
    said.document(asked.model_dump(mode="json"))


MOST_SHOWN = 20_000
"""Letters of a prompt that are shown."""


def _refuse(asked: "Asked", path: str, trusted: set[str], now_ns: int) -> None:
    """Raises UsageError for a challenge that need not be answered."""
    if trusted and not trusted & set(asked.keys):
        raise UsageError("is not signed with the given key", where=path, remedy="ask the reviewer for it again")
    if now_ns > asked.challenge.expires_ns:
        what = f"expired {asked.challenge.expires}"
        raise UsageError(what, where=path, remedy="ask for another, or set this machine's clock")
    if now_ns < asked.challenge.issued_ns:
        what = f"was issued {asked.challenge.issued}, which this machine's clock has not reached"
        raise UsageError(what, where=path, remedy="set the clock")


def _job(asked: "Asked", path: str, options: dict[str, Any], started_ns: int) -> "Job":
    """The audit that the challenge asks for."""
    from auditor.core.address import public_url
    from auditor.core.challenge.answered import ONE_SERVER
    from auditor.core.claim.claim import parse_claim
    from auditor.job import Job, ServerChoice

    if options["check_text"]:
        raise UsageError("--check-text needs a second server", remedy="leave it out: an answer is of one server")
    case, off = asked.challenge.the_case(), without(options)
    run = f"{datetime.fromtimestamp(started_ns / 1e9, UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    return Job(
        claim=parse_claim(asked.challenge.claim, path),
        case=case,
        claim_bytes=asked.challenge.claim.encode(),
        servers=(ServerChoice(ONE_SERVER, options["server"]),),
        wishes=asked.challenge.wishes,
        run=run,
        started_ns=started_ns,
        seed=asked.challenge.seed,
        folder=Path(options["reports"]) / case.claim_id / run,
        command=shlex.join(["audit", "answer", Path(path).name, "--server", public_url(options["server"])]),
        api_key=options["api_key"],
        model=options["model"] or case.server.model,
        kind=options["kind"],
        tokenizer=options["tokenizer"],
        server_log=options["server_log"],
        other_tokenizer=options["other_tokenizer"],
        hardware=hardware_of(options, None),
        sampler=sampler_of(options),
        canaries="canaries" not in off,
        without=off,
        left_out={**left_out(options, is_embedded=False, has_plain=False), "text": _ONE, "plain server": _ONE},
    )


_ONE = "an answer to a challenge is of one server"
