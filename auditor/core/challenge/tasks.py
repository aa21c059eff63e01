"""Prompts that nobody has seen: tasks drawn by a nonce, each asking for a code that no earlier answer can hold."""

import random
from collections.abc import Callable, Sequence

from auditor.core.plan.prompts import Kind, Message, Prompt
from auditor.core.record import sha256

_THINGS = ("library", "tram network", "seed bank", "ferry line", "print shop", "observatory", "bakery", "archive",
           "choir", "quarry", "greenhouse", "telephone exchange", "vineyard", "harbour", "museum", "dairy")  # fmt: skip
_PEOPLE = ("glazier", "cartographer", "beekeeper", "tuner of pianos", "signalman", "translator", "bookbinder",
           "well digger", "lens grinder", "postmistress", "clockmaker", "botanist", "typesetter")  # fmt: skip
_FINDS = ("a ledger in two hands", "a locked drawer", "a map without a north", "a letter addressed to nobody",
          "a bell that does not ring", "a second key", "a photograph of tomorrow", "a missing page")  # fmt: skip
_NAMES = ("Adler", "Bennani", "Chowdhury", "Dufour", "Eriksen", "Farkas", "Gomes", "Horvat", "Ivanova", "Jansen",
          "Kim", "Lefèvre", "Moreau", "Novak", "Okafor", "Petrov", "Quispe", "Rossi", "Sato", "Tamm")  # fmt: skip
_GOODS = ("ball bearings", "gear pumps", "hose clamps", "pressure gauges", "drive belts", "relay sockets",
          "stepper motors", "limit switches", "cable glands", "valve seats", "fuse holders", "shaft seals")  # fmt: skip


def code_of(nonce: str, index: int) -> str:
    """The code that the answer to a prompt of a challenge is asked to begin with: eight hexadecimal digits."""
    return sha256(f"{nonce}/{index}".encode())[:8]


def with_code(text: str, nonce: str, index: int) -> str:
    """The text of a prompt, asking for its code ahead of the answer."""
    return f'{text}\n\nBegin your answer with the line "Code {code_of(nonce, index)}".'


def coded(prompts: Sequence[Prompt], nonce: str) -> tuple[Prompt, ...]:
    """Prompts that each ask for their code, in the last turn."""
    found = []
    for index, prompt in enumerate(prompts):
        *before, last = prompt.messages
        asked = Message(role=last.role, content=with_code(last.content, nonce, index))
        found.append(prompt.model_copy(update={"messages": (*before, asked)}))
    return tuple(found)


def drawn(nonce: str) -> tuple[Prompt, ...]:
    """One task of each kind, with names and figures drawn by the nonce."""
    rng = random.Random(nonce)
    tasks: list[tuple[Kind, Callable[[random.Random], str]]] = [
        ("code", _code),
        ("prose", _prose),
        ("reasoning", _reasoning),
        ("extraction", _extraction),
        ("repetition", _copying),
    ]
    return tuple(
        Prompt(id=f"drawn-{kind}", kind=kind, origin="reviewer", messages=(Message(role="user", content=task(rng)),))
        for kind, task in tasks
    )


def _code(rng: random.Random) -> str:
    thing, limit, days = rng.choice(_THINGS), rng.randint(3, 40), rng.randint(2, 90)
    return (
        f"Write a complete Python module for a {thing}: classes for its customers, its stock and its bookings, with "
        f"type hints and docstrings. Nobody may hold more than {limit} bookings, and one lapses after {days} days. "
        "Write functions to book, cancel, prolong and search, handle every error, and test each function. Show the "
        "whole code, then explain every design choice."
    )


def _prose(rng: random.Random) -> str:
    who, what, where = rng.choice(_PEOPLE), rng.choice(_FINDS), rng.choice(_THINGS)
    year = rng.randint(1860, 1990)
    return (
        f"Write a long story, of fifteen hundred words or more, about a {who} who finds {what} in a {where} in {year}. "
        "Give it five scenes, dialogue between three persons, and an ending that answers the first line."
    )


def _reasoning(rng: random.Random) -> str:
    first, second = (", ".join(map(str, sorted(rng.sample(range(1, 30), count)))) for count in (4, 5))
    return (
        f"Porters who need {first} minutes must carry one lamp across a bridge that holds two of them; a pair walks at "
        "the pace of the slower, and the lamp must be carried back. Find the fastest crossing and prove that none is "
        f"faster, writing down each intermediate sum. Then solve it again for {second} minutes in the same detail."
    )


def _extraction(rng: random.Random) -> str:
    orders = "\n".join(
        f"Order {rng.randint(1000, 9999)}: {name} ordered {rng.randint(1, 80)} {good} on {rng.randint(1, 30)} June for "
        f"{rng.randint(20, 3000)}.{rng.randint(0, 99):02} euro, shipped from hall {rng.choice('ABCD')}."
        for name, good in zip(rng.sample(_NAMES, 12), rng.sample(_GOODS, 12), strict=True)
    )
    return (
        "Turn these orders into a JSON array. Give each object the fields order, customer, quantity, item, date, "
        "price_eur (a number) and hall. After the array, write a table of totals by hall and list each order above 500 "
        f"euro with its reason.\n\n{orders}"
    )


def _copying(rng: random.Random) -> str:
    """Small models do not follow an instruction; they do copy, and this answer is made of what nobody could foresee."""
    codes = "\n".join(f"{rng.getrandbits(32):08x}" for _ in range(40))
    return (
        f"Write this list again, each line as it is, and then a second time from the last line to the first:\n\n{codes}"
    )
