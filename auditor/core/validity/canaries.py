"""Canaries: short questions whose answers can be checked, asked before and after what is measured, and never counted.

Copying needs no knowledge: a model that reads its prompt does it, however small, and one whose attention, KV cache or
weights are broken does not. So copying that always fails tells of the server. Sums, JSON and a needle in a long text
are asked of the model as well, and small ones fail them honestly: a failure of some is a caveat. What was answered
before the load and is not after it tells of the server again, whatever the model is.
"""

import random
import re
from collections.abc import Sequence
from typing import Literal

import orjson

from auditor.core.plan.prompts import padding
from auditor.core.record import Record, canonical_json, sha256

CanaryKind = Literal["copy", "arithmetic", "json", "needle", "fingerprint"]
When = Literal["before", "after"]
"""One at a time before the load, and all at once after it."""
COPIED_WORDS = 3
"""Of five, that show that a list was read: a guess does not hold them."""
NEEDLE_TOKENS = 300
"""About, of the text in which the needle lies."""
FINGERPRINT_TOKENS = 8
TOP = 5
"""Tokens of which log-probabilities are asked for, at each position."""


class Canary(Record):
    """One question."""

    id: str
    kind: CanaryKind
    prompt: str
    expected: str = ""
    """What the answer must hold; for JSON, the object."""
    max_tokens: int = 32


class Position(Record):
    """One token of an answer."""

    token: str
    logprob: float | None
    """None where the server gave none, or no number."""
    top: dict[str, float] = {}
    """Log-probabilities of the likeliest tokens, nats."""


class CanaryAnswer(Record):
    """What came back."""

    canary: str
    when: When
    text: str = ""
    finish: str | None = None
    problem: str | None = None
    """Why there is no answer."""
    positions: tuple[Position, ...] = ()
    """Empty where the server gives no log-probabilities."""


class Canaries(Record):
    """`canaries.json`: all questions of a run and all answers."""

    canaries_version: Literal[1] = 1
    model: str
    asked: tuple[Canary, ...]
    answers: tuple[CanaryAnswer, ...]

    def passed(self, when: When | None = None, kinds: Sequence[CanaryKind] = ()) -> tuple[int, int]:
        """How many were answered rightly, of how many that were answered; of all times and kinds by default."""
        by_id = {canary.id: canary for canary in self.asked}
        found = [
            is_right(by_id[answer.canary], answer.text)
            for answer in self.answers
            if answer.problem is None
            and when in (None, answer.when)
            and by_id[answer.canary].kind != "fingerprint"
            and (not kinds or by_id[answer.canary].kind in kinds)
        ]
        return sum(found), len(found)


def make_canaries(seed: int) -> tuple[Canary, ...]:
    """The questions of a run, others for every seed, and the prompts of the fingerprint, which are always the same."""
    rng = random.Random(f"canaries/{seed}")
    found = [_copy(i, rng.sample(_WORDS, 5)) for i in range(3)]
    found += [_sum(i, rng.randint(11, 49), rng.randint(11, 49)) for i in range(2)]
    found.append(_json(rng.choice(_WORDS), rng.randint(3, 9)))
    found += [_needle(i, depth, rng) for i, depth in enumerate((0.2, 0.7))]
    found += [
        Canary(id=f"fingerprint-{i}", kind="fingerprint", prompt=one, max_tokens=FINGERPRINT_TOKENS)
        for i, one in enumerate(_FINGERPRINTS)
    ]
    return tuple(found)


def digest_of(canaries: Sequence[Canary]) -> str:
    """SHA-256 of questions, as a plan fixes them before they are asked."""
    return sha256(canonical_json([canary.model_dump(mode="json") for canary in canaries]))


def _copy(number: int, words: Sequence[str]) -> Canary:
    lines = "\n".join(f"- {word}" for word in words)
    prompt = f"Write this list again, exactly as it is:\n{lines}"
    return Canary(id=f"copy-{number}", kind="copy", prompt=prompt, expected=" ".join(words))


def _sum(number: int, one: int, other: int) -> Canary:
    prompt = f"What is {one} + {other}? Answer with the number only."
    return Canary(id=f"arithmetic-{number}", kind="arithmetic", prompt=prompt, expected=str(one + other), max_tokens=16)


def _json(item: str, count: int) -> Canary:
    wanted = orjson.dumps({"item": item, "count": count}).decode()
    prompt = (
        f'Answer with one JSON object and nothing else. "item" is "{item}", a string, and "count" is {count}, a number.'
    )
    return Canary(id="json", kind="json", prompt=prompt, expected=wanted)


def _needle(number: int, depth: float, rng: random.Random) -> Canary:
    code, text = str(rng.randint(10_000, 99_999)), padding(NEEDLE_TOKENS, rng.randrange(2**32))
    at = text.index(". ", round(depth * len(text))) + 2
    hay = f"{text[:at]}The secret code is {code}. {text[at:]}"
    prompt = f"{hay}\n\nThe text above says what the secret code is. The secret code is"
    return Canary(id=f"needle-{number}", kind="needle", prompt=prompt, expected=code, max_tokens=16)


_WORDS = (
    "garden", "bottle", "river", "window", "engine", "letter", "market", "bridge", "doctor", "flower", "island",
    "kitchen", "mountain", "paper", "school", "summer", "village", "horse", "glass", "wheel",
)  # fmt: skip
_FINGERPRINTS = (
    "Name the four seasons in order, beginning with spring.",
    "Complete the sentence: The old man sat down by the river and",
    "Write a Python function that adds two numbers.",
    "Was ist die Hauptstadt von Frankreich?",
    "Translate to French: Good morning, my friend.",
    "Write an SQL query that counts the rows of a table.",
    "Which is heavier, a kilogram of iron or a kilogram of feathers?",
    "Give three reasons to learn to swim.",
)
"""Eight, since a server that speculates may give the log-probabilities of first tokens alone (llama.cpp does)."""


def is_right(canary: Canary, text: str) -> bool:
    """Whether an answer holds what is expected."""
    if canary.kind == "json":
        return bool(_object_in(text) == orjson.loads(canary.expected))
    if canary.kind == "copy":
        lower = text.lower()
        return sum(word in lower for word in canary.expected.split()) >= COPIED_WORDS
    return canary.expected in re.findall(r"\d+", text.replace(",", ""))


def _object_in(text: str) -> object:
    """The first JSON object of a text; None without one."""
    begins, ends = text.find("{"), text.find("}")
    try:
        return orjson.loads(text[begins : ends + 1]) if 0 <= begins < ends else None
    except orjson.JSONDecodeError:
        return None


class Reference(Record):
    """`reference.json`: the canaries of another run, to tell whether it is the same model."""

    reference_version: Literal[1] = 1
    run: str
    """Id of that run."""
    canaries: Canaries
