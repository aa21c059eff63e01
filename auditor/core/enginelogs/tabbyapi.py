"""TabbyAPI's log: one line of metrics for each answer."""

import re
from collections.abc import Iterator
from typing import Any

from auditor.core.enginelogs.printed import NUMBER, Printed, of_per_cent, printed
from auditor.core.enginelogs.records import Each, EngineLog, Field, Interval, LogEntry, Parsed, Scope

_LINE = re.compile(
    r"Metrics \(ID: (?P<id>[^)]{1,80})\): (?P<n>\d{1,12}) tokens generated in "
    rf"(?P<total>{NUMBER}) seconds \((?P<rest>.{{0,1000}}?)\)(?P<cut>\s*<-- Not accurate)?\s*$"
)
_PROMPT = re.compile(
    rf"Process: (?:(?P<cached>\d{{1,12}}) cached tokens and )?(?P<new>\d{{1,12}}) new tokens at (?P<p>{NUMBER}|\w+) T/s"
)
_OUT = re.compile(rf"Generate: ({NUMBER}) T/s")
_CONTEXT = re.compile(r"Context: \d+ tokens")
_DRAFT = re.compile(rf"Draft: (\d{{1,12}}) / (\d{{1,12}}) tokens accepted \(({NUMBER})%")


def parse(text: str) -> Iterator[Parsed]:
    """The entry of a line; none when it is torn before the context length."""
    match = _LINE.search(text)
    if match is None or not _CONTEXT.search(match["rest"]):
        return
    rest = match["rest"]
    fields: dict[str, Field] = {"delivered": int(match["n"])}
    if (out := _OUT.search(rest)) and (number := printed(out[1])):
        fields["delivered_rate"] = number
    if prompt := _PROMPT.search(rest):
        fields["prompt_tokens"] = int(prompt["new"])
        if prompt["p"][0].isdigit() and (number := printed(prompt["p"])):
            fields["prompt_rate"] = number
    if draft := _DRAFT.search(rest):
        fields |= {"accepted": int(draft[1]), "drafted": int(draft[2])}
        if number := printed(draft[3]):
            fields["reported_acceptance"] = of_per_cent(number)
    yield "metrics", f"request {match['id'][:8]}", fields


def _interval(entry: LogEntry) -> Interval:
    fields: dict[str, Any] = {name: value for name, value in entry.fields.items() if isinstance(value, Printed | int)}
    return Interval(
        line=entry.line, lines=(entry.line,), stamp=entry.stamp, source=entry.source, scope=Scope.REQUEST, **fields
    )


TABBYAPI = EngineLog(
    name="tabbyapi",
    title="TabbyAPI",
    needles=(b"tokens generated in ",),
    parse=parse,
    joiner=lambda: Each(_interval),
    seen="from source, not seen live",
    averaging="one answer from its first token; all its tokens, the first included, are divided by that time",
    cannot_tell=(
        "The rate of several answers together: each line is one answer.",
        "Verify steps: only accepted and drafted tokens are printed.",
        "What ran at the same time.",
    ),
    absent={
        "accepted_rate": "TabbyAPI prints counts of accepted tokens, no rate",
        "drafted_rate": "TabbyAPI prints counts of drafted tokens, no rate",
        "so_far_rate": "TabbyAPI prints a rate at the end only",
        "seconds": "TabbyAPI prints the whole time of an answer, not that of its decode",
        "acceptance_length": "TabbyAPI does not print verify steps",
        "per_position": "TabbyAPI does not print acceptance by position",
        "running": "the line does not tell what else ran",
        "waiting": "the line does not tell what else waited",
        "scheduled": "TabbyAPI prints no count of computed positions",
    },
)
"""TabbyAPI."""
