"""Known traps as data: how each shows, what follows, what to do, who says so. `data/traps.toml` and files like it."""

import functools
import re
import tomllib
from collections.abc import Collection, Iterable
from importlib import resources
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from auditor.errors import UsageError
from auditor.reference.linepatterns import LinePattern, line_pattern
from auditor.reference.rows import Row

Severity = Literal["invalid", "crash", "slow", "caveat"]
SEVERITIES: dict[Severity, str] = {
    "invalid": "output or acceptance may not be what it seems; if so, the speed counts for nothing",
    "crash": "the server stops, hangs or does not start",
    "slow": "slower than this hardware can be",
    "caveat": "the number holds only with this said beside it",
}
"""What each severity means, the gravest first."""
Operator = Literal["is", "is_not", "one_of", "contains", "above", "below"]
MOST_RULES = 1_000
MOST_BYTES = 1 << 20
"""Of a file of rules."""
BUNDLED = "data/traps.toml"


@functools.cache
def pattern_of(text: str) -> LinePattern:
    """The pattern that a rule spells; raises ValueError."""
    return line_pattern(text)


class FactSign(Row):
    """A condition on a fact of the server; one that is not known is not met."""

    name: str
    op: Operator = "is"
    value: bool | int | float | str | tuple[str, ...]

    @model_validator(mode="after")
    def _fits(self) -> "FactSign":
        is_number = isinstance(self.value, int | float) and not isinstance(self.value, bool)
        if self.op in ("above", "below") and not is_number:
            raise ValueError(f"{self.op} needs a number")
        if (self.op == "one_of") != isinstance(self.value, tuple):
            raise ValueError("one_of needs a list, and only one_of takes one")
        if self.op == "contains" and not (isinstance(self.value, str) and self.value):
            raise ValueError("contains needs a text")
        return self


class Sign(Row):
    """One way in which a trap shows: everything in it must hold."""

    lines: tuple[str, ...] = ()
    """Patterns that must each match some line of the log; the first says where."""
    absent: tuple[str, ...] = ()
    """Patterns that no line of the log may match."""
    facts: tuple[FactSign, ...] = ()

    @field_validator("lines", "absent")
    @classmethod
    def _safe(cls, patterns: tuple[str, ...]) -> tuple[str, ...]:
        for pattern in patterns:
            pattern_of(pattern)
        return patterns

    @model_validator(mode="after")
    def _says_something(self) -> "Sign":
        if not self.lines and not self.facts:
            raise ValueError("needs lines or facts")
        if self.absent and not self.lines:
            raise ValueError("absent needs lines: nothing is absent from a log that was not seen")
        return self


class Rule(Row):
    """One trap."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{1,60}$")
    title: str = Field(min_length=3, max_length=200)
    severity: Severity
    engines: tuple[str, ...] = ()
    """Kinds of server that it concerns; empty for all."""
    since: str | None = Field(default=None, pattern=r"^\d{1,6}(\.\d{1,6}){0,3}$")
    """First release that it concerns."""
    before: str | None = Field(default=None, pattern=r"^\d{1,6}(\.\d{1,6}){0,3}$")
    """First release that it no longer concerns."""
    capability: tuple[str, ...] = ()
    """Compute capabilities that it concerns, as `12.0`, or `12` for all that begin so; empty for all."""
    consequence: str = Field(min_length=3, max_length=1000)
    remedy: str = Field(min_length=3, max_length=1000)
    sources: tuple[str, ...] = Field(min_length=1)
    signs: tuple[Sign, ...] = Field(min_length=1)
    """Ways in which it shows; one is enough."""

    @property
    def patterns(self) -> Iterable[str]:
        """Every pattern of every sign."""
        return (pattern for sign in self.signs for pattern in (*sign.lines, *sign.absent))


class Signless(Row):
    """A fault that is told of and that no log line or fact shows, as far as is known."""

    title: str
    why: str
    sources: tuple[str, ...] = ()


class TrapFile(Row):
    """A file of rules."""

    version: Literal[1] = 1
    rules: tuple[Rule, ...] = Field(default=(), max_length=MOST_RULES)
    signless: tuple[Signless, ...] = ()


def parse_traps(data: bytes, where: str, fact_names: Collection[str]) -> TrapFile:
    """Read a file of rules; raises UsageError with file, line and field for anything that is not as it should be."""
    if len(data) > MOST_BYTES:
        raise UsageError(f"longer than {MOST_BYTES >> 20} MiB", where=where, remedy="is it a file of rules?")
    try:
        text = data.decode()
        document = tomllib.loads(text)
    except UnicodeDecodeError:
        raise UsageError("not UTF-8", where=where, remedy="save it as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"not TOML: {error}", where=where, remedy="see docs/traps.md for the shape") from None
    try:
        found = TrapFile.model_validate(document)
    except ValidationError as error:
        raise _mistake(error, text, where, document) from None
    _refuse_doubles(found.rules, text, where)
    for index, rule in enumerate(found.rules):
        for fact in (fact for sign in rule.signs for fact in sign.facts):
            if fact.name not in fact_names:
                names = ", ".join(sorted(fact_names))
                raise UsageError(
                    f"rule {rule.id}: no fact is called {fact.name}",
                    where=_place(where, text, "rules", index),
                    remedy=f"use one of: {names}",
                )
    return found


def bundled_traps(fact_names: Collection[str]) -> TrapFile:
    """The rules of the package."""
    data = (resources.files("auditor.reference") / "data" / "traps.toml").read_bytes()
    return parse_traps(data, BUNDLED, fact_names)


def _mistake(error: ValidationError, text: str, where: str, document: dict[str, Any]) -> UsageError:
    first = error.errors(include_url=False)[0]
    path = first["loc"]
    place, name = where, ""
    if len(path) > 1 and path[0] in ("rules", "signless") and isinstance(path[1], int):
        place = _place(where, text, str(path[0]), path[1])
        row = document[path[0]][path[1]]
        name = f"{path[0].rstrip('s')} {row.get('id', path[1] + 1) if isinstance(row, dict) else path[1] + 1}: "
        path = path[2:]
    at = ".".join(str(part + 1) if isinstance(part, int) else part for part in path)
    message = str(first["msg"]).removeprefix("Value error, ")
    return UsageError(
        f"{name}{at + ': ' if at else ''}{message[:1].lower()}{message[1:]}",
        where=place,
        remedy="see docs/traps.md for the shape",
    )


def _place(where: str, text: str, table: str, index: int) -> str:
    """File and line of the header of a row; the file alone where rows are written another way."""
    lines = [at for at, line in enumerate(text.splitlines(), 1) if re.match(rf"\s*\[\[\s*{table}\s*\]\]", line)]
    return f"{where}:{lines[index]}" if index < len(lines) else where


def _refuse_doubles(rules: tuple[Rule, ...], text: str, where: str) -> None:
    seen: set[str] = set()
    for index, rule in enumerate(rules):
        if rule.id in seen:
            raise UsageError(
                f"two rules are called {rule.id}", where=_place(where, text, "rules", index), remedy="rename one"
            )
        seen.add(rule.id)
