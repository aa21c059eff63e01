"""What a server said of itself when it last started, line by line; nothing but named settings stays."""

from dataclasses import dataclass, field

from auditor.core.enginelogs.reading import ENGINES
from auditor.core.enginelogs.records import EngineLog
from auditor.core.enginelogs.result import SignSeen
from auditor.core.enginelogs.wrapped import plain, texts_of
from auditor.core.facts import Fact, FactName

MOST_SIGNS = 40
_STARTS = ("start banner", "launch arguments", "load_model", "server arguments, model_path")
"""Lines that a start prints once: a second one is another start."""


@dataclass(slots=True)
class Startup:
    """Takes the lines of one server's log. A later start replaces what an earlier one said."""

    kind: str
    """Kind of the server; of one whose log is not known, every engine's lines are looked for."""
    facts: dict[FactName, Fact] = field(default_factory=dict)
    signs: list[SignSeen] = field(default_factory=list)
    starts: int = 0
    """Starts that were told apart."""
    _has_figures: bool = False
    _begun: set[tuple[str, str]] = field(default_factory=set)

    def add(self, number: int, raw: bytes) -> bool:
        """Take a line by its number; whether it holds figures of the engine."""
        raw, has_figures = plain(raw), False
        for log in self._logs():
            if any(needle in raw for needle in log.start_needles):
                for text in texts_of(raw):
                    self._start(log, number, text)
            if any(needle in raw for needle in log.needles):
                has_figures = has_figures or any(True for text in texts_of(raw) for _ in log.parse(text))
        self._has_figures = self._has_figures or has_figures
        return has_figures

    def _logs(self) -> tuple[EngineLog, ...]:
        return tuple(log for log in ENGINES if log.name == self.kind) or ENGINES

    def _start(self, log: EngineLog, number: int, text: str) -> None:
        for name, fact in log.start(text) if log.start else ():
            self._begin(name, fact)
            before = self.facts.get(name)
            if fact.value is not None and (before is None or before.value is None):
                self.facts[name] = fact.model_copy(update={"source": f"server log line {number}, {fact.source}"})
        for kind, words, is_grave in log.signs(text) if log.signs else ():
            if len(self.signs) < MOST_SIGNS and all((one.kind, one.text) != (kind, words) for one in self.signs):
                self.signs.append(SignSeen(line=number, kind=kind, text=words, is_grave=is_grave))

    def _begin(self, name: FactName, fact: Fact) -> None:
        """Forget an earlier start where this fact belongs to a new one."""
        mark = (str(name), str(fact.source))
        is_mark = name in ("model", "version") or mark[1] in _STARTS
        if not is_mark:
            return
        is_again = mark in self._begun and mark[1] in _STARTS and name in ("model", "version")
        if self._has_figures or is_again:
            self.facts.clear()
            self.signs.clear()
            self._begun.clear()
            self._has_figures = False
        self.starts += not self._begun
        self._begun.add(mark)
