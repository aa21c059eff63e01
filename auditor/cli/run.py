"""`audit run`: replay a claim against a live server and judge it."""

import re
import secrets
import shlex
import sys
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from auditor.cli.options import database_option
from auditor.cli.output import Output, json_option
from auditor.cli.runparts import hardware_of, left_out, parts_options, sampler_of, without
from auditor.errors import UsageError

EPILOG = """\b
Exit codes:
  0    reproduced or exceeded
  1    the tool failed
  2    a bad claim or option
  3    miscounted, not-reproduced, invalid-output or impossible
  4    unlabelled, not-comparable or inconclusive
  5    the server refused or could not be reached
  130  interrupted with nothing to judge; a partial run that was judged exits with its verdict"""


@click.command(epilog=EPILOG, context_settings={"show_default": True})
@click.argument("claim", metavar="CLAIM")
@click.option("--row", help="Measurement of a claim that has several.")
@click.option("--server", help="Base address of the server; the claim's own by default, else the embedded one.")
@click.option("--pair", help="A second server: the same without speculation.")
@click.option("--beside", multiple=True, metavar="URL", help="A server to compare with, in turns; may be repeated.")
@click.option("--api-key", envvar="AUDIT_API_KEY", help="Key of the server; never written down. Or AUDIT_API_KEY.")
@click.option("--model", help="Model to ask for, where the server has several.")
@click.option("--kind", help="Kind of server, where it cannot be recognised; `audit servers` lists them.")
@click.option(
    "--api",
    type=click.Choice(["chat", "completions", "native"]),
    default="chat",
    help="Endpoint to use; native is the server's own, where `audit servers` says that it is known.",
)
@click.option("--streams", type=click.IntRange(1, 100_000), help="Requests in flight; the claim's, else 1.")
@click.option("--rate", type=click.FloatRange(0.01, 1000), help="Requests per second, by the clock: an open loop.")
@click.option(
    "--arrivals",
    type=click.Choice(["poisson", "constant"]),
    default="poisson",
    help="With --rate: how they are spaced.",
)
@click.option("--tokens", type=click.IntRange(1), help="Length of each answer; the claim's, else 1,200.")
@click.option("--repeats", type=click.IntRange(1, 1000), help="Repeats, of which the interval is made; else 3.")
@click.option("--prompts", type=click.Path(dir_okay=False), help="Your own prompts: JSON lines, or ShareGPT.")
@click.option("--suite/--no-suite", default=True, help="Use the public suite of prompts as well.")
@click.option("--temperature", type=click.FloatRange(0, 10), help="Temperature; the claim's, else 0.")
@click.option("--ignore-eos/--no-ignore-eos", default=True, help="Ask for full-length answers where possible.")
@parts_options
@click.option("--discriminate", metavar="RUN", help="Measure also what would part the rules that agree in RUN.")
@click.option("--quick", is_flag=True, help="A short look, with fewer and shorter answers; the verdict says so.")
@click.option("--time-limit", type=click.IntRange(1), help="Seconds after which the replay stops and is judged.")
@click.option("--stall-limit", type=click.IntRange(1), help="Seconds of silence that end an answer; 120 by default.")
@click.option("--seed", type=click.IntRange(0), help="Seed of the nonces; random by default, noted in the plan.")
@click.option("--dry-run", is_flag=True, help="Say what would be sent, to whom, and send no prompt.")
@click.option(
    "--speculation",
    type=click.Choice(["none", "ngram", "draft"]),
    help="Embedded server: only this, and plain beside it.",
)
@click.option("--gguf", type=click.Path(dir_okay=False), help="Embedded server: the model file.")
@click.option("--reports", type=click.Path(file_okay=False), default="reports", help="Folder for runs.")
@database_option
@json_option
def run(claim: str, database: str | None, as_json: bool, dry_run: bool, **options: Any) -> int:
    """Replay CLAIM against a live server, judge it, and write the report.

    CLAIM is a claim file, or the id of a stored claim. Without a server the embedded one is measured: a rehearsal,
    whose counting is real and whose hardware says nothing of the claim.
    """
    from auditor import audit
    from auditor.cli.claimfile import find_claim
    from auditor.cli.progress import Display
    from auditor.index import index_run
    from auditor.job import Job
    from auditor.report.text import terminal

    out = Output(as_json)
    parsed, text = find_claim(claim, database)
    case = parsed.case(options["row"])
    started_ns = time.time_ns()
    moment = datetime.fromtimestamp(started_ns / 1e9, UTC)
    run_id = f"{moment:%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"
    gpus, off = hardware_of(options, case.server.url), without(options)
    wishes = _wishes(options)
    if options["discriminate"]:
        wishes = _further(wishes, options, case, text.encode())
    seed = options["seed"] if options["seed"] is not None else secrets.randbits(32)
    with ExitStack() as stack:
        servers = _servers(options, case.server.url, stack, out)
        is_embedded = servers[0].launched is not None
        job = Job(
            claim=parsed,
            case=case,
            claim_bytes=text.encode(),
            servers=servers,
            wishes=wishes,
            run=run_id,
            started_ns=started_ns,
            seed=seed,
            folder=Path(options["reports"]) / case.claim_id / run_id,
            command=_command(seed),
            api_key=options["api_key"],
            api=options["api"],
            model=options["model"] or case.server.model,
            kind=options["kind"],
            tokenizer=options["tokenizer"],
            other_tokenizer=options["other_tokenizer"],
            server_log=options["server_log"],
            hardware=gpus,
            sampler=sampler_of(options),
            canaries="canaries" not in off,
            without=off,
            left_out=left_out(options, is_embedded=is_embedded, has_plain=any(one.key == "plain" for one in servers)),
        )
        if dry_run:
            return _dry_run(job, out)
        with Display() as display:
            result = audit.run(job, display.watch)
    if result.stopped:
        out.note(f"audit: the replay ended early and is judged as partial: {result.stopped}")
    index_run(result, text=text, database=database, say=out.note)
    out.say(terminal(result.folder))
    out.document({"folder": str(result.folder), "stopped": result.stopped, **result.verdict.model_dump(mode="json")})
    return result.verdict.exit_code


