"""Puts the timing lines of llama.cpp together: prompt, eval and draft of one request are one interval."""

from collections.abc import Iterator
from typing import Any

from auditor.core.enginelogs.printed import Printed, Span
from auditor.core.enginelogs.records import Interval, LogEntry, Scope

_MOST_LINES_APART = 12
"""Lines from the prompt's timing to the last of a request."""
_MOST_SLOTS = 4096


class Requests:
    """One interval for each request and for each line of progress."""

    def __init__(self) -> None:
        self._open: dict[str, list[LogEntry]] = {}
        self._current = ""
        self._busy: dict[str, int] = {}
        """Slots at work, and the most that were at work with each."""

    def add(self, entry: LogEntry) -> Iterator[Interval]:
        """Take one entry; gives a request when its last line, or the next request, has come."""
        yield from self._stale(entry.line)
        source = entry.source or self._current
        if entry.kind == "slot":
            self._current = entry.source
            if "" in self._open and entry.source not in self._open:  # the log begins inside a request
                self._open[entry.source] = self._open.pop("")
        elif entry.kind in ("launch", "release"):
            yield from self._slot(entry)
        elif entry.kind == "progress":
            yield self._progress(entry)
        else:
            parts = self._open.get(source, [])
            if any(part.kind == entry.kind for part in parts):
                yield from self._close(source)
            self._open.setdefault(source, []).append(entry)

    def flush(self) -> Iterator[Interval]:
        """The requests whose last line was not followed by another."""
        for source in list(self._open):
            yield from self._close(source)

    def _stale(self, line: int) -> Iterator[Interval]:
        for source, parts in list(self._open.items()):
            if line - parts[0].line > _MOST_LINES_APART:
                yield from self._close(source)

    def _slot(self, entry: LogEntry) -> Iterator[Interval]:
        if entry.kind == "launch":
            if len(self._busy) < _MOST_SLOTS:
                self._busy[entry.source] = 0
            for source in self._busy:
                self._busy[source] = max(self._busy[source], len(self._busy))
        else:
            yield from self._close(entry.source)
            self._busy.pop(entry.source, None)

    def _close(self, source: str) -> Iterator[Interval]:
        parts = self._open.pop(source, [])
        kinds = {part.kind: part for part in parts}
        if "eval" not in kinds and "draft" not in kinds:
            return
        main = kinds.get("eval", parts[0])
        fields: dict[str, Any] = {}
        if "eval" in kinds:
            fields |= _timing(kinds["eval"], "delivered_rate", "delivered")
            seconds = kinds["eval"].fields.get("seconds")
            fields |= {"seconds": seconds} if isinstance(seconds, Span) else {}
        if "prompt" in kinds:
            fields |= _timing(kinds["prompt"], "prompt_rate", "prompt_tokens")
            fields["prompt_line"] = kinds["prompt"].line
        if "draft" in kinds:
            fields |= kinds["draft"].fields
        yield Interval(
            line=main.line,
            lines=tuple(part.line for part in parts),
            stamp=main.stamp,
            source=source,
            scope=Scope.REQUEST,
            running=self._busy.get(source) or None,
            **fields,
        )

    def _progress(self, entry: LogEntry) -> Interval:
        fields: dict[str, Any] = dict(entry.fields)
        return Interval(
            line=entry.line,
            lines=(entry.line,),
            stamp=entry.stamp,
            source=entry.source or self._current,
            scope=Scope.PROGRESS,
            running=len(self._busy) or None,
            **fields,
        )


def _timing(entry: LogEntry, rate: str, count: str) -> dict[str, Any]:
    fields: dict[str, Any] = {count: entry.fields["tokens"]}
    if isinstance(number := entry.fields.get("rate"), Printed):
        fields[rate] = number
    return fields
