"""What the road needs to know of one kind of server: a table of names and small functions, no base class."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from auditor.core.counting.counters import Counters
from auditor.core.facts import Api, Fact, FactName
from auditor.core.plan.prompts import Message
from auditor.core.probing import Answers


@dataclass(frozen=True, slots=True)
class Details:
    """What one event says beyond the OpenAI shape. Counts run from the start of the request."""

    step: float | None = None
    """Events with the same value came out of one target step."""
    tokens: int | None = None
    """Tokens delivered so far."""
    token_ids: tuple[int, ...] | None = None
    """Ids of the tokens in this event."""
    drafted: int | None = None
    accepted: int | None = None
    ignored: int | None = 0
    """Drafted tokens that were neither accepted nor rejected: none, but on LM Studio; None where that is not told."""
    verify_steps: int | None = None
    draft_width: int | None = None
    """Most tokens drafted in one step."""
    accepted_per_step: tuple[int, ...] | None = None
    """One entry per verify step, where the server lists them."""
    drafted_per_step: tuple[int, ...] | None = None
    reported: Mapping[str, float] = field(default_factory=dict)
    """The server's own figures, under its own names."""


def no_details(event: dict[str, Any]) -> Details | None:
    """For servers that add nothing to the OpenAI shape."""
    return None


def no_counters(text: str) -> Counters:
    """For servers without metrics."""
    return Counters()


def nothing_seen(events: Iterable[dict[str, Any]]) -> dict[FactName, Fact]:
    """For servers whose answers tell nothing of themselves."""
    return {}


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, whatever the shape of the API."""

    model: str
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float
    top_p: float | None = None

    @property
    def text(self) -> str:
        """The messages as one prompt, for APIs without roles."""
        return "\n\n".join(message.content for message in self.messages)


def chat_body(question: Question) -> dict[str, Any]:
    """The body of `/v1/chat/completions`."""
    said = [message.model_dump() for message in question.messages]
    return {"model": question.model, "messages": said, **_shared(question)}


def completions_body(question: Question) -> dict[str, Any]:
    """The body of `/v1/completions`."""
    return {"model": question.model, "prompt": question.text, **_shared(question)}


def _shared(question: Question) -> dict[str, Any]:
    shared = {"max_tokens": question.max_tokens, "temperature": question.temperature, "stream": True}
    return shared if question.top_p is None else {**shared, "top_p": question.top_p}


Shape = Callable[[dict[str, Any]], dict[str, Any]]
"""Gives an event of a server's own API in the OpenAI shape; called once per event, in order."""


def openai_shape() -> Shape:
    """For APIs that speak it."""
    return lambda event: event


@dataclass(frozen=True, slots=True)
class Route:
    """How one API of a server is asked, and how what it answers is read."""

    path: str
    body: Callable[[Question], dict[str, Any]] = chat_body
    request_fields: Mapping[str, object] = field(default_factory=dict)
    """Extra request fields that make the server say more about its tokens."""
    length_fields: Mapping[str, object] = field(default_factory=dict)
    """Extra request fields that make every answer reach the requested length."""
    shape: Callable[[], Shape] = openai_shape
    """Makes the reader of the events of one answer."""
    ends_with_done: bool = True
    """Whether a stream ends with `data: [DONE]`."""


@dataclass(frozen=True, slots=True)
class Tokenize:
    """Where a server tokenises a text, and how it is asked: a model and a text make the body.

    The answer holds the ids or their number: `count`, `length`, `tokens`.
    """

    path: str = "/tokenize"
    body: Callable[[str, str], dict[str, Any]] = lambda model, text: {
        "model": model,
        "content": text,
        "prompt": text,
        "add_special_tokens": False,
    }


_OPENAI = {"chat": ("/v1/chat/completions", chat_body), "completions": ("/v1/completions", completions_body)}

NoteKind = Literal["exact", "nominal", "absent"]
NOTES = (
    "delivered",
    "token_ids",
    "steps",
    "verify_steps",
    "drafted",
    "accepted",
    "rejected",
    "speculation",
    "gpu",
    "acceptance_mode",
)
"""What every adapter says of its server: the terms of the account, and what the server tells of its own set-up."""


@dataclass(frozen=True, slots=True)
class Note:
    """What can be had of one term, and from where or why not."""

    kind: NoteKind
    """`exact`: counted by the server as the term means it. `nominal`: a setting multiplied, a rate, or text that stands
    in for the count. `absent`: it cannot be had."""
    why: str


def exact(why: str) -> Note:
    """A count that means what the term means."""
    return Note("exact", why)


def nominal(why: str) -> Note:
    """Something that stands in for the count."""
    return Note("nominal", why)


def absent(why: str) -> Note:
    """Nothing to be had, and why."""
    return Note("absent", why)


@dataclass(frozen=True, slots=True)
class Adapter:
    """One kind of server."""

    name: str
    title: str
    paths: tuple[str, ...]
    """What the probe asks, in order."""
    recognise: Callable[[Answers], str | None]
    """What gives this kind away in the answers; None when it is another kind."""
    facts: Callable[[Answers, Mapping[str, Any]], dict[FactName, Fact]]
    """What the answers, and what is known of the launch (empty when nothing is), tell."""
    seen: Callable[[Iterable[dict[str, Any]]], dict[FactName, Fact]] = nothing_seen
    """What the events of an answer tell of the server."""
    request_fields: Mapping[str, object] = field(default_factory=dict)
    """Extra request fields, in the OpenAI shape, that make the server say more about its tokens."""
    length_fields: Mapping[str, object] = field(default_factory=dict)
    """Extra request fields that make every answer reach the requested length."""
    routes: Mapping[Api, Route] = field(default_factory=dict)
    """APIs that are not asked as OpenAI's own: `native`, or a better place for `chat`."""
    metrics_paths: tuple[str, ...] = ()
    """Where counters may be, the best first."""
    counters: Callable[[str], Counters] = no_counters
    """The counters in a scrape of one of `metrics_paths`; raises ValueError when it cannot be read."""
    details: Callable[[dict[str, Any]], Details | None] = no_details
    """What one event adds."""
    tokenize: Tokenize | None = None
    """Where it counts a text again; None where that is not known."""
    lists_models: bool = True
    """Whether `/v1/models` lists every model that can be asked for."""
    event_is_step: bool = False
    """Whether each content-bearing event is one target step, unless the server merged some."""
    counts_at_end: bool = True
    """Whether counters move only when a request ends, so that a scrape must wait for the drain."""
    ends_with_done: bool = True
    """Whether a stream in the OpenAI shape ends with `data: [DONE]`."""
    notes: Mapping[str, Note] = field(default_factory=dict)
    """What can be had of each of `NOTES`."""
    switches: str | None = None
    """What to switch on at the server so that it tells more."""
    source: str = ""
    """The files, and their versions, that the shapes were read from."""
    seen_live: str | None = None
    """What it was run against; None where it was only read."""

    def route(self, api: Api) -> Route | None:
        """How `api` is asked; None where the server has no such API that is known here."""
        if api in self.routes:
            return self.routes[api]
        if api not in _OPENAI:
            return None
        path, body = _OPENAI[api]
        fields = {"stream_options": {"include_usage": True}, **self.request_fields}
        return Route(path, body, fields, self.length_fields, ends_with_done=self.ends_with_done)
