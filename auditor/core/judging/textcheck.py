"""Greedy text beside that of a server without speculation: where it diverges, and whether that is more than noise.

Speculation that accepts what the model would say gives its text, but for near ties that another batch shape decides
otherwise. How near is measured on the plain server: the same requests one at a time, and eight at a time.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from auditor.core.counting.evidence import read_response
from auditor.core.counting.exchange import Counted
from auditor.core.wire.chunks import ChunkError, read_chunk

PLAIN, BATCHED, COMPARED = "text-plain", "text-plain-8", "text-subject"
"""Keys of the cells."""
REQUESTS = 8
TOKENS = 64
"""Of each answer."""
FIELDS: Mapping[str, object] = {"logprobs": True, "top_logprobs": 2}
"""Asked of the plain server in the chat API."""
LEAST_NOISE = 0.1
"""Nats below which no gap counts: sixteen-bit arithmetic moves log-probabilities by hundredths."""


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a plain answer."""

    data: bytes
    gap: float
    """Log-probability of the best token less that of the second, nats."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where an answer leaves that of the plain server."""

    index: int
    """Of the request."""
    position: int
    """Of the token, from 0."""
    gap: float
    """By how much the plain model prefers its own token, nats."""


@dataclass(frozen=True, slots=True)
class TextCheck:
    """All answers compared."""

    answers: int
    divergences: tuple[Divergence, ...]
    noise: float
    """Largest change of a gap, or largest gap overturned, between one stream and eight on the plain server, nats."""

    @property
    def counting(self) -> tuple[Divergence, ...]:
        """Divergences that are more than noise."""
        return tuple(one for one in self.divergences if one.gap > max(self.noise, LEAST_NOISE))


def check_text(counted: Sequence[Counted]) -> TextCheck | None:
    """Compare the cells of a text check; None where no answer has its log-probabilities and its pairs."""
    cells: dict[str, dict[int, Counted]] = {PLAIN: {}, BATCHED: {}, COMPARED: {}}
    for item in counted:
        if item.line.cell in cells and item.line.status == "complete":
            cells[item.line.cell][item.line.index] = item
    plain = {index: tokens_of(item) for index, item in cells[PLAIN].items()}
    batched = {index: tokens_of(item) for index, item in cells[BATCHED].items()}
    noises = [noise_of(plain[index], batched[index]) for index in plain if plain[index] and batched.get(index)]
    compared = {index: item.stream.text.encode() for index, item in cells[COMPARED].items() if plain.get(index)}
    if not noises or not compared:
        return None
    found = []
    for index, text in sorted(compared.items()):
        if (position := diverges_at(plain[index], text)) is not None:
            found.append(Divergence(index, position, plain[index][position].gap))
    return TextCheck(len(compared), tuple(found), max(noises))


def diverges_at(plain: Sequence[Token], text: bytes) -> int | None:
    """The first token that the text does not follow; None where it follows to the end of either."""
    at = 0
    for position, token in enumerate(plain):
        end = at + len(token.data)
        if text[at:end] != token.data[: len(text) - at]:
            return position
        if end >= len(text):
            return None
        at = end
    return None


def noise_of(one: Sequence[Token], other: Sequence[Token]) -> float:
    """How far the gaps of the same tokens moved, and the gap at which the texts left each other."""
    noise = 0.0
    for mine, theirs in zip(one, other, strict=False):
        if mine.data != theirs.data:
            return max(noise, mine.gap, theirs.gap)
        noise = max(noise, abs(mine.gap - theirs.gap))
    return noise


def tokens_of(item: Counted) -> tuple[Token, ...]:
    """The tokens of an answer with their gaps; empty where some have none."""
    tokens: list[Token] = []
    for arrival in read_response(item.exchange).arrivals:
        try:
            raw = read_chunk(arrival.event.data).raw
        except ChunkError:
            continue
        for entry in _entries(raw):
            token = _token(entry)
            if token is None:
                return ()
            tokens.append(token)
    return tuple(tokens)


def _entries(raw: Mapping[str, Any]) -> Iterator[Any]:
    choices = raw.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
        content = logprobs.get("content") if isinstance(logprobs, dict) else None
        yield from content if isinstance(content, list) else ()


def _token(entry: Any) -> Token | None:
    """None for an entry without two alternatives."""
    top = entry.get("top_logprobs") if isinstance(entry, dict) else None
    found = [one.get("logprob") for one in top if isinstance(one, dict)] if isinstance(top, list) else []
    values = sorted((float(value) for value in found if isinstance(value, int | float)), reverse=True)
    word, data = (entry.get("token"), entry.get("bytes")) if isinstance(entry, dict) else (None, None)
    if len(values) < 2 or not isinstance(word, str):
        return None
    is_bytes = isinstance(data, list) and all(isinstance(byte, int) and 0 <= byte < 256 for byte in data)
    return Token(bytes(data) if is_bytes and data else word.encode(), values[0] - values[1])
