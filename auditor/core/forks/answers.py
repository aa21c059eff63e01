"""What a reviewer asks of a fork, answered with the lines that say so. Pure; the questions are data.

A line that could count otherwise shows that figures could have been made so, never that they were.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal, NamedTuple

from auditor.core.forks.classify import Classed
from auditor.core.forks.patch import Hunk
from auditor.core.forks.present import present
from auditor.core.forks.signs import says_nothing
from auditor.core.record import Record
from auditor.reference.forkrules import Class, Question, Signs, matches, pattern_of

Outcome = Literal["yes", "no", "unclear"]
MOST_LINES, MOST_OF_FILE, MOST_OF_HUNK, MOST_FILES = 60, 4, 3, 40
"""Lines that are kept of an answer, of one file, of one hunk where every line counts; files that are kept."""
MOST_TEXT, MOST_PATH = 200, 1_000
"""Characters of a line and of a path that are kept."""
MOST_LOOKED_AT = 500
"""Lines of a hunk among which telling ones are looked for."""

_IMPORTS = re.compile(r"\s*(?:import|from|#\s*include|using)\b")


class Line(Record):
    """A changed line."""

    path: str
    number: int
    """On the new side for an added line, on the old side for a removed one; 0 for a file without lines."""
    sign: Literal["+", "-", ""]
    """Added, removed, or a file of which no lines can be compared."""
    text: str


class FileCount(Record):
    """How many lines of a file were found."""

    path: str
    lines: int


class Found(Record):
    """What was found for a question: some of the lines, and how many there are."""

    lines: tuple[Line, ...] = ()
    """At most `MOST_LINES`, of each file at most `MOST_OF_FILE`."""
    count: int = 0
    """Changed lines in all; a file without lines counts as one."""
    files: tuple[FileCount, ...] = ()
    """Those with the most lines, at most `MOST_FILES`."""
    more_files: int = 0


class Answer(Record):
    """A question and its answer."""

    id: str
    ask: str
    outcome: Outcome
    sentence: str
    sure: Found
    """What makes it yes."""
    hints: Found
    """What may."""


class _Finds:
    """Collects lines, bounded: those of the first signs of a question go before those of the others."""

    def __init__(self) -> None:
        self._lines: dict[int, list[Line]] = {}
        self._kept: Counter[tuple[int, str]] = Counter()
        self._files: Counter[str] = Counter()

    def add(self, path: str, lines: Iterable[Line], count: int, rank: int = 0) -> None:
        """Take some lines of a file, out of a number of them."""
        self._files[path] += count
        kept = self._lines.setdefault(rank, [])
        for line in lines:
            if len(kept) >= MOST_LINES or self._kept[rank, path] >= MOST_OF_FILE:
                return
            self._kept[rank, path] += 1
            kept.append(line)

    def found(self) -> Found:
        """What was collected."""
        most = sorted(self._files.items(), key=lambda item: (-item[1], item[0]))
        return Found(
            lines=tuple(line for rank in sorted(self._lines) for line in self._lines[rank])[:MOST_LINES],
            count=sum(self._files.values()),
            files=tuple(FileCount(path=path[:MOST_PATH], lines=lines) for path, lines in most[:MOST_FILES]),
            more_files=max(0, len(most) - MOST_FILES),
        )


class AnswerBook:
    """Takes the hunks of a fork one by one; then answers."""

    def __init__(self, questions: Iterable[Question]) -> None:
        self._questions = tuple(questions)
        self._sure = {question.id: _Finds() for question in self._questions}
        self._hints = {question.id: _Finds() for question in self._questions}
        self._classes: set[Class] = set()
        self._named = {question.id: _Named() for question in self._questions}

    def add(self, hunk: Hunk, classed: Classed) -> None:
        """Take a hunk."""
        self._classes.update((classed.label, *classed.also))
        for question in self._questions:
            is_sure = _take(self._sure[question.id], question.sure, hunk, classed)
            if not is_sure:
                _take(self._hints[question.id], question.hints, hunk, classed)
            if question.shared and (is_sure or classed.label in question.without):
                self._named[question.id].add(hunk, question.shared, is_behind=classed.label in question.without)

    def add_unread(self, path: str, label: Class) -> None:
        """Take a file of which no lines can be compared, as a compiled one."""
        line = Line(path=path[:MOST_PATH], number=0, sign="", text="a file of which no lines can be compared")
        for question in self._questions:
            for finds, signs in ((self._sure, question.sure), (self._hints, question.hints)):
                if any(one.unread and matches(one.paths, path) and label in (one.classes or (label,)) for one in signs):
                    finds[question.id].add(path, [line], 1)

    def answers(self) -> tuple[Answer, ...]:
        """Every question answered."""
        return tuple(self._answer(question) for question in self._questions)

    def _answer(self, question: Question) -> Answer:
        sure, hints = self._sure[question.id].found(), self._hints[question.id].found()
        outcome: Outcome = "yes" if sure.count else "unclear" if hints.count else "no"
        sentence = {"yes": question.yes, "no": question.no, "unclear": question.unclear}[outcome]
        if outcome == "yes" and self._classes & set(question.without):
            is_covered = self._named[question.id].is_covered
            outcome, sentence = ("no", question.covered) if is_covered else ("unclear", question.unclear)
        return Answer(id=question.id, ask=question.ask, outcome=outcome, sentence=sentence, sure=sure, hints=hints)


class _Named:
    """Architectures that changes name, and those that what may stand behind them names."""

    def __init__(self) -> None:
        self._asked: set[str] = set()
        self._behind: set[str] = set()

    def add(self, hunk: Hunk, patterns: tuple[str, ...], *, is_behind: bool) -> None:
        """Take what a hunk names newly: in its added lines and, of what stands behind, in its path."""
        added, removed = (_names(patterns, (line[1:] for line in hunk.lines if line[:1] == one)) for one in "+-")
        if is_behind:
            self._behind |= added | _names(patterns, [hunk.path])
        else:
            self._asked |= added - removed

    @property
    def is_covered(self) -> bool:
        """Whether there is something behind everything that is named; 12 stands for all that begin so."""
        return bool(self._asked) and all(
            any(one.startswith(other) or other.startswith(one) for other in self._behind) for one in self._asked
        )


def _names(patterns: tuple[str, ...], texts: Iterable[str]) -> set[str]:
    """What the groups match, as `120` for 12.0, sm_120 and 1200."""
    found = {
        match[1].replace(".", "")
        for text in texts
        for pattern in patterns
        for match in pattern_of(pattern).regex.finditer(text[:MOST_TEXT])
    }
    return {one[:3] if one.isdigit() else one for one in found}


def _take(finds: _Finds, signs: tuple[Signs, ...], hunk: Hunk, classed: Classed) -> bool:
    """Whether any of the signs holds; what shows it is kept."""
    for rank, sign in enumerate(signs):
        if not _concerns(sign, hunk, classed):
            continue
        if not sign.lines and not sign.besides:
            finds.add(hunk.path, _telling(hunk, classed), hunk.added + hunk.removed, rank)
            return True
        patterns = present(map(pattern_of, sign.lines), "\n".join(line[1:] for line in hunk.lines))
        if sign.lines and not patterns:
            continue
        marked = {at for at, label in classed.marks if label in sign.besides}
        found = [
            line
            for line in _changed(hunk)
            if (not sign.besides or line.at in marked)
            and (not sign.lines or any(one.find(line.text) is not None for one in patterns))
        ]
        if found:
            finds.add(hunk.path, (_line(hunk, line) for line in found), len(found), rank)
            return True
    return False


def _concerns(sign: Signs, hunk: Hunk, classed: Classed) -> bool:
    return (
        not sign.unread
        and (not sign.classes or classed.label in sign.classes)
        and (not sign.besides or bool(set(sign.besides) & set(classed.also)))
        and (
            not (sign.paths or sign.contexts) or matches(sign.paths, hunk.path) or matches(sign.contexts, hunk.context)
        )
    )


class _Changed(NamedTuple):
    """A changed line: its place in the hunk, its number on its side, its sign and its text."""

    at: int
    number: int
    sign: Literal["+", "-"]
    text: str


def _changed(hunk: Hunk) -> Iterator[_Changed]:
    """The changed lines that were kept."""
    old, new = hunk.old_start, hunk.new_start
    for at, line in enumerate(hunk.lines):
        if line[:1] == "+":
            yield _Changed(at, new, "+", line[1:])
        elif line[:1] == "-":
            yield _Changed(at, old, "-", line[1:])
        old += line[:1] in ("-", " ")
        new += line[:1] in ("+", " ")


def _line(hunk: Hunk, line: _Changed) -> Line:
    return Line(path=hunk.path[:MOST_PATH], number=line.number, sign=line.sign, text=line.text[:MOST_TEXT])


def _telling(hunk: Hunk, classed: Classed) -> list[Line]:
    """A few lines that say what the hunk does: those by which it was classed, then added ones before removed ones."""
    changed = list(islice(_changed(hunk), MOST_LOOKED_AT))
    telling = [line for line in changed if not (says_nothing(line.text) or _IMPORTS.match(line.text))] or changed
    marked = {at for at, label in classed.marks if label == classed.label}
    first = sorted(telling, key=lambda line: (line.at not in marked, line.sign))[:MOST_OF_HUNK]
    return [_line(hunk, line) for line in sorted(first)]
