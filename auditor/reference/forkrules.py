"""How changes of a fork are classed and what is asked of them, as data: `data/forkrules.toml` and files like it."""

import functools
import tomllib
from importlib import resources
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, field_validator, model_validator

from auditor.errors import UsageError
from auditor.reference.linepatterns import LinePattern, line_pattern
from auditor.reference.rows import Row

Class = Literal[
    "vendored", "generated", "docs", "comments", "tests", "bench", "metrics", "sampling", "spec", "gate", "kernel",
    "quant", "backend", "packaging", "serving",
]  # fmt: skip
CLASSES: tuple[Class, ...] = get_args(Class)
"""In the order in which a hunk that could be two is classed."""
BY_FILE: tuple[Class, ...] = ("vendored", "generated", "docs", "comments", "tests", "bench")
"""Classes that a file has as a whole; the others follow from the lines."""
Kind = Literal["cuda", "cutlass", "triton", "tilelang", "other"]
"""Of kernel code: CUDA and C++, CUTLASS or CuTe, Triton or Gluon, TileLang, and what is for other devices."""
MOST_RULES = 1_000
MOST_BYTES = 1 << 20
"""Of a file of rules."""


@functools.cache
def pattern_of(text: str) -> LinePattern:
    """The pattern that a rule spells; raises ValueError."""
    return line_pattern(text)


Patterns = tuple[str, ...]


def matches(patterns: Patterns, text: str) -> bool:
    """Whether any of the patterns is found in a text."""
    return any(pattern_of(one).find(text) is not None for one in patterns)


