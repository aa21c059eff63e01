"""The verdict as text: for the terminal, and as Markdown to paste into a thread. Only the verdict is read."""

import re
import shutil
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path

from auditor.core.bases import BasisValue
from auditor.core.folder import VERDICT, RunFolder
from auditor.core.judging.verdict import Finding, Verdict
from auditor.core.wording import plural
from auditor.report.amended import remark_lines
from auditor.report.head import MEANINGS, flags_of, sentence_of
from auditor.report.possible import ceiling_words
from auditor.report.rates import (
    LONG,
    NOT_COMPARABLE,
    explained,
    factor,
    interval,
    is_comparable,
    is_valid,
    marks_of,
    measured_words,
)
from auditor.report.shown import NOT_KNOWN, figure, one_line, percent, visible
from auditor.terms import Outcome

LEAST, WIDTH = 40, 100
"""Letters in a line: at least, and at most or where no terminal tells."""
_MOST, _CELLS = 4, 4
"""Items of a list, and loads, that are shown; what is more is counted."""


def terminal(folder: Path, width: int | None = None) -> str:
    """The verdict for a terminal, readable without colour; raises EvidenceError.

    Whole sentences, wrapped to `width` or to the terminal; lists are held to a few items, and none is cut. Only the
    path and the command stay on one line each, to be copied.
    """
    verdict = _read(folder)
    if width is None:
        width = shutil.get_terminal_size((WIDTH, 24)).columns
    width = max(LEAST, min(WIDTH, width))
    parts = [
        [(line, 2) for line in remark_lines(RunFolder(folder))],
        _headline(verdict),
        _numbers(verdict),
        _rest(verdict),
        _list("Checks that failed", [_finding(f) for f in verdict.findings if f.outcome is Outcome.FAILS]),
        _list("Not known", _unknown(verdict)),
        _not_looked_at(verdict),
    ]
    texts = ["\n".join(line for item in part for line in _wrap(*item, width)) for part in parts if part]
    texts.append(f"Report: {folder / 'report.html'}\nRepeat: {one_line(verdict.run.command)}")
    return "\n\n".join(texts)


def _read(folder: Path) -> Verdict:
    return visible(RunFolder(folder).record(VERDICT, Verdict))


Item = tuple[str, int]
"""A text, and how far its further lines are set in."""
_COLUMN = 11


def _headline(verdict: Verdict) -> list[Item]:
    items: list[Item] = [(f"{verdict.kind.value.upper()}: {one_line(sentence_of(verdict))}", 2)]
    items += _bullets(verdict.reasons)
    return items + [(f"{label}: {words}.", 2) for label, words in flags_of(verdict)]


def _numbers(verdict: Verdict) -> list[Item]:
    claimed, marks = verdict.claimed, marks_of(verdict.claimed)
    pairs = [("Claim", one_line(claimed.title))]
    pairs.append(("Claimed", f"{one_line(claimed.text)} ({one_line(claimed.basis or 'basis not stated')})"))
    pairs.append(("Delivered" if is_valid(verdict) else "Invalid at", _delivered(verdict)))
    if (ratio := _ratio(verdict)) is not None:
        pairs.append(("Factor", f"{ratio} (claimed / delivered)"))
    if verdict.ceiling is not None:
        pairs.append(("Possible?", one_line(ceiling_words(verdict.ceiling))))
    for basis in _matching(verdict):
        value = figure(basis.estimate.value, marks) if basis.estimate else NOT_KNOWN
        pairs.append(("Meets it", f"{basis.name}: {value} tok/s (arithmetic, not proof)"))
    words = explained(verdict)[1 if is_comparable(verdict) else 0 :]
    pairs += [("Reading", one_line(text)) for text in words if len(text) <= LONG][:2]
    return [(f"{label:<{_COLUMN}}{text}", _COLUMN) for label, text in pairs]


def _ratio(verdict: Verdict) -> str | None:
    """Claimed by delivered, or that the two may not be set against each other; None where either is missing."""
    if not is_comparable(verdict):
        return NOT_COMPARABLE if verdict.delivered and verdict.delivered.estimate else None
    return factor(verdict, verdict.delivered)


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


