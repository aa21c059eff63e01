"""The plan: everything that will be sent and how it will be judged, fixed and hashed before the first request."""

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from auditor.core.explain.discrimination import Discrimination
from auditor.core.facts import Api
from auditor.core.plan.prompts import Message, Prompt, with_nonce
from auditor.core.record import Record, canonical_json

SUSTAINED_TOKENS = 1000
"""Delivered tokens per stream from which a rate counts as sustained."""
MAX_HALF_WIDTH = 0.03
"""Relative half-width of an interval above which a number matches nothing."""
CONFIDENCE = 0.95

Role = Literal["warmup", "subject", "reference", "extra"]


class Cell(Record):
    """One load on one server, repeated."""

    key: str
    server: str
    """Key of the server."""
    role: Role
    """`subject` is judged; `reference` is the same load without speculation; `extra` is counted and shown."""
    streams: int
    """Requests in flight, closed loop."""
    repeats: int
    requests: int
    """Requests per repeat."""
    prompts: tuple[str, ...]
    """Prompt ids, taken in turn."""
    max_tokens: int
    """Requested length of each answer."""
    rate: float | None = None
    """Requests per second, open loop: each is sent when it is due, whatever became of those before. None is closed
    loop: as many in flight as there are streams."""
    arrivals: Literal["poisson", "constant"] | None = None
    """How the requests of an open loop are spaced."""
    text: Literal["plain", "compared"] | None = None
    """For a comparison of texts; of a plain server's answers the log-probabilities are asked for as well."""


class StopRule(Record):
    """When a request, or the run, is given up."""

    first_token_ns: int = 600 * 10**9
    stall_ns: int = 120 * 10**9
    """Silence within a stream."""
    total_ns: int | None = None
    """The whole run; None is no limit."""


class Tolerance(Record):
    """How numbers are compared: by the interval of the repeats, never by a fixed share."""

    confidence: float = CONFIDENCE
    max_half_width: float = MAX_HALF_WIDTH
    sustained_tokens: int = SUSTAINED_TOKENS


class Plan(Record):
    """`plan.json`."""

    plan_version: Literal[1] = 1
    tool_version: str
    claim_digest: str
    """SHA-256 of the claim file."""
    case: str
    """Id of the measurement of the claim that is audited."""
    seed: int
    api: Api
    temperature: float
    top_p: float | None = None
    ignore_eos: bool
    """Whether answers are forced to their full length where the server can."""
    cells: tuple[Cell, ...]
    prompts: tuple[Prompt, ...]
    stop: StopRule = StopRule()
    tolerance: Tolerance = Tolerance()
    exclusions: tuple[str, ...] = (
        "warm-up requests are recorded and not counted",
        "an exchange that did not complete is shown and not counted in a rate",
    )
    quick: bool = False
    rehearsal: bool = False
    """Whether the server is the embedded one, which says nothing of the claim's hardware."""
    discriminates: Discrimination | None = None
    """The further measurement that an earlier run asks for; left out of the file where there is none."""
    canaries: str | None = None
    """SHA-256 of the questions with known answers; left out of the file where none are asked."""

    def to_json(self) -> bytes:
        """The canonical JSON; what a plan does not use is left out, so that earlier plans keep their digest."""
        document = self.model_dump(mode="json")
        for name in ("discriminates", "canaries"):
            if document[name] is None:
                del document[name]
        for cell in document["cells"]:
            for name in ("rate", "arrivals", "text"):
                if cell[name] is None:
                    del cell[name]
        return canonical_json(document)

    def cell(self, key: str) -> Cell:
        """The cell of that key; raises KeyError."""
        return next(cell for cell in self.cells if cell.key == key)

    @property
    def subject(self) -> Cell:
        """The cell on which the claim is judged."""
        return next(cell for cell in self.cells if cell.role == "subject")


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a round."""

    cell: str
    repeat: int
    index: int
    prompt: Prompt
    messages: tuple[Message, ...]
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Round:
    """One repeat of one cell: its requests are sent with `streams` in flight, between two scrapes."""

    cell: Cell
    repeat: int
    requests: tuple[Request, ...]


def schedule(plan: Plan) -> tuple[Round, ...]:
    """All rounds in the order of sending: warm-ups first, then the cells interleaved repeat by repeat.

    Interleaving spreads a drift of the machine over all cells alike; every other repeat runs backwards, so that no
    cell always comes after the same one.
    """
    warmups = [cell for cell in plan.cells if cell.role == "warmup"]
    measured = [cell for cell in plan.cells if cell.role != "warmup"]
    rounds = [_round(plan, cell, repeat) for cell in warmups for repeat in range(cell.repeats)]
    for repeat in range(max((cell.repeats for cell in measured), default=0)):
        order = measured[::-1] if repeat % 2 else measured
        rounds.extend(_round(plan, cell, repeat) for cell in order if repeat < cell.repeats)
    return tuple(rounds)


def _round(plan: Plan, cell: Cell, repeat: int) -> Round:
    by_id = {prompt.id: prompt for prompt in plan.prompts}
    requests = []
    for index in range(cell.requests):
        prompt = by_id[cell.prompts[index % len(cell.prompts)]]
        messages = with_nonce(prompt, nonce_for(plan, cell, repeat, index))
        requests.append(Request(cell.key, repeat, index, prompt, messages, cell.max_tokens))
    return Round(cell, repeat, tuple(requests))


def due_ns(plan: Plan, cell: Cell, repeat: int) -> tuple[int, ...]:
    """When each request of an open loop is due, ns from the start of the round; the same for the same seed."""
    assert cell.rate is not None
    mean_ns = 1e9 / cell.rate
    if cell.arrivals == "constant":
        return tuple(round(index * mean_ns) for index in range(cell.requests))
    rng = random.Random(f"{plan.seed}/{cell.key}/{repeat}/arrivals")
    gaps = (rng.expovariate(1) for _ in range(cell.requests))
    return tuple(round(at * mean_ns) for at in accumulate(gaps))


def nonce_for(plan: Plan, cell: Cell, repeat: int, index: int) -> str:
    """The nonce of a request. Cells of the same load share it, so that servers beside each other do equal work."""
    load = "warmup" if cell.role == "warmup" else "text" if cell.text else f"{cell.streams}x{cell.max_tokens}"
    return hashlib.sha256(f"{plan.seed}/{load}/{repeat}/{index}".encode()).hexdigest()[:12]


def request_count(plan: Plan) -> int:
    """Requests of the whole plan."""
    return sum(cell.requests * cell.repeats for cell in plan.cells)


def token_count(plan: Plan) -> int:
    """Requested tokens of the whole plan: the most that will be generated."""
    return sum(cell.requests * cell.repeats * cell.max_tokens for cell in plan.cells)


def kinds_of(plan: Plan, cell: Cell) -> Sequence[str]:
    """The prompt kinds of a cell, in order."""
    by_id = {prompt.id: prompt for prompt in plan.prompts}
    return tuple(dict.fromkeys(by_id[identifier].kind for identifier in cell.prompts))
