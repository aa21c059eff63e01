"""The suite of prompts: six kinds of work, because acceptance of drafts depends on the kind."""

import random
import re
from collections.abc import Sequence
from typing import Literal

from auditor.core.record import Record

Kind = Literal["code", "prose", "reasoning", "extraction", "multilingual", "repetition", "claim", "reviewer"]
Origin = Literal["suite", "claim", "reviewer"]

SUITE_KINDS: tuple[Kind, ...] = ("code", "prose", "reasoning", "extraction", "multilingual", "repetition")


class Message(Record):
    """One turn of a conversation."""

    role: Literal["system", "user", "assistant"]
    content: str


class Prompt(Record):
    """One prompt of the plan, before its nonce is put ahead."""

    id: str
    kind: Kind
    origin: Origin
    messages: tuple[Message, ...]


def _ask(identifier: str, kind: Kind, text: str) -> Prompt:
    return Prompt(id=identifier, kind=kind, origin="suite", messages=(Message(role="user", content=text),))


_ORDERS = "\n".join(
    f"Order {4100 + 7 * i}: {name} of {town} ordered {count} {thing} on {day} May for {price}.{cents:02} euro, "
    f"paid by {method}, shipped from hall {hall}."
    for i, (name, town, count, thing, day, price, cents, method, hall) in enumerate(
        [
            ("Adler", "Graz", 12, "ball bearings", 3, 84, 20, "card", "B"),
            ("Bennani", "Rabat", 3, "gear pumps", 4, 1290, 0, "transfer", "A"),
            ("Chowdhury", "Sylhet", 40, "hose clamps", 4, 36, 80, "card", "C"),
            ("Dufour", "Namur", 7, "pressure gauges", 6, 311, 50, "invoice", "A"),
            ("Eriksen", "Bergen", 2, "heat exchangers", 9, 2750, 0, "transfer", "D"),
            ("Farkas", "Pécs", 25, "drive belts", 10, 212, 75, "card", "B"),
            ("Gomes", "Braga", 18, "relay sockets", 11, 97, 20, "invoice", "C"),
            ("Horvat", "Zadar", 5, "stepper motors", 12, 640, 0, "card", "B"),
            ("Ivanova", "Varna", 9, "limit switches", 16, 143, 10, "transfer", "D"),
            ("Jansen", "Breda", 60, "cable glands", 17, 75, 60, "card", "C"),
            ("Kim", "Daegu", 1, "laser level", 18, 489, 99, "card", "A"),
            ("Lefèvre", "Nantes", 14, "valve seats", 20, 166, 40, "invoice", "B"),
        ]
    )
)

SUITE: tuple[Prompt, ...] = (
    _ask(
        "code-1",
        "code",
        "Write a complete Python module for a small library system: classes for books, members and loans, with type "
        "hints and docstrings, in-memory storage behind an interface, functions to lend, return, renew and search, "
        "all error cases, and a test for each function. Show the whole code, then explain every design choice.",
    ),
    _ask(
        "prose-1",
        "prose",
        "Write a long short story, of at least fifteen hundred words, about a lighthouse keeper who discovers that "
        "the charts of the coast have been altered. Give it five scenes, dialogue between three persons, and an "
        "ending that answers the first line.",
    ),
    _ask(
        "reasoning-1",
        "reasoning",
        "Four engineers must cross a bridge at night with one torch; they need 1, 3, 6 and 10 minutes, at most two "
        "walk together at the pace of the slower, and the torch must be carried. Find the fastest crossing. Prove "
        "that nothing is faster, by examining every strategy in turn, writing down each intermediate sum. Then solve "
        "it again for times of 2, 3, 5, 8 and 13 minutes in the same detail.",
    ),
    _ask(
        "extraction-1",
        "extraction",
        "Turn these orders into a JSON array. Give each object the fields order, customer, town, quantity, item, "
        "date (2026-05-DD), price_eur (a number), payment, hall. After the array, write a table of totals by hall "
        f"and by payment method and list every order above 200 euro with its reason.\n\n{_ORDERS}",
    ),
    _ask(
        "multilingual-1",
        "multilingual",
        "Explain how a sourdough starter works and how to bake a loaf with it, in four languages one after the "
        "other: first in German, then in Spanish, then in Japanese, then in Arabic. Write at least three paragraphs "
        "in each language and do not translate word by word.",
    ),
    _ask(
        "repetition-1",
        "repetition",
        "Write the multiplication tables from 1 to 20, one line per product in the form 'a times b is c', all lines "
        "in order, without leaving any out.",
    ),
)
"""Public: a claimant can tune for it. The reviewer's own prompts come with `--prompts`."""


def with_nonce(prompt: Prompt, nonce: str) -> tuple[Message, ...]:
    """The messages with a nonce ahead of everything, so that no cache of an earlier prompt helps."""
    first, *rest = prompt.messages
    return (Message(role=first.role, content=f"[{nonce}] {first.content}"), *rest)


_WORDS = (
    "house", "water", "light", "river", "stone", "garden", "window", "letter", "market", "summer", "winter",
    "morning", "paper", "table", "music", "animal", "picture", "street", "village", "mountain", "forest", "bridge",
    "island", "horse", "bread", "friend", "doctor", "teacher", "engine", "color", "number", "story", "family",
    "city", "country", "book", "school", "world", "night", "road", "tree", "field", "people", "child", "woman",
    "glass", "wood", "metal", "fire", "wind", "rain", "snow", "flower", "fruit", "grass", "wheel", "door", "wall",
    "floor", "kitchen",
)  # fmt: skip
"""One token each in the tokenizers of the day, so that filler is as long as it is meant to be."""
_PIECE = re.compile(r"[A-Za-z]{1,8}|\w|[^\w\s]")


def padding(tokens: int, seed: int) -> str:
    """Filler of that many tokens, a token a word and one a full stop; the same per seed."""
    rng = random.Random(seed)
    sentences: list[str] = []
    while tokens > 1:
        length = min(rng.randint(7, 13), tokens - 1)
        sentences.append(" ".join(rng.choice(_WORDS) for _ in range(length)).capitalize() + ".")
        tokens -= length + 1
    return " ".join(sentences)


def about_tokens(text: str) -> int:
    """About how many tokens a text is: a short word, a digit, a sign or a character beyond ASCII is one each."""
    return len(_PIECE.findall(text))


def padded(prompt: Prompt, tokens: int, seed: int) -> Prompt:
    """The prompt behind enough filler to be about `tokens` long; unchanged if it is that long already."""
    if sum(about_tokens(message.content) for message in prompt.messages) >= tokens:
        return prompt
    first, *rest = prompt.messages
    before, after = "Background, to be ignored:\n", f"\n\nTask:\n{first.content}"
    own = about_tokens(before + after) + sum(about_tokens(message.content) for message in rest)
    content = before + padding(max(0, tokens - own), seed) + after
    return prompt.model_copy(update={"messages": (Message(role=first.role, content=content), *rest)})


def pick(kinds: Sequence[Kind] = SUITE_KINDS) -> tuple[Prompt, ...]:
    """The prompts of the suite of these kinds, in order."""
    return tuple(prompt for kind in kinds for prompt in SUITE if prompt.kind == kind)