def _servers(options: dict[str, Any], claimed: str | None, stack: ExitStack, out: Output) -> Any:
    """The servers to measure; starts the embedded ones where none was given."""
    from auditor.job import ServerChoice

    url = options["server"] or claimed
    if url:
        if options["speculation"] or options["gguf"]:
            raise UsageError("--speculation and --gguf belong to the embedded server", remedy="leave --server out")
        if not options["server"] and options["api_key"]:
            # A claim is a stranger's file; the server that it names gets no key unless the user names it too.
            raise UsageError(
                f"your key would go to {url}, which the claim names", remedy=f"give --server {url} to send it"
            )
        if options["pair"] == url:
            raise UsageError("--pair is the same server as --server", remedy="give one that does not speculate")
        if url in options["beside"]:
            raise UsageError("--beside is the same server as --server", remedy="give another")
        choices = [ServerChoice("subject", url)]
        choices += [ServerChoice("plain", options["pair"])] if options["pair"] else []
        return (*choices, *map(ServerChoice, _beside(options), options["beside"]))
    for name in ("pair", "beside"):
        if options[name]:
            raise UsageError(f"--{name} needs --server", remedy="give both, or neither for the embedded servers")
    from auditor.capture.local import Speculation, local_settings, start_local

    kinds: list[Speculation] = ["ngram", "draft", "none"]
    if options["speculation"]:
        kinds = ["none"] if options["speculation"] == "none" else [options["speculation"], "none"]
    out.note("No server was given: this is a rehearsal on embedded servers on this machine's processor.")
    logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="audit-")))
    found = []
    for kind in kinds:
        settings = local_settings(speculation=kind, gguf=options["gguf"], parallel=2)
        server = stack.enter_context(start_local(settings, log=logs / f"{kind}.log"))
        found.append(ServerChoice("plain" if kind == "none" else kind, server.url, server))
    return tuple(found)


def _beside(options: dict[str, Any]) -> tuple[str, ...]:
    """The keys of the servers that are measured beside the judged one."""
    return tuple(f"beside-{number}" for number in range(1, len(options["beside"]) + 1))


