"""The verdict as text: for the terminal, and as Markdown to paste into a thread. Only the verdict is read."""

import re
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from auditor.core.bases import BasisValue
from auditor.core.folder import VERDICT, RunFolder
from auditor.core.verdict import Finding, Verdict
from auditor.report.head import MEANINGS, flags_of, sentence_of
from auditor.report.rates import factor, interval, marks_of, measured_words
from auditor.report.shown import NOT_KNOWN, figure, one_line, percent, visible
from auditor.terms import Outcome

WIDTH = 100
_MOST = 5
"""Lines of a list that may be long."""


def terminal(folder: Path) -> str:
    """The verdict for a terminal, at most about 40 lines, readable without colour; raises EvidenceError."""
    verdict = _read(folder)
    parts = [
        _headline(verdict),
        _numbers(verdict),
        _rest(verdict),
        _list("Checks that failed", [_finding(f) for f in verdict.findings if f.outcome is Outcome.FAILS]),
        _list("Not known", verdict.unknown),
        [f"Report: {folder / 'report.html'}", f"Repeat: {one_line(verdict.run.command, 300)}"],
    ]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _read(folder: Path) -> Verdict:
    return visible(RunFolder(folder).record(VERDICT, Verdict))


def _headline(verdict: Verdict) -> list[str]:
    lines = _wrap(f"{verdict.kind.value.upper()}: {one_line(sentence_of(verdict), 300)}")
    lines += _bullets(verdict.reasons)
    lines += [line for label, words in flags_of(verdict) for line in _wrap(f"{label}: {words}.")]
    return lines


def _numbers(verdict: Verdict) -> list[str]:
    claimed, marks = verdict.claimed, marks_of(verdict.claimed)
    lines = _wrap(f"Claim      {one_line(claimed.title, 200)}", "           ")
    lines.append(f"Claimed    {one_line(claimed.text, 80)} ({one_line(claimed.basis or 'basis not stated', 60)})")
    lines.append(f"Delivered  {_delivered(verdict)}")
    times = factor(verdict, verdict.delivered)
    if times is not None:
        lines.append(f"Factor     {times} (claimed / delivered)")
    for basis in _matching(verdict):
        value = figure(basis.estimate.value, marks) if basis.estimate else NOT_KNOWN
        lines.append(f"Meets it   {basis.name}: {value} tok/s (arithmetic, not proof)")
    for words in verdict.explanation.words[1:3] if verdict.explanation else ():
        lines += _wrap(f"Reading    {one_line(words, 300)}", "           ")
    return lines


def _delivered(verdict: Verdict) -> str:
    basis = verdict.delivered
    if basis is None or basis.estimate is None:
        return f"{NOT_KNOWN}: {basis.reason if basis and basis.reason else 'nothing was measured'}"
    marks = marks_of(verdict.claimed)
    return f"{figure(basis.estimate.value, marks)} tok/s ({interval(basis.estimate, marks)}), {basis.name}"


def _matching(verdict: Verdict) -> Iterator[BasisValue]:
    for basis in verdict.bases:
        if basis.id in verdict.matching:
            yield basis


def _rest(verdict: Verdict) -> list[str]:
    marks, lines = marks_of(verdict.claimed), []
    for cell in verdict.cells:
        rate = NOT_KNOWN if cell.decode_rate is None else f"{figure(cell.decode_rate.value, marks)} tok/s a stream"
        words = f"  {cell.cell}: {rate}, {cell.speculation}"
        if cell.acceptance_rate is not None:
            words += f", {percent(cell.acceptance_rate)} of drafts accepted"
        lines.append(words)
        if cell.role != "reference" or cell.identity.outcome is not Outcome.HOLDS:
            lines.append(f"    {cell.identity.sentence}")
    lines += [f"  {pair.cell}: {pair.sentence}" for pair in verdict.pairs]
    return ["Counted", *lines[:12]] if lines else []


def _finding(finding: Finding) -> str:
    return f"{finding.sentence}; {finding.remedy}" if finding.remedy else finding.sentence


def _list(title: str, texts: Iterable[str]) -> list[str]:
    lines = _bullets(texts)
    return [title, *lines] if lines else []


def _bullets(texts: Iterable[str]) -> list[str]:
    """One line each, cut to the width; what is more than a few is counted."""
    found = [one_line(text) for text in texts]
    lines = [textwrap.shorten(f"  - {text}", WIDTH + 2, placeholder=" ...") for text in found[:_MOST]]
    lines = [f"  {line}" for line in lines]
    return lines + ([f"  and {len(found) - _MOST} more in the report"] if len(found) > _MOST else [])


def _wrap(text: str, indent: str = "  ") -> list[str]:
    return textwrap.wrap(text, WIDTH, subsequent_indent=indent)


def markdown(folder: Path) -> str:
    """At most 15 lines to paste into a thread, neutral in tone, with the command that repeats the run."""
    verdict = _read(folder)
    claimed, run, flags = verdict.claimed, verdict.run, flags_of(verdict)
    marks = marks_of(claimed)
    lines = [f"**{verdict.kind.value}**: {_safe(claimed.title, 200)}", ""]
    lines += [f"{_safe(sentence_of(verdict), 300)} {MEANINGS[verdict.kind]}", ""]
    lines += [f"- {_safe(reason, 200)}" for reason in verdict.reasons[: 5 - len(flags)]][:3]
    lines += [f"- {label}: {words}" for label, words in flags]
    times = factor(verdict, verdict.delivered)
    ratio = f"; claimed / delivered {times}" if times else ""
    lines.append(f"- Claimed {_safe(claimed.text, 80)}; delivered {_safe(_delivered(verdict), 200)}{ratio}")
    lines.append(f"- Measured: {_safe(measured_words(verdict), 200)}")
    subject = next((cell for cell in verdict.cells if cell.role == "subject"), None)
    if subject is not None:
        lines.append(f"- Counts: {_safe(subject.identity.sentence, 200)}")
    met = [f"{b.name} ({figure(b.estimate.value, marks)})" for b in _matching(verdict) if b.estimate][:3]
    if met:
        lines.append(f"- Counting rules that meet the claim, which is arithmetic and not proof: {', '.join(met)}")
    lines += ["", f"Repeat: {_code(run.command)} (auditor {run.tool_version}, plan {run.plan_digest[:12]})"]
    return "\n".join(lines) + "\n"


def _safe(text: str, limit: int) -> str:
    """Foreign text on one line that Markdown does not read as its own."""
    return re.sub(r"([\\`*_\[\]<>|~#])", r"\\\1", one_line(text, limit))


def _code(text: str) -> str:
    """Foreign text as code, whatever backticks it holds."""
    line = one_line(text, 300)
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"
