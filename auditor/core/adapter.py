"""What the road needs to know of one kind of server: a table of names and small functions, no base class."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from auditor.core.counters import Counters
from auditor.core.facts import Fact, FactName
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
    verify_steps: int | None = None
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
    request_fields: Mapping[str, object] = field(default_factory=dict)
    """Extra request fields that make the server say more about its tokens."""
    length_fields: Mapping[str, object] = field(default_factory=dict)
    """Extra request fields that make every answer reach the requested length."""
    metrics_path: str | None = None
    counters: Callable[[str], Counters] = no_counters
    """The counters in a scrape of `metrics_path`; raises ValueError when it cannot be read."""
    details: Callable[[dict[str, Any]], Details | None] = no_details
    """What one event adds."""
    event_is_step: bool = False
    """Whether each content-bearing event is one target step, unless the server merged some."""
    counts_at_end: bool = True
    """Whether counters move only when a request ends, so that a scrape must wait for the drain."""
    ends_with_done: bool = True
    """Whether a stream ends with `data: [DONE]`."""
