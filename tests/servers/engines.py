"""A small engine that drafts, and the dialects in which servers tell of it.

The engine emits one token with the prefill and then a verify step of `WIDTH` drafts a time, of which as many are
accepted as the next number of `PATTERN` says; the last step is cut at the requested length. It knows the truth.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any

from rawserver import LAST_CHUNK, Asked, Peer, chunked, event, head, plain

WIDTH = 3
PATTERN = (2, 0, 3, 1)
PROMPT_TOKENS = 11
TRIAL_TOKENS = 4


@dataclass(frozen=True)
class Step:
    """What one step of the target gave."""

    texts: tuple[str, ...]
    first: int
    """Index of its first token."""
    accepted: int | None
    """Of WIDTH drafts, before the cut; None for the prefill."""

    @property
    def ids(self) -> list[int]:
        """Ids of its tokens."""
        return [1000 + self.first + index for index in range(len(self.texts))]


@dataclass
class Answer:
    """What one request generated."""

    steps: list[Step]

    @property
    def tokens(self) -> int:
        return sum(len(step.texts) for step in self.steps)

    @property
    def text(self) -> str:
        return "".join(text for step in self.steps for text in step.texts)

    @property
    def verify_steps(self) -> int:
        return len(self.steps) - 1

    @property
    def drafted(self) -> int:
        return WIDTH * self.verify_steps

    @property
    def accepted(self) -> int:
        return sum(step.accepted or 0 for step in self.steps)

    @property
    def accepted_delivered(self) -> int:
        """Tokens beyond the first of each step, after the cut."""
        return sum(len(step.texts) - 1 for step in self.steps)


def generate(length: int) -> Answer:
    """An answer of so many tokens."""
    steps, count = [Step(("w0 ",), 0, None)], 1
    for accepted in cycle(PATTERN):
        if count >= length:
            break
        texts = tuple(f"w{count + index} " for index in range(min(accepted + 1, length - count)))
        steps.append(Step(texts, count, accepted))
        count += len(texts)
    return Answer(steps)


@dataclass
class Engine:
    """The totals since the start."""

    answers: list[Answer] = field(default_factory=list)
    unread: list[dict[str, Any]] = field(default_factory=list)
    """Iterations that nobody has read."""
    iterations: int = 0

    def answer(self, length: int) -> Answer:
        """Generate, and count."""
        made = generate(length)
        self.answers.append(made)
        for step in made.steps:
            self.iterations += 1
            row = {"iter": self.iterations, "iterLatencyMS": 7.5, "numActiveRequests": 1, "numCompletedRequests": 0}
            if step.accepted is not None:
                drafts = {"numDraftTokens": WIDTH, "numAcceptedTokens": step.accepted, "numRequestsWithDraftTokens": 1}
                row["specDecodingStats"] = {**drafts, "acceptanceLength": 1.0 + step.accepted}
            self.unread.append(row)
        self.unread[-1] |= {"numCompletedRequests": 1, "numActiveRequests": 0}
        return made

    def total(self, name: str) -> int:
        """The sum of a count over all answers."""
        return sum(getattr(one, name) for one in self.answers)

    def series(self, **names: str) -> str:
        """Prometheus lines: a series for each count."""
        return "".join(f'{series}{{model_name="m"}} {self.total(count)}.0\n' for count, series in names.items())


Stream = Callable[[Asked, Answer], Iterator[dict[str, Any] | bytes]]
"""The events of an answer."""


@dataclass
class Dialect:
    """How a server speaks: what it answers to GETs, where it is asked, and the events of its answers."""

    gets: dict[str, Callable[[Engine], bytes | tuple[int, bytes]]]
    events: Stream
    post: str = "/v1/chat/completions"
    length: Callable[[dict[str, Any]], int] = lambda body: body["max_tokens"]
    is_lines: bool = False
    """Whether it sends a JSON object a line, and no events."""
    has_done: bool = True
    counts: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = field(default_factory=dict)
    """What tokenises a text, by path."""


def handler(dialect: Dialect, engine: Engine) -> Callable[[Peer], Any]:
    """Serve a connection in this dialect."""
    kind = "application/x-ndjson" if dialect.is_lines else "text/event-stream"
    stream_head = head(Content_Type=kind, Transfer_Encoding="chunked")

    async def serve(peer: Peer) -> None:
        while (asked := await peer.asked()) is not None:
            if asked.method == "GET":
                made = dialect.gets.get(asked.target, lambda _: (404, b'{"detail":"Not Found"}'))(engine)
                status, body = made if isinstance(made, tuple) else (200, made)
                is_json = body.startswith((b"{", b"["))
                await peer.send(plain(body, f"{status} So", "application/json" if is_json else "text/plain"))
            elif asked.target in dialect.counts:
                await peer.send(plain(json.dumps(dialect.counts[asked.target](asked.json)).encode()))
            elif asked.target != dialect.post:
                await peer.send(plain(b'{"detail":"Not Found"}', "404 Not Found"))
            else:
                answer = engine.answer(dialect.length(asked.json))
                pieces = [piece(one, dialect) for one in dialect.events(asked, answer)]
                done = [b"data: [DONE]\n\n"] if dialect.has_done else []
                await peer.send(stream_head, *chunked(*pieces, *done), LAST_CHUNK)

    return serve


def piece(value: Any, dialect: Dialect) -> bytes:
    """One event as bytes."""
    if isinstance(value, bytes):
        return value
    return json.dumps(value).encode() + b"\n" if dialect.is_lines else event(value)


def models(**card: object) -> Callable[[Engine], bytes]:
    """The list of the one model."""
    return lambda _: json.dumps({"object": "list", "data": [{"id": "m", "object": "model", **card}]}).encode()


def fixed(value: Any) -> Callable[[Engine], bytes]:
    """The same answer always."""
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return lambda _: data


def chunk(text: str = "", *, reason: str | None = None, **more: Any) -> dict[str, Any]:
    """An event of a chat; `more` goes beside the choices, `choice` into the choice."""
    choice = {"index": 0, "delta": {"content": text} if text else {}, "finish_reason": reason, **more.pop("choice", {})}
    return {"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": [choice], **more}


def usage(answer: Answer, tokens: int | None = None, **more: Any) -> dict[str, Any]:
    """Usage after so many tokens."""
    count = answer.tokens if tokens is None else tokens
    return {"prompt_tokens": PROMPT_TOKENS, "completion_tokens": count, "total_tokens": PROMPT_TOKENS + count, **more}


def by_step(asked: Asked, answer: Answer, **more: Any) -> Iterator[dict[str, Any]]:
    """Role, an event a step with its running usage, the end, and the usage alone."""
    yield chunk(choice={"delta": {"role": "assistant"}})
    for step in answer.steps:
        running = {"usage": usage(answer, step.first + len(step.texts))} if _wants_running(asked) else {}
        yield chunk("".join(step.texts), **running)
    yield chunk(reason="length")
    yield {"id": "c", "choices": [], "usage": usage(answer), **more}


def by_token(asked: Asked, answer: Answer) -> Iterator[dict[str, Any]]:
    """An event a token, the end, and the usage alone."""
    for step in answer.steps:
        for text in step.texts:
            yield chunk(text)
    yield chunk(reason="length")
    yield {"id": "c", "choices": [], "usage": usage(answer)}


def _wants_running(asked: Asked) -> bool:
    return bool(asked.json.get("stream_options", {}).get("continuous_usage_stats"))