def _wishes(options: dict[str, Any]) -> Any:
    from auditor.core.plan.making import Wishes
    from auditor.core.plan.promptfile import read_prompts
    from auditor.core.plan.prompts import Prompt

    prompts: tuple[Prompt, ...] = ()
    if options["prompts"]:
        path = Path(options["prompts"])
        try:
            data = path.read_bytes()
        except OSError as error:
            raise UsageError(f"cannot be read ({error.strerror})", where=str(path)) from error
        prompts = read_prompts(data, str(path))
    if options["rate"] is not None and options["streams"]:
        raise UsageError("--rate and --streams are given", remedy="give one: requests go by the clock, or by streams")
    limit, stall = options["time_limit"], options["stall_limit"]
    return Wishes(
        streams=options["streams"],
        tokens=options["tokens"],
        repeats=options["repeats"],
        rate=options["rate"],
        arrivals=options["arrivals"],
        prompts=prompts,
        suite=options["suite"],
        temperature=options["temperature"],
        ignore_eos=options["ignore_eos"],
        quick=options["quick"],
        check_text=options["check_text"],
        beside=_beside(options),
        total_ns=None if limit is None else limit * 10**9,
        stall_ns=None if stall is None else stall * 10**9,
    )


def _further(wishes: Any, options: dict[str, Any], case: Any, claim: bytes) -> Any:
    """The load of an earlier run of the same claim, and the measurement that its explanation asks for."""
    from dataclasses import replace

    from auditor.cli.judge import run_folder
    from auditor.core.explain.discrimination import discrimination_of
    from auditor.core.folder import VERDICT, RunFolder
    from auditor.core.judging.verdict import Verdict
    from auditor.core.record import sha256

    path = run_folder(options["discriminate"], options["reports"])
    folder = RunFolder(path)
    plan, record = folder.plan(), folder.run()
    if plan.claim_digest != sha256(claim) or plan.case != case.id:
        raise UsageError(
            "--discriminate: the run is of another claim", where=str(path), remedy="give one of this claim"
        )
    if not (path / VERDICT).exists():
        raise UsageError("--discriminate: the run was not judged yet", where=str(path), remedy="`audit judge` it")
    explanation = folder.record(VERDICT, Verdict).explanation
    return replace(
        wishes,
        streams=wishes.streams or plan.subject.streams,
        tokens=wishes.tokens or plan.subject.max_tokens,
        repeats=wishes.repeats or plan.subject.repeats,
        discriminate=discrimination_of(explanation, record.run, record.plan_digest),
    )


_USER = re.compile(r"(\w://)[^/?#\s]*@")
_HIDDEN = ("--api-key", "--ssh")
"""Options whose values are secret, or name a machine of the user."""
_QUERY = re.compile(r"(\w://[^?\s]*)\?\S*")


def _command(seed: int) -> str:
    """The command as typed, with its seed and without --json.

    The key, the host of ssh, and what addresses hold beside the address are struck out.
    """
    words, hide = [], False
    for word in sys.argv[1:]:
        for name in _HIDDEN:
            if word.startswith(f"{name}="):
                word = f"{name}=***"
        words.append("***" if hide else _QUERY.sub(r"\1?***", _USER.sub(r"\1***@", word)))
        hide = word in _HIDDEN
    words = [word for word in words if word != "--json"]
    if not any(word == "--seed" or word.startswith("--seed=") for word in words):
        words += ["--seed", str(seed)]
    return shlex.join(["audit", *words])


def _dry_run(job: Any, out: Output) -> int:
    from auditor import audit
    from auditor.core.plan.plan import request_count, schedule, token_count
    from auditor.core.wording import plural

    facts, plan = audit.plan_only(job)
    sent = plural(request_count(plan), "request")
    out.say(f"Would send {sent} for at most {plural(token_count(plan), 'token')}.")
    if job.canaries:
        out.say("  canaries: a dozen short questions with known answers before, and again after; counted nowhere")
    for cell in plan.cells:
        server = facts.servers[cell.server]
        sent = f"{plural(cell.requests * cell.repeats, 'request')} of {plural(cell.max_tokens, 'token')}"
        load = f"{cell.streams} in flight" if cell.rate is None else f"{cell.rate:g} a second ({cell.arrivals})"
        out.say(
            f"  {cell.key}: {sent}, {load}, {plural(cell.repeats, 'repeat')}, to {server.url} "
            f"({server.kind}, {server.model})"
        )
    seconds = sum(one.cell.max_tokens * len(one.requests) / one.cell.streams for one in schedule(plan))
    minutes = max(1, round(seconds / 50 / 60))
    out.say(f"At 50 tok/s a stream that takes about {plural(minutes, 'minute')}. Nothing was sent but the probe.")
    out.document({"plan": plan.model_dump(mode="json"), "facts": facts.model_dump(mode="json")})
    return 0
