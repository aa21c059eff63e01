"""SGLang's log: a `Decode batch` line each so many decode passes, `Prefill batch` lines between.

The accept rate means three things by release, so it is kept as reported (see `sglanginfo`).
"""

import re
from collections.abc import Iterator
from typing import Any

from auditor.core.enginelogs.printed import NUMBER, Printed, printed
from auditor.core.enginelogs.records import Each, EngineLog, Field, Interval, LogEntry, Parsed, Scope
from auditor.core.enginelogs.sglanginfo import facts, signs
from auditor.core.enginelogs.wrapped import pieces

_HEAD = re.compile(r"(?:Decode|Prefill) batch(?: \[\d+\])?[.,] ")
_LABEL = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?((?: [A-Z]+\d+)+)\]")
_RUNNING = re.compile(r"#running-req: (\d{1,12})(?=,|$)")
_QUEUE = re.compile(r"#queue-req: (\d{1,12})(?=,|\s|$)")
_OUT = re.compile(rf"gen throughput \(token/s\): ({NUMBER}),")
_IN = re.compile(rf"input throughput \(token/s\): ({NUMBER})(?=,|\s*$)")
_LENGTH = re.compile(rf"(?<!block )accept len: ({NUMBER}),")
_RATE = re.compile(rf"accept rate: ({NUMBER}),")
_NEW = re.compile(r"#new-token: (\d{1,12}),")


def parse(text: str) -> Iterator[Parsed]:
    """Every entry of a line."""
    label = _LABEL.search(text)
    source = label[1].strip() if label else ""
    for piece in pieces(text, [match.start() for match in _HEAD.finditer(text)]):
        is_decode = piece.startswith("Decode")
        fields = _decode(piece) if is_decode else _prefill(piece)
        if fields is not None:
            yield "decode" if is_decode else "prefill", source, fields


def _decode(piece: str) -> dict[str, Field] | None:
    running, out = _RUNNING.search(piece), _OUT.search(piece)
    if running is None or out is None:
        return None
    fields: dict[str, Field] = {"running": int(running[1])}
    if queue := _QUEUE.search(piece):
        fields["waiting"] = int(queue[1])
    for name, pattern in (
        ("delivered_rate", _OUT),
        ("acceptance_length", _LENGTH),
        ("reported_acceptance", _RATE),
    ):
        number = printed(match[1]) if (match := pattern.search(piece)) else None
        if number is not None:
            fields[name] = number
    return fields


def _prefill(piece: str) -> dict[str, Field] | None:
    new, speed = _NEW.search(piece), _IN.search(piece)
    if new is None or speed is None:
        return None
    fields: dict[str, Field] = {"prompt_tokens": int(new[1])}
    if (number := printed(speed[1])) is not None:
        fields["prompt_rate"] = number
    if running := _RUNNING.search(piece):
        fields["running"] = int(running[1])
    if queue := _QUEUE.search(piece):
        fields["waiting"] = int(queue[1])
    return fields


def _interval(entry: LogEntry) -> Interval:
    numbers: dict[str, Any] = {name: value for name, value in entry.fields.items() if isinstance(value, Printed | int)}
    return Interval(
        line=entry.line,
        lines=(entry.line,),
        stamp=entry.stamp,
        source=entry.source,
        scope=Scope.WINDOW,
        **numbers,
    )


SGLANG = EngineLog(
    name="sglang",
    title="SGLang",
    needles=(b"Decode batch", b"Prefill batch"),
    parse=parse,
    joiner=lambda: Each(_interval),
    seen="in public threads (2025 to 0.5.18); other shapes from source, not seen live",
    averaging="one data-parallel rank from one decode line to the next (40 passes unless set); waits and prefill count",
    cannot_tell=(
        "The rate of a single stream, unless one request ran: a line adds up all requests of its rank.",
        "A sustained rate from one line: 40 passes may take less than a second, and the first line after a pause is"
        " far too low.",
        "How many tokens were proposed or refused: only the accept length is printed.",
        "Accepted over drafted from the accept rate: it meant three things by release.",
        "Tokens past a stop: the scheduler counts them in.",
        "All of a data-parallel server from one rank's line.",
    ),
    absent={
        "accepted_rate": "SGLang does not print accepted tokens",
        "drafted_rate": "SGLang does not print drafted tokens",
        "so_far_rate": "SGLang prints no rate of one request",
        "delivered": "SGLang prints no count of delivered tokens",
        "seconds": "SGLang does not print how long an interval was",
        "accepted": "SGLang does not print accepted tokens",
        "drafted": "SGLang does not print drafted tokens",
        "per_position": "SGLang does not print acceptance by position",
        "scheduled": "SGLang prints no count of computed positions",
    },
    start_needles=(b"server_args=",),
    start=facts,
    signs=signs,
)
"""SGLang."""
