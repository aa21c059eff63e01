"""Reading a log line by line: which engine wrote it, what it says of itself, and its intervals summed up.

Every engine's entries are looked for in every line, and the engine with the most intervals wins. Memory is bounded
whatever the size of the log: sums, the first intervals and a few lines of each kind are kept.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal

from auditor.core.enginelogs.acceptance import Acceptance, AcceptanceTally
from auditor.core.enginelogs.identity import IdentityTally
from auditor.core.enginelogs.llamacpp import LLAMACPP
from auditor.core.enginelogs.lmdeploy import LMDEPLOY
from auditor.core.enginelogs.ollama import OLLAMA
from auditor.core.enginelogs.passes import Passes, PassTally
from auditor.core.enginelogs.rates import RatesTally
from auditor.core.enginelogs.records import EngineLog, Interval, Joiner, LogEntry, Sign
from auditor.core.enginelogs.requestcheck import RequestTally
from auditor.core.enginelogs.result import LogReading, SignSeen
from auditor.core.enginelogs.sglang import SGLANG
from auditor.core.enginelogs.sglanginfo import DEFAULT_PASSES, PASSES, rate_definition, strict_acceptance
from auditor.core.enginelogs.stamps import Stamp, stamp_of
from auditor.core.enginelogs.tabbyapi import TABBYAPI
from auditor.core.enginelogs.trtllm import OTHER_RANK, TRTLLM
from auditor.core.enginelogs.vllm import VLLM
from auditor.core.enginelogs.witnesses import Artefact, WitnessTally
from auditor.core.enginelogs.wrapped import plain, process_of, texts_of
from auditor.core.facts import Fact, FactName

ENGINES: tuple[EngineLog, ...] = (VLLM, SGLANG, TRTLLM, LLAMACPP, OLLAMA, LMDEPLOY, TABBYAPI)
_ANY = re.compile(b"|".join(re.escape(n) for log in ENGINES for n in (*log.needles, *log.start_needles)))
"""A line without a match holds nothing for any engine."""
KEPT = 10_000
"""Intervals that are kept whole."""
MOST_SIGNS = 40


@dataclass(slots=True)
class _Seen:
    """What was seen of one engine."""

    log: EngineLog
    joiner: Joiner
    witnesses: WitnessTally | None
    kept: list[Interval] = field(default_factory=list)
    intervals: int = 0
    first: Stamp | None = None
    last: Stamp | None = None
    sources: dict[str, None] = field(default_factory=dict)
    facts: dict[FactName, Fact] = field(default_factory=dict)
    fact_lines: dict[FactName, int] = field(default_factory=dict)
    signs: list[Sign] = field(default_factory=list)
    rates: RatesTally = field(default_factory=RatesTally)
    acceptance: AcceptanceTally = field(default_factory=AcceptanceTally)
    identity: IdentityTally = field(default_factory=IdentityTally)
    passes: PassTally = field(default_factory=PassTally)
    requests: RequestTally = field(default_factory=RequestTally)
    unread: int = 0
    first_unread: int | None = None
    left_out: int = 0


class LogReader:
    """Takes the lines of a log in their order, then says what they hold."""

    def __init__(self, *, claim: tuple[float, float] | None = None, release: str | None = None) -> None:
        """`claim` is the number to look for, as the lowest and highest that round to it."""
        self._claim = None if claim is None else (Decimal(repr(claim[0])), Decimal(repr(claim[1])))
        self._release = release
        self._seen: dict[str, _Seen] = {}
        self._line = 0

    @property
    def lines(self) -> int:
        """Lines taken so far."""
        return self._line

    def add(self, raw: bytes) -> None:
        """Take the next line, with or without its end."""
        self._line += 1
        raw = plain(raw)
        if _ANY.search(raw) is None:
            return
        for log in ENGINES:
            if any(needle in raw for needle in log.needles):
                self._figures(log, raw)
            if log.start_needles and any(needle in raw for needle in log.start_needles):
                self._start(log, raw)

    def finish(self, artefact: Artefact) -> tuple[LogReading, tuple[Interval, ...]] | None:
        """The reading and the first intervals; None where no engine is recognised."""
        for seen in self._seen.values():
            for interval in seen.joiner.flush():
                _take(seen, interval)
        found = [seen for seen in self._seen.values() if seen.intervals or len(seen.facts) + len(seen.signs) > 1]
        if not found:
            return None
        best = max(found, key=lambda seen: (seen.intervals, len(seen.facts) + len(seen.signs)))
        others = {seen.log.name: seen.intervals for seen in found if seen is not best}
        return self._reading(best, artefact, others), tuple(best.kept)

    def _of(self, log: EngineLog) -> _Seen:
        if log.name not in self._seen:
            witnesses = WitnessTally(*self._claim) if self._claim else None
            self._seen[log.name] = _Seen(log, log.joiner(), witnesses)
        return self._seen[log.name]

    def _figures(self, log: EngineLog, raw: bytes) -> None:
        seen, any_entry = self._of(log), False
        for text in texts_of(raw):
            stamp: Stamp | None = None
            for kind, source, fields in log.parse(text):
                any_entry = True
                stamp = stamp or stamp_of(text)
                entry = LogEntry(self._line, stamp, log.name, kind, source, fields, process_of(text))
                seen.left_out += kind == OTHER_RANK
                for interval in seen.joiner.add(entry):
                    _take(seen, interval)
        if not any_entry:
            seen.unread += 1
            seen.first_unread = seen.first_unread or self._line

    def _start(self, log: EngineLog, raw: bytes) -> None:
        for text in texts_of(raw):
            for name, fact in log.start(text) if log.start else ():
                if fact.value is not None or name not in self._of(log).facts:
                    _learn(self._of(log), name, fact, self._line)
            for kind, words, is_grave in log.signs(text) if log.signs else ():
                _sign(self._of(log), Sign(self._line, kind, words, is_grave))

    def _reading(self, seen: _Seen, artefact: Artefact, others: dict[str, int]) -> LogReading:
        log = seen.log
        version = seen.facts.get("version")
        release = self._release or (str(version.value) if version and version.value else None)
        checks = seen.requests.finish()
        identity = seen.identity.finish()
        return LogReading(
            artefact=artefact,
            lines=self._line,
            engine=log.name,
            title=log.title,
            release=release,
            first=seen.first or Stamp(reason="no line with figures"),
            last=seen.last or Stamp(reason="no line with figures"),
            intervals=seen.intervals,
            sources=tuple(seen.sources),
            averaging=log.averaging,
            facts=seen.facts,
            signs=tuple(SignSeen(line=s.line, kind=s.kind, text=s.text, is_grave=s.is_grave) for s in seen.signs),
            rates=seen.rates.finish(),
            acceptance=_acceptance(seen, release),
            identity=identity if identity.checked or identity.unchecked else None,
            passes=_passes(seen),
            requests=checks if checks.requests else None,
            cannot_tell=log.cannot_tell,
            absent=dict(log.absent),
            unread=seen.unread,
            first_unread=seen.first_unread,
            left_out=seen.left_out,
            others=others,
            witnesses=seen.witnesses.finish(artefact, log.title) if seen.witnesses else (),
        )


def _take(seen: _Seen, interval: Interval) -> None:
    seen.intervals += 1
    if len(seen.kept) < KEPT:
        seen.kept.append(interval)
    seen.first = seen.first or interval.stamp
    seen.last = interval.stamp
    if len(seen.sources) < 16 and interval.source:
        seen.sources[interval.source] = None
    for tally in (seen.rates, seen.acceptance, seen.identity, seen.requests):
        tally.add(interval)
    if seen.log is SGLANG:
        seen.passes.add(interval)
    if seen.witnesses is not None:
        seen.witnesses.add(interval)


def _learn(seen: _Seen, name: FactName, fact: Fact, line: int) -> None:
    """The first answer stands; another one is a sign."""
    before = seen.facts.get(name)
    placed = fact.model_copy(update={"source": f"line {line}, {fact.source}"}) if fact.source else fact
    if before is None or before.value is None:
        seen.facts[name] = placed
        seen.fact_lines[name] = line
    elif fact.value is not None and str(fact.value).lower() != str(before.value).lower():
        words = f"{name} {fact.value}, which line {seen.fact_lines[name]} gave as {before.value}"
        _sign(seen, Sign(line, "other answers, as of a restart", words))


def _sign(seen: _Seen, sign: Sign) -> None:
    if len(seen.signs) < MOST_SIGNS and all((other.kind, other.text) != (sign.kind, sign.text) for other in seen.signs):
        seen.signs.append(sign)


def _acceptance(seen: _Seen, release: str | None) -> Acceptance | None:
    if seen.log is not SGLANG:
        definition = "accepted over drafted" if seen.log.name != "ollama" else None
        return seen.acceptance.finish(definition=definition, strict=None)
    definition = rate_definition(release)
    width, mean = seen.facts.get("draft_tokens"), seen.acceptance.mean_length()
    strict = None
    if definition and mean is not None and width and isinstance(width.value, int):
        strict = strict_acceptance(mean, width.value)
    return seen.acceptance.finish(definition=definition, strict=strict)


def _passes(seen: _Seen) -> Passes | None:
    if seen.log is not SGLANG:
        return None
    passes = next((int(sign.text) for sign in seen.signs if sign.kind == PASSES), None)
    return seen.passes.finish(passes or DEFAULT_PASSES, is_default=passes is None)


def entries_of(line: int, raw: bytes) -> Iterator[LogEntry]:
    """Every entry of one line, of whatever engine."""
    raw = plain(raw)
    for log in ENGINES:
        if any(needle in raw for needle in log.needles):
            for text in texts_of(raw):
                for kind, source, fields in log.parse(text):
                    yield LogEntry(line, stamp_of(text), log.name, kind, source, fields, process_of(text))
