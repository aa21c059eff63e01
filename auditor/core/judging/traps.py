"""Traps: what a server's facts and the lines of its log say of known faults. Pure; rules come from a table.

A rule that needs something that nobody knows, as the GPU, is not dropped: its finding says what is open. A fact that is
not known never shows a trap.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from auditor.core.enginelogs.wrapped import plain, texts_of
from auditor.core.facts import Fact, FactName
from auditor.core.observed import told
from auditor.core.record import Record
from auditor.reference.gpus import find_cards
from auditor.reference.traps import SEVERITIES, FactSign, Rule, Severity, Sign, pattern_of

_CAPABILITY = re.compile(r"(?:Device|compute) capability:? (\d{1,2}\.\d)\b")
_NEEDLE = "capability"
MOST_OTHERS = 20
"""Texts that are kept of one pattern, beside the first."""
_PLAIN_CAPABILITY = re.compile(r"(?:sm_?)?(\d{1,2})\.?(\d)[af]?", re.IGNORECASE)


class Evidence(Record):
    """What shows a trap."""

    line: int | None = None
    """Number of the first line that shows it; None for a fact."""
    times: int = 1
    """Lines that show it."""
    source: str | None = None
    """Where a fact was read."""
    text: str
    """What the pattern matched, or the fact; never the whole line, which may hold a key."""
    others: tuple[str, ...] = ()
    """What else the pattern matched, at most 20 texts."""


class TrapFinding(Record):
    """A trap that the server is in, or may be in."""

    rule: str
    title: str
    severity: Severity
    evidence: tuple[Evidence, ...]
    open: tuple[str, ...] = ()
    """What would have to be known to be sure; empty for a trap that is sure."""
    consequence: str
    remedy: str
    sources: tuple[str, ...]


class Hit(Record):
    """Lines that a pattern matched."""

    line: int
    """Number of the first."""
    texts: tuple[str, ...]
    """What it matched, each once; at most 21."""
    times: int = 1


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the server; what is not is empty or None."""

    facts: Mapping[str, Fact] = field(default_factory=dict)
    engines: frozenset[str] = frozenset()
    """Kinds that it may be called: a proxy and what is behind it."""
    release: str | None = None
    capability: str | None = None
    """Compute capability of its GPUs."""


class TrapReader:
    """Takes the lines of a log; keeps the first hit of each pattern and how many there were."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._patterns = [pattern_of(text) for text in dict.fromkeys(text for rule in rules for text in rule.patterns)]
        self.hits: dict[str, Hit] = {}
        """By pattern."""
        self._capabilities: dict[str, None] = {}

    def add(self, number: int, raw: bytes) -> None:
        """Take a line by its number."""
        for text in texts_of(plain(raw)):
            if _NEEDLE in text and (match := _CAPABILITY.search(text[:1000])):
                self._capabilities[match[1]] = None
            for pattern in self._patterns:
                if (words := pattern.find(text)) is not None:
                    self._hit(pattern.text, number, words)

    @property
    def capability(self) -> str | None:
        """The compute capability that the log names; None where it names none or several."""
        return next(iter(self._capabilities)) if len(self._capabilities) == 1 else None

    def _hit(self, pattern: str, number: int, words: str) -> None:
        words = str(told(words, "", "").value or "")
        hit = self.hits.get(pattern)
        if hit is None:
            self.hits[pattern] = Hit(line=number, texts=(words,))
            return
        more = () if words in hit.texts or len(hit.texts) > MOST_OTHERS else (words,)
        self.hits[pattern] = Hit(line=hit.line, texts=(*hit.texts, *more), times=hit.times + 1)


_BEHIND = {"generic": "", "dynamo": "", "ktransformers": "sglang"}
"""What runs behind a kind of server; empty where it does not tell."""


def known_of(
    facts: Mapping[FactName, Fact], kinds: Iterable[str], *, first: str | None = None, last: str | None = None
) -> Known:
    """What is known of a server from its facts and the kinds that it may be called.

    `first` is a compute capability that goes before that of the fact `gpu`, `last` one that stands in for it.
    """
    found = {str(name): fact for name, fact in facts.items() if fact.value is not None}
    version, gpu = found.get("version"), found.get("gpu")
    return Known(
        facts=found,
        engines=frozenset(_BEHIND.get(kind, kind) for kind in kinds) - {""},
        release=str(version.value) if version else None,
        capability=first or (capability_of(str(gpu.value)) if gpu else None) or last,
    )


def capability_of(gpu: str) -> str | None:
    """The compute capability that a GPU's name, `12.0` or `sm_120` means; None where it means none or several."""
    if match := _PLAIN_CAPABILITY.fullmatch(gpu.strip()):
        return f"{match[1]}.{match[2]}"
    if match := _CAPABILITY.search(gpu):
        return match[1]
    found = {card.gpu.compute_capability.value for card in find_cards(gpu)}
    return found.pop() if len(found) == 1 else None