class Rule(Row):
    """One sign of a class: of every file whose path matches, or of the lines in it that match."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{1,60}$")
    label: Class = Field(alias="class")
    kind: Kind | None = None
    """Of kernel code."""
    weight: int = Field(default=5, ge=1, le=9)
    """The heaviest sign of a line wins; one of the line itself goes before one of its file of the same weight."""
    paths: Patterns = ()
    """Patterns of which one matches the path; none: every path."""
    files: Patterns = ()
    """Patterns of which one matches the name of the file, the last part of the path; none: every name."""
    not_paths: Patterns = ()
    """Patterns of which none matches the path."""
    lines: Patterns = ()
    """Patterns of which one matches the line; none: the rule is about the whole file."""
    where: Literal["changed", "hunk", "head"] = "changed"
    """For classes of whole files, which lines count: changed ones, unchanged ones of the hunk too, or the first of the
    file."""
    also: tuple[Class, ...] = ()
    """Classes that a hunk with this sign has beside its own."""
    is_block: bool = False
    """Whether what is set in beneath a condition or a call that matches has its class too, as under a definition."""
    is_upward: bool = False
    """Whether the function that a line which matches stands in has its class too, as that which launches a kernel."""

    @field_validator("paths", "files", "not_paths", "lines")
    @classmethod
    def _safe(cls, patterns: Patterns) -> Patterns:
        return _checked(patterns)

    @model_validator(mode="after")
    def _says_something(self) -> "Rule":
        if not (self.paths or self.files or self.lines):
            raise ValueError("needs paths, files or lines")
        if self.kind and self.label not in ("kernel", "spec"):
            raise ValueError("only kernels have a kind")
        if self.label == "comments":
            raise ValueError("comments are told by their tokens, not by rules")
        return self

    def is_about(self, path: str) -> bool:
        """Whether the rule concerns a file."""
        return (
            not matches(self.not_paths, path)
            and (not self.paths or matches(self.paths, path))
            and (not self.files or matches(self.files, path.rpartition("/")[2]))
        )


class Signs(Row):
    """Where a question finds something: all that stands here must hold."""

    classes: tuple[Class, ...] = ()
    """Classes of the hunk; none: every class."""
    besides: tuple[Class, ...] = ()
    """Classes that the hunk has beside its own; only the lines that say so count."""
    paths: Patterns = ()
    lines: Patterns = ()
    """Patterns of changed lines; none: every changed line of such a hunk."""
    contexts: Patterns = ()
    """Patterns of the line that names the function or class around the hunk; one of paths and contexts is enough."""
    unread: bool = False
    """Whether it is about files of which no lines can be compared, and nothing else."""

    @field_validator("paths", "lines", "contexts")
    @classmethod
    def _safe(cls, patterns: Patterns) -> Patterns:
        return _checked(patterns)

    @model_validator(mode="after")
    def _says_something(self) -> "Signs":
        if self.unread and not self.paths:
            raise ValueError("unread needs paths")
        if not (self.classes or self.besides or self.paths or self.lines):
            raise ValueError("needs classes, besides, paths or lines")
        return self


class Question(Row):
    """Something that a reviewer asks of a fork."""

    id: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{1,60}$")
    ask: str = Field(min_length=3, max_length=200)
    sure: tuple[Signs, ...] = Field(min_length=1)
    """Any of them makes it yes."""
    hints: tuple[Signs, ...] = ()
    """Any of them makes it unclear where nothing is sure."""
    without: tuple[Class, ...] = ()
    """Changes of these classes make a yes unclear, for they may be what is missing."""
    shared: Patterns = ()
    """Patterns with one group, as the number of an architecture: where every one that was found also stands in changes
    of `without`, the answer is no."""
    covered: str = Field(default="What was missing came with it.", max_length=600)
    """What is said then."""
    yes: str = Field(min_length=3, max_length=600)
    no: str = Field(min_length=3, max_length=600)
    unclear: str = Field(default="What was found does not settle it.", max_length=600)

    @field_validator("shared")
    @classmethod
    def _one_group(cls, patterns: Patterns) -> Patterns:
        if any(pattern_of(pattern).regex.groups != 1 for pattern in patterns):
            raise ValueError("needs one group in each pattern")
        return patterns


class RuleFile(Row):
    """A file of rules and questions."""

    version: Literal[1] = 1
    rules: tuple[Rule, ...] = Field(default=(), max_length=MOST_RULES)
    questions: tuple[Question, ...] = Field(default=(), max_length=100)

    def with_more(self, other: "RuleFile") -> "RuleFile":
        """These and the other's; the other's take the place of those with the same id."""
        rules = {one.id: one for one in (*self.rules, *other.rules)}
        questions = {one.id: one for one in (*self.questions, *other.questions)}
        return RuleFile.model_construct(rules=tuple(rules.values()), questions=tuple(questions.values()))


def parse_fork_rules(data: bytes, where: str) -> RuleFile:
    """Read a file of rules; raises UsageError with the rule and the field of what is not as it should be."""
    remedy = "see docs/forks.md for the shape"
    if len(data) > MOST_BYTES:
        raise UsageError(f"longer than {MOST_BYTES >> 20} MiB", where=where, remedy="is it a file of rules?")
    try:
        document = tomllib.loads(data.decode())
    except UnicodeDecodeError:
        raise UsageError("not UTF-8", where=where, remedy="save it as UTF-8") from None
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"not TOML: {error}", where=where, remedy=remedy) from None
    try:
        found = RuleFile.model_validate(document)
    except ValidationError as error:
        raise UsageError(_mistake(error, document), where=where, remedy=remedy) from None
    for rows in (found.rules, found.questions):
        names = [one.id for one in rows]
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"two are called {twice}", where=where, remedy="rename one")
    return found


def _mistake(error: ValidationError, document: dict[str, Any]) -> str:
    """The first mistake, with the id of its row and the field."""
    first = error.errors(include_url=False)[0]
    path = [str(part + 1) if isinstance(part, int) else part for part in first["loc"]]
    if len(first["loc"]) > 1 and isinstance(first["loc"][1], int):
        row = document[path[0]][first["loc"][1]]
        path = [str(row["id"]) if isinstance(row, dict) and "id" in row else " ".join(path[:2]), ".".join(path[2:])]
    words = str(first["msg"]).removeprefix("Value error, ")
    return ": ".join(one for one in (*path, words[:1].lower() + words[1:]) if one)


@functools.cache
def bundled_fork_rules() -> RuleFile:
    """The rules and questions of the package."""
    data = (resources.files("auditor.reference") / "data" / "forkrules.toml").read_bytes()
    return parse_fork_rules(data, "data/forkrules.toml")


def _checked(patterns: Patterns) -> Patterns:
    for pattern in patterns:
        pattern_of(pattern)
    return patterns