def _rest(verdict: Verdict) -> list[Item]:
    marks = marks_of(verdict.claimed)
    items: list[Item] = [("Counted", 0)]
    for cell in verdict.cells[:_CELLS]:
        rate = NOT_KNOWN if cell.decode_rate is None else f"{figure(cell.decode_rate.value, marks)} tok/s a stream"
        words = f"  {cell.cell}: {rate}, {cell.speculation}"
        if cell.acceptance_rate is not None:
            words += f", {percent(cell.acceptance_rate)} of drafts accepted"
        items.append((words, 4))
        if cell.role != "reference" or cell.identity.outcome is not Outcome.HOLDS:
            items.append((f"    {cell.identity.sentence}", 4))
    items += [(f"  {pair.cell}: {pair.sentence}", 4) for pair in verdict.pairs[:_CELLS]]
    if len(verdict.cells) > _CELLS:
        items.append((f"  and {plural(len(verdict.cells) - _CELLS, 'more load')} in the report", 4))
    return items if verdict.cells else []


def _finding(finding: Finding) -> str:
    return f"{finding.sentence}; {finding.remedy}" if finding.remedy else finding.sentence


def _unknown(verdict: Verdict) -> list[str]:
    """What could not be known, with the number of rules without a figure in place of their names."""
    texts = [text for text in verdict.unknown if not text.startswith("counting rules without a figure")]
    missing = sum(basis.estimate is None for basis in verdict.bases)
    return texts + ([f"{plural(missing, 'counting rule has', 'counting rules have')} no figure"] if missing else [])


def _not_looked_at(verdict: Verdict) -> list[Item]:
    """One paragraph: the parts that the run went without, each with its reason."""
    parts = [f"{one.part} ({one_line(one.why)})" for one in verdict.not_looked_at]
    return [(f"Not looked at: {'; '.join(parts)}.", 2)] if parts else []


def _list(title: str, texts: Iterable[str]) -> list[Item]:
    items = _bullets(texts)
    return [(title, 0), *items] if items else []


def _bullets(texts: Iterable[str]) -> list[Item]:
    """The first few whole; what is more is counted."""
    found = [one_line(text) for text in texts]
    items: list[Item] = [(f"  - {text}", 4) for text in found[:_MOST]]
    return items + ([(f"  and {len(found) - _MOST} more in the report", 4)] if len(found) > _MOST else [])


def _wrap(text: str, indent: int, width: int) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=" " * indent, break_on_hyphens=False)


def markdown(folder: Path) -> str:
    """At most 15 lines to paste into a thread, neutral in tone, with the command that repeats the run."""
    verdict = _read(folder)
    claimed, run, flags = verdict.claimed, verdict.run, flags_of(verdict)
    marks = marks_of(claimed)
    lines = [f"**{verdict.kind.value}**: {safe(claimed.title, 200)}", ""]
    lines += [f"{safe(sentence_of(verdict), 300)} {MEANINGS[verdict.kind]}", ""]
    lines += [f"- {safe(reason, 200)}" for reason in verdict.reasons[: max(1, 4 - len(flags))]][:3]
    lines += [f"- {safe(line, 200)}" for line in remark_lines(RunFolder(folder))][-2:]
    lines += [f"- {label}: {words}" for label, words in flags]
    times = _ratio(verdict)
    ratio = f"; claimed / delivered: {times}" if times else ""
    lines.append(f"- Claimed {safe(claimed.text, 80)}; delivered {safe(_delivered(verdict), 200)}{ratio}")
    if verdict.ceiling is not None:
        lines.append(f"- Possible on its hardware? {safe(ceiling_words(verdict.ceiling), 400)}")
    lines.append(f"- Measured: {safe(measured_words(verdict), 200)}")
    subject = next((cell for cell in verdict.cells if cell.role == "subject"), None)
    if subject is not None:
        lines.append(f"- Counts: {safe(subject.identity.sentence, 200)}")
    met = [f"{b.name} ({figure(b.estimate.value, marks)})" for b in _matching(verdict) if b.estimate][:3]
    if met:
        lines.append(f"- Counting rules that meet the claim, which is arithmetic and not proof: {', '.join(met)}")
    if verdict.not_looked_at:
        lines.append(f"- Not looked at: {safe('; '.join(one.part for one in verdict.not_looked_at), 400)}")
    lines += ["", f"Repeat: {_code(run.command)} (auditor {run.tool_version}, plan {run.plan_digest[:12]})"]
    return "\n".join(lines) + "\n"


def safe(text: str, limit: int) -> str:
    """Foreign text on one line that Markdown does not read as its own."""
    return re.sub(r"([\\`*_\[\]<>|~#])", r"\\\1", one_line(text, limit))


def _code(text: str) -> str:
    """Foreign text as code, whatever backticks it holds."""
    line = one_line(text, 300)
    fence = "`" * (max((len(run) for run in re.findall("`+", line)), default=0) + 1)
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"
