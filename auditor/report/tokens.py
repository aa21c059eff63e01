"""Reads the token log once: the first answer in full, and gaps and accepted drafts of everything else in counts."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import orjson

from auditor.core.counting.ledger import ExchangeLedger, Ledger
from auditor.core.folder import TOKENS
from auditor.errors import EvidenceError


@dataclass(slots=True)
class Event:
    """One event of the first answer."""

    at_ns: int
    """Since the request was sent; since the first event where the sending is not known."""
    tokens: int
    """1 where the number is not known."""
    is_counted: bool
    step: int | None
    text: str


@dataclass(slots=True)
class SeenStep:
    """One step of the first answer."""

    number: int
    at_ns: int
    """Arrival of its first event."""
    tokens: int
    phase: str | None
    drafted: int | None
    accepted: int | None
    rejected: int | None
    text: str


@dataclass(slots=True)
class Answer:
    """The answer that the timeline shows."""

    line: ExchangeLedger
    events: list[Event] = field(default_factory=list)
    steps: list[SeenStep] = field(default_factory=list)
    from_send: bool = True
    first_ns: int | None = None
    """When its first event came, on the client's clock."""

    @property
    def origin_ns(self) -> int | None:
        """The zero of its times, on the client's clock."""
        return self.line.times.send_ns if self.from_send else self.first_ns


@dataclass(slots=True)
class TokenDigest:
    """What the page shows of a token log."""

    answer: Answer | None = None
    event_gaps_ns: list[int] = field(default_factory=list)
    """Of the judged cell, within each complete answer."""
    step_gaps_ns: list[int] = field(default_factory=list)
    accepted_per_step: dict[str, Counter[int]] = field(default_factory=dict)
    """By cell: verify steps by the drafted tokens that they accepted."""


def read_tokens(path: Path, ledger: Ledger, subject: str) -> TokenDigest:
    """Digest `tokens.jsonl` of the run folder `path`; raises EvidenceError."""
    digest = TokenDigest()
    complete = {line.exchange for line in ledger.exchanges if line.status == "complete"}
    line = first_answer(ledger, subject)
    if line is not None:
        digest.answer = Answer(line)
    for exchange in _exchanges(path / TOKENS):
        _take(digest, exchange, subject, complete)
    digest.event_gaps_ns.sort()
    digest.step_gaps_ns.sort()
    return digest


def first_answer(ledger: Ledger, subject: str) -> ExchangeLedger | None:
    """The first complete answer of the judged cell; else the first of which anything came; None when nothing did."""
    own = [line for line in ledger.exchanges if line.cell == subject and line.tally.events]
    own.sort(key=lambda line: (line.status != "complete", line.repeat, line.index, line.exchange))
    return own[0] if own else None


def _exchanges(path: Path) -> Iterator[list[dict[str, Any]]]:
    """The lines of one exchange after the other."""
    held: list[dict[str, Any]] = []
    number = 0
    try:
        with path.open("rb") as file:
            for text in file:
                number += 1
                line = orjson.loads(text)
                if held and line["exchange"] != held[0]["exchange"]:
                    yield held
                    held = []
                held.append(line)
    except OSError as error:
        raise EvidenceError(f"cannot be read ({error.strerror})", where=str(path), remedy="`audit judge`") from error
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise EvidenceError("is not a line of a token log", where=f"{path}:{number}", remedy="`audit judge`") from error
    if held:
        yield held


def _take(digest: TokenDigest, lines: list[dict[str, Any]], subject: str, complete: Collection[int]) -> None:
    first = lines[0]
    _count_accepted(digest, lines)
    if first["cell"] != subject:
        return
    if first["exchange"] in complete:
        digest.event_gaps_ns.extend(_gaps(lines, "event"))
        if all(line["step"] is not None for line in lines):
            digest.step_gaps_ns.extend(_gaps(lines, "step"))
    answer = digest.answer
    if answer is not None and first["exchange"] == answer.line.exchange:
        _fill(answer, lines)


def _count_accepted(digest: TokenDigest, lines: Iterable[dict[str, Any]]) -> None:
    for line in lines:
        if line["phase"] == "verify" and line["accepted"] is not None:
            digest.accepted_per_step.setdefault(line["cell"], Counter())[line["accepted"]] += 1


def _gaps(lines: Iterable[dict[str, Any]], unit: str) -> list[int]:
    """Gaps between the arrivals of events, or of the first events of steps."""
    starts: dict[int, int] = {}
    for line in lines:
        starts.setdefault(line[unit], line["mono_ns"])
    return [later - earlier for earlier, later in pairwise(starts.values())]


def _fill(answer: Answer, lines: list[dict[str, Any]]) -> None:
    """The events and steps of the answer that is shown."""
    answer.from_send = all(line["t_ns"] is not None for line in lines)
    origin = answer.first_ns = lines[0]["mono_ns"]
    events: dict[int, Event] = {}
    steps: dict[int, SeenStep] = {}
    for line in lines:
        at_ns = line["t_ns"] if answer.from_send else line["mono_ns"] - origin
        is_counted = line["index"] is not None
        if (event := events.get(line["event"])) is not None:
            event.tokens += 1
        else:
            events[line["event"]] = Event(at_ns, 1, is_counted, line["step"], line["text"])
        if (number := line["step"]) is None:
            continue
        if (step := steps.get(number)) is not None:
            step.tokens += 1
            step.text += line["text"]
        else:
            drafts = (line["drafted"], line["accepted"], line["rejected"])
            steps[number] = SeenStep(number, at_ns, 1, line["phase"], *drafts, line["text"])
    answer.events.extend(events.values())
    answer.steps.extend(steps.values())
