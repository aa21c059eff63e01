"""Counts the delivered text again: with the model's own tokenizer from a folder or the hub, else with the server's."""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from auditor.capture.asking import Target
from auditor.capture.stream import Flight
from auditor.core import folder as names
from auditor.core.counting.account import answer_of, final_attempts, readers_of
from auditor.core.counting.evidence import assemble
from auditor.core.folder import Recount
from auditor.core.plan.plan import Plan
from auditor.core.wire.log import WireScan
from auditor.errors import UsageError


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """The model's own tokenizer."""

    name: str
    sha256: str | None
    """Of its file; None for one from the hub."""
    count: Callable[[str], int]
    """The number of tokens of a text, special ones left out."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A measured answer to tokenise again."""

    server: str
    """Key of the server."""
    pieces: tuple[str, ...]
    """Its text by event."""

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.pieces)


async def recount(
    folder: Path,
    plan: Plan,
    targets: Mapping[str, Target],
    tokenizer: Tokenizer | None,
    other: Tokenizer | None = None,
) -> Recount | None:
    """Tokenise each measured answer again; None where nothing can tokenise.

    Without a tokenizer the server's own is asked, for whole texts only, and is no independent witness. `other` is a
    tokenizer that is not the model's.
    """
    if tokenizer is None and all(target.adapter.tokenize is None for target in targets.values()):
        return None
    answers = _answers(folder, plan, targets)
    own = _own(answers, tokenizer) if tokenizer else await _servers(answers, targets)
    if own is None or other is None:
        return own
    counts = {exchange: other.count(answer.text) for exchange, answer in answers.items()}
    return own.model_copy(update={"other_tokenizer": other.name, "other_sha256": other.sha256, "other": counts})


def _own(answers: Mapping[int, Answer], tokenizer: Tokenizer) -> Recount:
    return Recount(
        tokenizer=tokenizer.name,
        tokenizer_sha256=tokenizer.sha256,
        is_independent=True,
        counts={exchange: tokenizer.count(answer.text) for exchange, answer in answers.items()},
        by_event={exchange: sum(map(tokenizer.count, answer.pieces)) for exchange, answer in answers.items()},
    )


async def _servers(answers: Mapping[int, Answer], targets: Mapping[str, Target]) -> Recount | None:
    found: dict[int, int] = {}
    for exchange, answer in answers.items():
        count = await _ask_server(targets[answer.server], answer.text)
        if count is None:
            return None
        found[exchange] = count
    return Recount(tokenizer="the server's /tokenize", is_independent=False, counts=found) if found else None


def _answers(folder: Path, plan: Plan, targets: Mapping[str, Target]) -> dict[int, Answer]:
    """Every measured answer that has text, by exchange."""
    adapters = {key: target.adapter for key, target in targets.items()}
    servers = {cell.key: cell.server for cell in plan.cells}
    found = {}
    for exchange in final_attempts(assemble(WireScan(folder / names.WIRE), None, readers_of(plan, adapters))):
        server = servers.get(str(exchange.meta.get("cell")))
        if server is None:
            continue
        _, stream = answer_of(exchange, adapters[server], targets[server].route)
        pieces = tuple(piece for d in stream.deliveries if (piece := d.reasoning + d.text + d.tool))
        if pieces:
            found[exchange.id] = Answer(server, pieces)
    return found


async def _ask_server(target: Target, text: str) -> int | None:
    """Tokens by the server's own tokenizer; None where it shows none."""
    tokenize = target.adapter.tokenize
    if tokenize is None:
        return None
    url, body = target.facts.url + tokenize.path, tokenize.body(target.facts.model, text)
    flight = Flight({"purpose": "recount"}, first_token_ns=30 * 10**9)
    try:
        response = await target.client.post(url, json=body, extensions={"flight": flight})
        value: Any = response.json() if response.status_code == 200 else None
    except (httpx.RequestError, ValueError):
        return None
    if not isinstance(value, dict):
        return None
    for name in ("count", "length"):
        if isinstance(value.get(name), int):
            return int(value[name])
    tokens = value.get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def load_tokenizer(name: str) -> Tokenizer:
    """The tokenizer of a folder, of a `tokenizer.json`, an encoding of tiktoken, or a name on the hub.

    Raises UsageError where it cannot be loaded, as without a network.
    """
    path = Path(name)
    file = path / "tokenizer.json" if path.is_dir() else path
    try:
        if file.is_file():
            from tokenizers import Tokenizer as OfFile

            one = OfFile.from_file(str(file))
            digest = hashlib.sha256(file.read_bytes()).hexdigest()
            return Tokenizer(path.name, digest, lambda text: len(one.encode(text, add_special_tokens=False).ids))
        import tiktoken

        if name in tiktoken.list_encoding_names():
            encoding = tiktoken.get_encoding(name)
            return Tokenizer(name, None, lambda text: len(encoding.encode_ordinary(text)))
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        from transformers import AutoTokenizer

        other = AutoTokenizer.from_pretrained(name)
    except Exception as error:
        words = " ".join(str(error).split())[:160]
        raise UsageError(
            f"the tokenizer cannot be loaded ({words})",
            where=name,
            remedy="give a folder with tokenizer.json, or a name that the hub knows and the network reaches",
        ) from error
    return Tokenizer(path.name, None, lambda text: len(other.encode(text, add_special_tokens=False)))
