"""LMDeploy's log: a line every ten seconds for each data-parallel rank, with vLLM's words on speculation at its end."""

import re
from collections.abc import Iterator
from typing import Any

from auditor.core.enginelogs.printed import NUMBER, Printed, printed
from auditor.core.enginelogs.records import Each, EngineLog, Field, Interval, LogEntry, Parsed, Scope
from auditor.core.enginelogs.specline import speculation

_LINE = re.compile(
    rf"\[[\d: -]+ (?P<rank>DP\d+)\] Avg thr \(in/out\): (?P<prompt>{NUMBER}) / (?P<out>{NUMBER}) tokens/s, "
)
_ENGINE = re.compile(r"Engine \(running/waiting\): (\d{1,12}) / (\d{1,12}),")


def parse(text: str) -> Iterator[Parsed]:
    """The entry of a line."""
    match = _LINE.search(text)
    if match is None:
        return
    tail = text[match.end() :]
    fields: dict[str, Field] = {}
    for name, group in (("prompt_rate", "prompt"), ("delivered_rate", "out")):
        number = printed(match[group])
        if number is not None:
            fields[name] = number
    if engine := _ENGINE.search(tail):
        fields |= {"running": int(engine[1]), "waiting": int(engine[2])}
    fields |= speculation(tail) or {}
    yield "throughput", match["rank"], fields


def _interval(entry: LogEntry) -> Interval:
    fields: dict[str, Any] = {
        name: value
        for name, value in entry.fields.items()
        if name != "is_cumulative" and isinstance(value, Printed | int | tuple)
    }
    return Interval(
        line=entry.line, lines=(entry.line,), stamp=entry.stamp, source=entry.source, scope=Scope.WINDOW, **fields
    )


LMDEPLOY = EngineLog(
    name="lmdeploy",
    title="LMDeploy",
    needles=(b"Avg thr (in/out)",),
    parse=parse,
    joiner=lambda: Each(_interval),
    seen="in a public thread (February 2026); the part on drafts from source, not seen live",
    averaging="one data-parallel rank over ten seconds, idle time included",
    cannot_tell=(
        "The rate of a single stream, unless one request ran: a line adds up all requests of its rank.",
        "Drafted tokens as they were: each step counts the configured width.",
        "All of a data-parallel server from one rank's line.",
        "Pauses: idle intervals are not printed.",
    ),
    absent={
        "accepted_rate": "LMDeploy prints counts of accepted tokens, no rate",
        "drafted_rate": "LMDeploy prints counts of drafted tokens, no rate",
        "so_far_rate": "LMDeploy prints no rate of one request",
        "delivered": "LMDeploy prints no count of delivered tokens",
        "seconds": "LMDeploy does not print how long an interval was",
        "scheduled": "LMDeploy prints no count of computed positions",
    },
)
"""LMDeploy."""
