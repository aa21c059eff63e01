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
from auditor.core.account import final_attempts
from auditor.core.evidence import assemble, read_response
from auditor.core.folder import Recount
from auditor.core.plan import Plan
from auditor.core.reading import read_stream
from auditor.core.wire import read_wire
from auditor.errors import UsageError


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """The model's own tokenizer."""

    name: str
    sha256: str | None
    """Of its file; None for one from the hub."""
    count: Callable[[str], int]
    """The number of tokens of a text, special ones left out."""


async def recount(
    folder: Path, plan: Plan, targets: Mapping[str, Target], tokenizer: Tokenizer | None
) -> Recount | None:
    """Tokenise each measured answer again, whole; None where nothing can tokenise.

    Without a tokenizer the server's own is asked, which is no independent witness.
    """
    texts = _texts(folder, plan, targets)
    if tokenizer is not None:
        counts = {exchange: tokenizer.count(text) for exchange, (_, text) in texts.items()}
        return Recount(tokenizer=tokenizer.name, tokenizer_sha256=tokenizer.sha256, is_independent=True, counts=counts)
    found: dict[int, int] = {}
    for exchange, (server, text) in texts.items():
        count = await _ask_server(targets[server], text)
        if count is None:
            return None
        found[exchange] = count
    return Recount(tokenizer="the server's /tokenize", is_independent=False, counts=found) if found else None


def _texts(folder: Path, plan: Plan, targets: Mapping[str, Target]) -> dict[int, tuple[str, str]]:
    """Server key and text of every measured answer."""
    log = read_wire(folder / names.WIRE)
    servers = {cell.key: cell.server for cell in plan.cells}
    texts = {}
    for exchange in final_attempts(assemble(log.records, log.damage)):
        server = servers.get(str(exchange.meta.get("cell")))
        if server is None:
            continue
        adapter, shape = targets[server].adapter, targets[server].route.shape
        response = read_response(exchange)
        stream = read_stream(response, adapter.details, event_is_step=adapter.event_is_step, shape=shape)
        if stream.text:
            texts[exchange.id] = (server, stream.text)
    return texts


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
    """The tokenizer of a folder, of a `tokenizer.json`, or of a name on the hub.

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
