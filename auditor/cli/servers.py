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
    from auditor.cli.columns import table, wrapped
    from auditor.core.adapter import Adapter
    from auditor.servers import load_adapters

    adapters = load_adapters()
    if kind is not None and kind not in adapters:
        raise UsageError(f"no kind of server is called {kind}", remedy=f"give one of: {', '.join(adapters)}")
    chosen: list[Adapter] = list(adapters.values()) if kind is None else [adapters[kind]]
    out = Output(as_json)
    if kind is None:
        lines = table([(one.name, f"{one.title}; {_seen(one.seen_live)}") for one in chosen], indent=0)
    else:
        one = chosen[0]
        apis = ", ".join(api for api in ("chat", "completions", "native") if one.route(api))
        said = [f"{one.title}; {_seen(one.seen_live)}", f"Read from: {one.source}", f"APIs: {apis}"]
        said += [f"Switch on: {one.switches}"] if one.switches else []
        lines = [line for words in said for line in wrapped(words, rest="  ")]
        lines += table([(term.replace("_", " "), note.kind, note.why) for term, note in one.notes.items()])
    out.say("\n".join(lines))
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
