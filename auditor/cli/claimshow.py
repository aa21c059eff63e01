"""A claim as text for people: what it states, then what it leaves open."""

import shutil
import textwrap
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel

from auditor.core.claim.claim import Case, Claim
from auditor.core.claim.questions import questions_for
from auditor.core.judging.switches import stated_switches

_PARTS = ("hardware", "model", "engine", "speculation", "reported", "workload", "server")
_LABEL = 28
_NARROW = 70
"""Columns below which a value stands under its label."""
NO_NUMBER_NOTE = "a run can still look for tokens counted wrongly, but has no number to compare with"


def is_without_number(case: Case) -> bool:
    """Whether a measurement states neither a number nor why there is none."""
    return not case.reported.has_number and case.reported.outcome is None


def terminal_width() -> int:
    """Columns of the terminal; no fewer than a label and a word need, no more than read well."""
    return min(110, max(40, shutil.get_terminal_size().columns))


def claim_text(claim: Claim, row: str | None, width: int) -> str:
    """The claim, and one of its measurements in full; all of them in a line each where there are several.

    No line is longer than `width` columns, but for a word that is. Raises UsageError for a row that it does not have.
    """
    return "\n".join(part for line in _lines(claim, row) for part in _wrapped(line, width))


def _lines(claim: Claim, row: str | None) -> list[str]:
    lines = [f"{claim.id}: {claim.title}", ""]
    lines += _stated("source", claim.source)
    lines += [_line(name.replace("_", " "), getattr(claim, name)) for name in _PERSONS if getattr(claim, name)]
    lines += [_line("disputer says", text) for text in claim.disputer_says]
    if len(claim.measurements) > 1 and row is None:
        lines += [*_common(claim), "", f"{len(claim.measurements)} measurements:"]
        lines += [f"  {case.id:<{_LABEL - 1}} {_summary(case)}" for case in claim.cases()]
        lines += ["", "Choose one with --row to see what it states and what it leaves open."]
        return lines
    case = claim.case(row)
    lines += _case(case)
    questions = questions_for(case)
    lines += [line for words in stated_switches(case) for line in ("", f"Warning: {words}.")]
    if is_without_number(case):
        lines += ["", f"No number stated: {NO_NUMBER_NOTE}."]
    lines += ["", "Left open:", *(f"  - {question}" for question in questions)] if questions else ["", "Nothing open."]
    return lines


def _wrapped(line: str, width: int) -> list[str]:
    """A line in lines of the width, the later ones under the beginning of its text."""
    if len(line) <= width:
        return [line]
    cut = line.find(" ", _LABEL + 1) + 1
    label, text = line[:cut], line[cut:]
    is_field = line.startswith("  ") and not line.startswith("  - ")
    if not is_field or not cut:
        return _fill(line, width, "", "    " if line.startswith("  - ") else "")
    if width < _NARROW or max(map(len, text.split())) > width - len(label):
        return [label.rstrip(), *_fill(text, width, "    ", "    ")]
    return _fill(text, width, label, " " * len(label))


def _fill(text: str, width: int, first: str, rest: str) -> list[str]:
    return textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


_PERSONS = ("reported_by", "disputed_by")


def _case(case: Case) -> list[str]:
    lines = [] if case.id == case.claim_id else ["", f"measurement {case.id}: {case.title}"]
    lines += [line for part in _PARTS for line in _stated(part, getattr(case, part))]
    lines.append(_line("claimed", _summary(case)))
    return lines + ([_line("notes", case.notes)] if case.notes else [])


def _common(claim: Claim) -> list[str]:
    lines = [line for part in _PARTS for line in _stated(part, getattr(claim, part))]
    return lines + ([_line("notes", claim.notes)] if claim.notes else [])


def _summary(case: Case) -> str:
    reported = case.reported
    if not reported.has_number:
        return reported.as_text()
    basis = reported.basis.value if reported.basis else "basis not stated"
    streams = f", {reported.streams} streams" if reported.streams and reported.streams > 1 else ""
    return f"{reported.as_text()}, {basis}{streams}"


def _stated(name: str, part: BaseModel) -> list[str]:
    """A line for each field of a part that is stated."""
    return [_line(field, value) for field, value in _leaves(name, part.model_dump(mode="json", exclude_defaults=True))]


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(f"{name}.{key}", inner)
    elif isinstance(value, list) and name.endswith((".argv", ".prompts", ".patches")):
        yield name, ", ".join(map(str, value))
    elif isinstance(value, list):
        yield name, " to ".join(map(str, value))
    else:
        yield name, value


def _line(label: str, value: Any) -> str:
    text = " ".join(str(value).split())
    return f"  {label:<{_LABEL - 1}} {text}"
