"""`audit servers`: the kinds of server that are known, and what each tells."""

import click

from auditor.cli.output import Output, json_option
from auditor.errors import UsageError

_EPILOG = """\b
Exit codes:
  0  done
  1  the tool failed
  2  no such kind"""


@click.command(epilog=_EPILOG)
@click.argument("kind", required=False)
@json_option
def servers(kind: str | None, as_json: bool) -> None:
    """List the kinds of server, or say what KIND tells: what is exact, what is nominal, what cannot be had and why.

    Exact is a count that means what the term means; nominal is a setting multiplied, a rate, or something else that
    stands in for the count. A kind that was never seen live was read from its source alone.
    """
    from auditor.core.adapter import Adapter
    from auditor.servers import load_adapters

    adapters = load_adapters()
    if kind is not None and kind not in adapters:
        raise UsageError(f"no kind of server is called {kind}", remedy=f"give one of: {', '.join(adapters)}")
    chosen: list[Adapter] = list(adapters.values()) if kind is None else [adapters[kind]]
    out = Output(as_json)
    for adapter in chosen:
        out.say(f"{adapter.name:14}{adapter.title}; {_seen(adapter.seen_live)}")
        if kind is not None:
            out.say(f"  read from: {adapter.source}")
            out.say(f"  APIs: {', '.join(api for api in ('chat', 'completions', 'native') if adapter.route(api))}")
            if adapter.switches:
                out.say(f"  switch on: {adapter.switches}")
            for term, note in adapter.notes.items():
                out.say(f"  {term.replace('_', ' '):16}{note.kind:9}{note.why}")
    out.document(
        [
            {
                "name": adapter.name,
                "title": adapter.title,
                "seen_live": adapter.seen_live,
                "source": adapter.source,
                "switches": adapter.switches,
                "apis": [api for api in ("chat", "completions", "native") if adapter.route(api)],
                "metrics_paths": list(adapter.metrics_paths),
                "notes": {term: {"kind": note.kind, "why": note.why} for term, note in adapter.notes.items()},
            }
            for adapter in chosen
        ]
    )


def _seen(seen_live: str | None) -> str:
    return f"seen live: {seen_live}" if seen_live else "not seen live"
