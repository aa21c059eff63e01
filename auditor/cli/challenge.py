"""`audit challenge`: ask a claimant, whose machine nobody else can reach, for a run that could not be made before."""

import secrets
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from auditor.cli.bundle import save, sign_option, signers
from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option

if TYPE_CHECKING:
    from auditor.core.plan.prompts import Prompt

EPILOG = """\b
Exit codes:
  0  the challenge is written
  1  the tool failed
  2  a bad claim, option, prompt file or key"""


@click.command(epilog=EPILOG, context_settings={"show_default": True})
@click.argument("claim", metavar="CLAIM")
@click.option("--row", help="Measurement of a claim that has several.")
@click.option(
    "--prompts", type=click.Path(dir_okay=False), help="Your own unseen prompts: JSON lines. Else drawn for this."
)
@click.option("--streams", type=click.IntRange(1, 100_000), help="Requests in flight; the claim's, else 1.")
@click.option("--tokens", type=click.IntRange(1, 1_000_000), help="Length of each answer; the claim's, else 1,200.")
@click.option("--repeats", type=click.IntRange(1, 1000), default=3, help="Repeats, of which the interval is made.")
@click.option("--temperature", type=click.FloatRange(0, 10), help="Temperature; the claim's, else 0.")
@click.option("--valid-for", type=click.IntRange(1, 24 * 365), default=72, metavar="HOURS", help="Time to answer.")
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write. Default: by its nonce.")
@sign_option
@database_option
@json_option
def challenge(
    claim: str,
    row: str | None,
    prompts: str | None,
    streams: int | None,
    tokens: int | None,
    repeats: int,
    temperature: float | None,
    valid_for: int,
    out: Path | None,
    sign: str | None,
    database: str | None,
    as_json: bool,
) -> None:
    """Write a challenge for CLAIM: a nonce, prompts that nobody has seen, settings, and a time to answer in.

    The claimant runs `audit answer` beside his own server and sends the bundle back; `audit verify BUNDLE --challenge
    FILE` says whether it is an answer. Sign it, so that he sees who asks.
    """
    from auditor.cli.claimfile import find_claim
    from auditor.core.challenge.challenge import Challenge
    from auditor.core.challenge.tasks import coded, drawn
    from auditor.core.plan.making import DEFAULT_TOKENS
    from auditor.publish.challenges import issue

    parsed, text = find_claim(claim, database)
    case = parsed.case(row)
    nonce, now_ns = secrets.token_hex(16), time.time_ns()
    expires_ns = now_ns + valid_for * 3600 * 10**9
    made = Challenge(
        nonce=nonce,
        issued=_moment(now_ns),
        issued_ns=now_ns,
        expires=_moment(expires_ns),
        expires_ns=expires_ns,
        claim=text,
        case=case.id,
        prompts=coded(_own(prompts) if prompts else drawn(nonce), nonce),
        streams=streams,
        tokens=tokens or case.workload.output_tokens or DEFAULT_TOKENS,
        repeats=repeats,
        temperature=temperature,
    )
    data = issue(made, signers(sign))
    path = out or Path(f"{case.claim_id}-{nonce[:8]}.challenge.json")
    save(path, data)
    said = Output(as_json)
    said.say(str(path))
    size = f"{len(made.prompts)} prompts, {made.repeats} repeats of {made.tokens:,} tokens"
    said.note(f"{size}; to be answered by {made.expires}")
    said.note("Prompts stay unseen only until you send it: keep it to yourself and the claimant.")
    said.document({"challenge": str(path), **made.model_dump(mode="json")})


def _own(path: str) -> "tuple[Prompt, ...]":
    from auditor.cli.claimfile import read_text
    from auditor.core.plan.promptfile import read_prompts

    return read_prompts(read_text(path).encode(), path)


def _moment(ns: int) -> str:
    return datetime.fromtimestamp(ns / 1e9, UTC).isoformat(timespec="seconds")
