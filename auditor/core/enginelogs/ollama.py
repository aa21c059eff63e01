"""Ollama: the block that `ollama run --verbose` prints after each answer, and the start lines of its server."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from auditor.core.enginelogs.printed import NUMBER, Printed, Span, printed
from auditor.core.enginelogs.records import DRAFT_FIELDS, EngineLog, Interval, LogEntry, Parsed, Scope
from auditor.core.facts import Fact, FactName, known
from auditor.core.observed import told

_DURATION = r"(?:\d+h)?(?:\d+m)?(?:\d+(?:\.\d+)?(?:s|ms|µs|μs|us|ns))?"
_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s|µs|μs|us|ns)")
_UNITS = {"h": 3600 * 10**9, "m": 60 * 10**9, "s": 10**9, "ms": 10**6, "µs": 10**3, "μs": 10**3, "us": 10**3, "ns": 1}
_COUNT = re.compile(r"(prompt )?eval count:\s+(\d{1,12}) token\(s\)")
_TIME = re.compile(rf"(total|load|prompt eval|eval) duration:\s+({_DURATION})\s*$")
_RATE = re.compile(rf"(prompt )?eval rate:\s+({NUMBER}) tokens/s")


def parse(text: str) -> Iterator[Parsed]:
    """The entry of a line."""
    if match := _TIME.search(text):
        ns = duration_ns(match[2])
        if ns is not None:
            yield f"{match[1]} duration", "", {"seconds": Span(Fraction(ns, 10**9), Fraction(ns, 10**9))}
    elif match := _COUNT.search(text):
        yield "prompt count" if match[1] else "count", "", {"tokens": int(match[2])}
    elif (match := _RATE.search(text)) and (number := printed(match[2])):
        yield "prompt rate" if match[1] else "rate", "", {"rate": number}


def duration_ns(text: str) -> int | None:
    """A duration as Go prints it, in nanoseconds; None for what is none."""
    parts = _PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return int(sum(Fraction(number) * _UNITS[unit] for number, unit in parts))


class _Blocks:
    """One interval for each block."""

    def __init__(self) -> None:
        self._block: dict[str, LogEntry] = {}

    def add(self, entry: LogEntry) -> Iterator[Interval]:
        first = next(iter(self._block.values()), None)
        if entry.kind in self._block or (first and entry.line - first.line > 20):
            yield from self.flush()
        self._block[entry.kind] = entry
        if entry.kind == "rate":
            yield from self.flush()

    def flush(self) -> Iterator[Interval]:
        block, self._block = self._block, {}
        main = block.get("rate") or block.get("eval duration")
        if main is None:
            return
        fields: dict[str, Any] = {}
        for kind, name, key in (
            ("rate", "delivered_rate", "rate"),
            ("prompt rate", "prompt_rate", "rate"),
            ("count", "delivered", "tokens"),
            ("prompt count", "prompt_tokens", "tokens"),
            ("eval duration", "seconds", "seconds"),
        ):
            value = block[kind].fields.get(key) if kind in block else None
            if isinstance(value, Printed | int | Span):
                fields[name] = value
        if "prompt_rate" in fields:
            fields["prompt_line"] = block["prompt rate"].line
        lines = tuple(entry.line for entry in block.values())
        yield Interval(line=main.line, lines=lines, stamp=main.stamp, source="", scope=Scope.REQUEST, **fields)


_GPU = re.compile(r'msg="inference compute".{0,500}? compute=(\S{1,20}).{0,500}?(?:name|description)="([^"]{1,200})"')
_COMMAND = "starting llama-server"
_VERSION = re.compile(r"Listening on \S+ \(version ([\w.+-]+)\)")


def facts(text: str) -> Iterator[tuple[FactName, Fact]]:
    """From the server's own log."""
    if match := _VERSION.search(text):
        yield "version", told(match[1], "listening line", "")
    if match := _GPU.search(text):
        yield "gpu", told(f"{match[2]}, compute capability {match[1]}", "inference compute", "")
    if _COMMAND in text:
        if match := re.search(r"--spec-type[ =]\"?([\w-]+)", text):
            yield "speculation", known(match[1] != "none", "llama-server command")
            yield "speculation_method", told(match[1], "llama-server command", "")
        if match := re.search(r"--spec-draft-n-max[ =]\"?(\d{1,12})", text):
            yield "draft_tokens", known(int(match[1]), "llama-server command")
        if "--spec-synth-" in text:
            yield "acceptance_mode", known("synthetic", "llama-server command")


OLLAMA = EngineLog(
    name="ollama",
    title="Ollama",
    needles=(b"total duration:", b"load duration:", b"eval duration:", b"eval count:", b"eval rate:"),
    parse=parse,
    joiner=_Blocks,
    seen="in public threads; its server not seen live",
    averaging="one answer",
    cannot_tell=(
        "Drafts and acceptance: Ollama does not pass them on.",
        "The prompt rate where the prompt was cached: newer releases count cached tokens over the time of the rest.",
        "The rate of several answers together: each block is one answer.",
        "When it was: the block has no time.",
    ),
    absent=dict.fromkeys(DRAFT_FIELDS, "Ollama does not pass on what its runner says of drafts")
    | {
        "so_far_rate": "Ollama prints a rate at the end only",
        "running": "the block does not tell what else ran",
        "waiting": "the block does not tell what else waited",
        "scheduled": "Ollama prints no count of computed positions",
    },
    start_needles=(b'msg="inference compute"', b"starting llama-server", b"Listening on "),
    start=facts,
)
"""Ollama."""
