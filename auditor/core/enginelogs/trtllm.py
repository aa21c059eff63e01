"""TensorRT-LLM's iteration lines (`print_iter_log`): one for each pass of each rank.

They count what was scheduled, drafts and the padding of CUDA graphs included, and never what was delivered.
"""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from auditor.core.enginelogs.printed import NUMBER, Span, printed, span
from auditor.core.enginelogs.records import DRAFT_FIELDS, Each, EngineLog, Field, Interval, LogEntry, Parsed, Scope
from auditor.core.enginelogs.wrapped import pieces

_ITERATION = re.compile(r"(?<!\w)iter = \d{1,12}, ")
_STATES = re.compile(r"states = \{([^{}]*)\}")
_TIME = re.compile(rf"(?:host_step_time|elapsed_time) = ({NUMBER})(ms|s)(?=,)")
_RANK = re.compile(r"global_rank = (\d{1,12}),")
_LOCAL_RANK = re.compile(r"(?<![_\w])rank = (\d{1,12}),")
_REQUESTS = re.compile(r"num_scheduled_requests(?: =|:) (\d{1,12}),")
_STATE = re.compile(r"'(num_ctx_tokens|num_generation_tokens|num_ctx_requests)': (\d{1,12})")
OTHER_RANK = "other rank"
"""Kind of an entry that repeats what rank 0 says."""


def parse(text: str) -> Iterator[Parsed]:
    """Every entry of a line."""
    for piece in pieces(text, [match.start() for match in _ITERATION.finditer(text)]):
        states, time = _STATES.search(piece), _TIME.search(piece)
        if states is None or time is None or (step := printed(time[1])) is None:
            continue
        counts = {name: int(number) for name, number in _STATE.findall(states[1])}
        if "num_generation_tokens" not in counts:
            continue
        rank = _RANK.search(piece) or _LOCAL_RANK.search(piece)
        fields: dict[str, Field] = {
            "seconds": span(step, per=1000 if time[2] == "ms" else 1),
            "scheduled": counts["num_generation_tokens"],
            "prompt_tokens": counts.get("num_ctx_tokens", 0),
        }
        if requests := _REQUESTS.search(piece):
            fields["running"] = int(requests[1])
        yield OTHER_RANK if rank and rank[1] != "0" else "iteration", f"rank {rank[1]}" if rank else "", fields


def _interval(entry: LogEntry) -> Interval | None:
    if entry.kind == OTHER_RANK:
        return None
    fields: dict[str, Any] = {name: value for name, value in entry.fields.items() if isinstance(value, int | Span)}
    if isinstance(fields.get("seconds"), Span):
        low = max(Fraction(0), fields["seconds"].low)
        fields["seconds"] = Span(low, fields["seconds"].high)
    return Interval(
        line=entry.line, lines=(entry.line,), stamp=entry.stamp, source=entry.source, scope=Scope.ITERATION, **fields
    )


TRTLLM = EngineLog(
    name="trtllm",
    title="TensorRT-LLM",
    needles=(b"iter = ",),
    parse=parse,
    joiner=lambda: Each(_interval),
    seen="in public threads (April 2025); later shapes from source, not seen live",
    averaging="one pass of the engine on rank 0",
    cannot_tell=(
        "A delivered rate: the lines count scheduled tokens, with drafts and with the padding of CUDA graphs.",
        "Acceptance: the lines do not print it; /perf_metrics and the statistics of /metrics do.",
        "A sustained rate from one line: it is a single pass.",
    ),
    absent=dict.fromkeys(("delivered_rate", "so_far_rate", "delivered"), "an iteration line counts what was scheduled")
    | dict.fromkeys(DRAFT_FIELDS, "an iteration line says nothing of drafts")
    | {"prompt_rate": "an iteration line prints no rates", "waiting": "an iteration line does not tell the queue"},
)
"""TensorRT-LLM."""