def find_traps(rules: Iterable[Rule], hits: Mapping[str, Hit], known: Known) -> tuple[TrapFinding, ...]:
    """The traps that show, the gravest first and those that are sure before the others."""
    found = [finding for rule in rules if (finding := _finding(rule, hits, known)) is not None]
    order = list(SEVERITIES)
    return tuple(sorted(found, key=lambda one: (bool(one.open), order.index(one.severity), one.rule)))


def _finding(rule: Rule, hits: Mapping[str, Hit], known: Known) -> TrapFinding | None:
    unsure = _concerns(rule, known)
    if unsure is None:
        return None
    shown = [evidence for sign in rule.signs if (evidence := _shown(sign, hits, known.facts)) is not None]
    if not shown:
        return None
    return TrapFinding(
        rule=rule.id,
        title=rule.title,
        severity=rule.severity,
        evidence=tuple(dict.fromkeys(one for evidence in shown for one in evidence)),
        open=unsure,
        consequence=rule.consequence,
        remedy=rule.remedy,
        sources=rule.sources,
    )


def _concerns(rule: Rule, known: Known) -> tuple[str, ...] | None:
    """What is open about whether the rule concerns this server; None where it does not."""
    unsure = []
    if rule.engines:
        if known.engines and not known.engines & set(rule.engines):
            return None
        if not known.engines:
            unsure.append(f"whether the server is {' or '.join(rule.engines)}")
    if rule.since or rule.before:
        release = _numbers(known.release)
        if release is None:
            unsure.append("which release it is: " + _span(rule))
        elif (rule.since and release < _release(rule.since)) or (rule.before and release >= _release(rule.before)):
            return None
    if rule.capability:
        if known.capability is None:
            unsure.append(f"whether its GPUs have compute capability {' or '.join(rule.capability)}")
        elif not any(f"{known.capability}.".startswith(f"{one}.") for one in rule.capability):
            return None
    return tuple(unsure)


def _span(rule: Rule) -> str:
    parts = [f"from {rule.since} on" if rule.since else "", f"before {rule.before}" if rule.before else ""]
    return " and ".join(part for part in parts if part)


def _numbers(release: str | None) -> tuple[int, ...] | None:
    match = re.match(r"v?(\d{1,6}(?:\.\d{1,6}){1,3})", release or "")
    return _release(match[1]) if match else None


def _release(text: str) -> tuple[int, ...]:
    parts = [int(part) for part in text.split(".")]
    return tuple([*parts, 0, 0, 0][:4])


def _shown(sign: Sign, hits: Mapping[str, Hit], facts: Mapping[str, Fact]) -> list[Evidence] | None:
    """What shows a sign; None where something of it is missing."""
    if any(pattern not in hits for pattern in sign.lines) or any(pattern in hits for pattern in sign.absent):
        return None
    if not all(_meets(facts.get(wanted.name), wanted) for wanted in sign.facts):
        return None
    lines = [_evidence(hits[pattern]) for pattern in sign.lines]
    read = [(wanted.name, facts[wanted.name]) for wanted in sign.facts]
    return lines + [Evidence(source=fact.source, text=f"{name} {fact.value}") for name, fact in read]


def _evidence(hit: Hit) -> Evidence:
    first, *others = hit.texts
    return Evidence(line=hit.line, times=hit.times, text=first, others=tuple(others))


def _meets(fact: Fact | None, wanted: FactSign) -> bool:
    value = None if fact is None else fact.value
    if value is None:
        return False
    if wanted.op in ("above", "below"):
        if isinstance(value, bool | str) or not isinstance(wanted.value, int | float):
            return False
        return value > wanted.value if wanted.op == "above" else value < wanted.value
    have, want = _plain(value), wanted.value
    if isinstance(want, tuple):
        return have in {_plain(one) for one in want}
    if wanted.op == "contains":
        return _plain(want) in have
    return (have == _plain(want)) == (wanted.op == "is")


def _plain(value: str | int | float | bool) -> str:
    return str(value).casefold()
