"""vLLM's log: a line of throughputs each interval, and one of speculation after it.

V0 (until 0.8), V1 0.8 to 0.33, aggregated over engines, with whatever stands between `Waiting` and the cache usage.
"""

import re
from collections.abc import Iterator
from typing import Any

from auditor.core.enginelogs.printed import NUMBER, Printed, printed
from auditor.core.enginelogs.records import EngineLog, Field, Interval, LogEntry, Parsed, Scope
from auditor.core.enginelogs.specline import NEEDLES, speculation
from auditor.core.enginelogs.vllmstart import NEEDLES as START_NEEDLES
from auditor.core.enginelogs.vllmstart import facts, signs
from auditor.core.enginelogs.wrapped import pieces

_THROUGHPUT = re.compile(
    r"(?:(?:Engine (?P<engine>\d{1,12})|(?P<engines>\d{1,12}) Engines? Aggregated): )?"
    rf"Avg prompt throughput: (?P<prompt>{NUMBER}) tokens/s, Avg generation throughput: (?P<out>{NUMBER}) tokens/s, "
    r"Running: (?P<running>\d{1,12}) reqs, (?:Waiting: (?P<waiting>\d{1,12}) reqs"
    r"|Swapped: (?P<swapped>\d{1,12}) reqs, Pending: (?P<pending>\d{1,12}) reqs)"
)
_ENTRY = re.compile(r"Avg prompt throughput: |(?:SpecDecoding|Speculative) metrics: ")
_HEAD = re.compile(r"(?:Engine \d+|\d+ Engines? Aggregated): $")
MOST_LINES_APART = 200
"""A speculation line further away belongs to another interval."""
_MOST_OPEN = 256


def parse(text: str) -> Iterator[Parsed]:
    """Every entry of a line; two processes may have printed on one."""
    if "Avg thr (in/out)" in text:
        return
    for piece in _pieces(text):
        if match := _THROUGHPUT.match(piece):
            yield "throughput", _source(match), _throughput(match)
        elif fields := speculation(piece):
            yield "speculation", "", fields


def _pieces(text: str) -> Iterator[str]:
    """The line, cut where an entry begins."""
    starts: list[int] = []
    for match in _ENTRY.finditer(text):
        head = _HEAD.search(text, max(0, match.start() - 40), match.start())
        starts.append(head.start() if head else match.start())
    yield from pieces(text, starts)


def _source(match: re.Match[str]) -> str:
    if match["engine"]:
        return f"Engine {match['engine']}"
    return f"{match['engines']} engines" if match["engines"] else ""


def _throughput(match: re.Match[str]) -> dict[str, Field]:
    fields: dict[str, Field] = {"running": int(match["running"])}
    fields["waiting"] = int(match["waiting"] or match["pending"])
    for name, group in (("prompt_rate", "prompt"), ("delivered_rate", "out")):
        number = printed(match[group])
        if number is not None:
            fields[name] = number
    return fields


class _Pairs:
    """Joins each throughput entry with the speculation entry that the same process prints after it."""

    def __init__(self) -> None:
        self._open: dict[str, LogEntry] = {}

    def add(self, entry: LogEntry) -> Iterator[Interval]:
        if entry.kind == "throughput":
            if entry.process in self._open:
                yield _interval(self._open[entry.process], None)
            elif len(self._open) >= _MOST_OPEN:
                yield _interval(self._open.pop(next(iter(self._open))), None)
            self._open[entry.process] = entry
            return
        before = self._open.pop(entry.process, None)
        if before is not None and not _belongs(before, entry):
            yield _interval(before, None)
            before = None
        yield _interval(before, entry)

    def flush(self) -> Iterator[Interval]:
        for entry in self._open.values():
            yield _interval(entry, None)
        self._open.clear()


def _belongs(before: LogEntry, entry: LogEntry) -> bool:
    """Whether both were printed by one round of logging: close by, and within two seconds."""
    if entry.line - before.line > MOST_LINES_APART:
        return False
    first, second = before.stamp.log_ns, entry.stamp.log_ns
    return first is None or second is None or abs(second - first) <= 2_000_000_000


def _interval(before: LogEntry | None, entry: LogEntry | None) -> Interval:
    main = before or entry
    assert main is not None
    fields: dict[str, Any] = {**(entry.fields if entry else {}), **(before.fields if before else {})}
    names = ("delivered_rate", "prompt_rate", "accepted_rate", "drafted_rate", "accepted", "drafted", "running",
             "waiting", "acceptance_length", "reported_acceptance")  # fmt: skip
    return Interval(
        line=main.line,
        lines=tuple(sorted({part.line for part in (before, entry) if part})),
        stamp=main.stamp,
        source=before.source if before else "",
        scope=Scope.WINDOW,
        per_position=fields.get("per_position", ()),
        is_cumulative=bool(fields.get("is_cumulative")),
        **{name: fields[name] for name in names if isinstance(fields.get(name), Printed | int)},
    )


VLLM = EngineLog(
    name="vllm",
    title="vLLM",
    needles=(b"Avg prompt throughput: ", *NEEDLES),
    parse=parse,
    joiner=_Pairs,
    seen="live: 0.24 on an H200, 0.32 on a processor; a public log of a 0.20 fork on SM120; older in public threads",
    averaging="one engine over one logging interval (VLLM_LOG_STATS_INTERVAL, 10 s unless set), idle time included",
    cannot_tell=(
        "The rate of a single stream, unless one request ran: a line adds up all requests of its engine.",
        "Pauses: idle time inside an interval lowers its rates, and idle intervals are not printed.",
        "Whose requests they were: the log counts all clients.",
        "All of a data-parallel server from one engine's line; with several API servers there may be no line at all.",
        "Accepted tokens that were cut at the end of an answer: they are in `Accepted` and were never delivered.",
        "Prompt tokens from the prefix cache: recent releases leave them out of the prompt rate.",
    ),
    absent={
        "so_far_rate": "vLLM prints no rate of one request",
        "delivered": "vLLM prints no count of delivered tokens",
        "seconds": "vLLM does not print how long an interval was",
        "scheduled": "vLLM prints no count of computed positions",
    },
    start_needles=START_NEEDLES,
    start=facts,
    signs=signs,
)
"""vLLM."""
