"""The token log: one line for every delivered token, with its time, its text and the step that it came out of."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any

import orjson

from auditor.core.counting.exchange import Counted
from auditor.core.counting.steps import Step

FIELDS = {
    "exchange": "id of the exchange in the wire log",
    "cell": "cell of the plan",
    "repeat": "repeat of the cell",
    "prompt": "id of the prompt",
    "index": "index of the token within its answer, from 0",
    "event": "index of the event that carried it, from 0",
    "t_ns": "arrival of that event, ns after the request was sent",
    "mono_ns": "the same on the client's monotonic clock",
    "token_id": "id, where the server gives ids",
    "text": "text of the event, on its first token",
    "step": "index of the target step, from 0 for the prefill; null where steps are not shown",
    "phase": "first, plain or verify; null where it cannot be told",
    "drafted": "tokens drafted for this step, on its first token",
    "accepted": "of these accepted",
    "rejected": "of these rejected",
}
"""The columns, in order."""


def token_lines(counted: Iterable[Counted]) -> Iterator[dict[str, Any]]:
    """Every token of every measured exchange, in order of exchange and arrival.

    An event whose number of tokens is not known, or that brings the text of earlier tokens and none of its own, is one
    line with index null.
    """
    for item in counted:
        yield from _lines(item)


def _lines(item: Counted) -> Iterator[dict[str, Any]]:
    line, sent = item.line, item.line.times.send_ns
    steps = _steps_by_event(item.stream.steps or ())
    index = 0
    seen: set[int] = set()
    for event, delivery in enumerate(item.stream.deliveries):
        number, step = steps.get(event, (None, None))
        shared = {
            "exchange": line.exchange,
            "cell": line.cell,
            "repeat": line.repeat,
            "prompt": line.prompt,
            "event": event,
            "t_ns": None if sent is None else delivery.at_ns - sent,
            "mono_ns": delivery.at_ns,
            "step": number,
            "phase": step.phase if step else None,
        }
        text = delivery.reasoning + delivery.text + delivery.tool
        for position in range(delivery.tokens or 1):
            ids = delivery.token_ids
            drafts = _drafts(step) if number is not None and number not in seen else _NO_DRAFTS
            if number is not None:
                seen.add(number)
            values = {
                **shared,
                "index": index if delivery.tokens else None,
                "token_id": ids[position] if ids and position < len(ids) else None,
                "text": text if position == 0 else "",
                **drafts,
            }
            yield {name: values[name] for name in FIELDS}
            index += bool(delivery.tokens)


_NO_DRAFTS: dict[str, int | None] = {"drafted": None, "accepted": None, "rejected": None}


def _drafts(step: Step | None) -> dict[str, int | None]:
    if step is None or step.drafted is None or step.accepted is None:
        return _NO_DRAFTS
    return {"drafted": step.drafted, "accepted": step.accepted, "rejected": step.drafted - step.accepted}


def _steps_by_event(steps: tuple[Step, ...]) -> dict[int, tuple[int, Step]]:
    return {
        event: (number, step)
        for number, step in enumerate(steps)
        for event in range(step.first, step.first + step.deliveries)
    }


def token_log(counted: Iterable[Counted]) -> Iterator[bytes]:
    """The token log as it is written, a piece for each exchange."""
    for item in counted:
        yield _plain_lines(item) or to_jsonl(_lines(item))


_SPECIAL = re.compile(r'["\\\x00-\x1f]')


def _plain_lines(item: Counted) -> bytes | None:
    """The lines of a stream that tells neither steps nor ids nor tokens by event, and brings plain text alone; None for
    any other. The same bytes as those of its lines one by one."""
    shown, line = item.stream.deliveries, item.line
    told = item.stream.steps or shown.token_ids or shown.reasoning or shown.tool or shown.largest is not None
    if told or not shown or _SPECIAL.search(shown.text.whole):
        return None
    name = orjson.dumps
    names = f'"cell":{name(line.cell).decode()},"repeat":{line.repeat},"prompt":{name(line.prompt).decode()}'
    begin = f'{{"exchange":{line.exchange},{names},"index":null,"event":'.encode()
    end = b'","step":null,"phase":null,"drafted":null,"accepted":null,"rejected":null}\n'
    times, sent = shown.at_ns, line.times.send_ns
    columns = (
        _numbers(range(len(times))),
        repeat(b"null") if sent is None else _numbers((times - sent).tolist()),
        _numbers(times.tolist()),
        [text.encode() for text in shown.text],
    )
    between = (begin, b',"t_ns":', b',"mono_ns":', b',"token_id":null,"text":"')
    parts = (part for pair in zip(map(repeat, between), columns, strict=True) for part in pair)
    return b"".join(chain.from_iterable(zip(*parts, repeat(end), strict=False)))


def _numbers(values: Iterable[int]) -> list[bytes]:
    """Each as it is written."""
    return orjson.dumps(list(values))[1:-1].split(b",")


def to_jsonl(lines: Iterable[dict[str, Any]]) -> bytes:
    """One JSON object a line."""
    return b"".join(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE) for line in lines)
