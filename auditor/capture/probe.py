"""Asks a server what it is: GETs only, one after the other, nothing measured.

Answers are kept in memory and never written down whole: some servers answer with their environment and keys. So the
client must not be one that logs what it reads.
"""

import asyncio
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import httpx

from auditor.capture.reach import unreachable
from auditor.core.adapter import Adapter
from auditor.core.address import base_url as normalised
from auditor.core.address import public_url
from auditor.core.facts import Fact, FactName, ServerFacts, known
from auditor.core.observed import complete
from auditor.core.probing import Answer, Answers
from auditor.errors import ServerError, UsageError

ASK_TIMEOUT_S = 10.0
"""How long one answer may take."""
CONNECT_TIMEOUT_S = 5.0
BODY_LIMIT_BYTES = 4 << 20
"""What is kept of one answer."""
MODELS = "/v1/models"
METRICS = "/metrics"
GENERIC = "generic"


async def ask(client: httpx.AsyncClient, base_url: str, paths: Iterable[str]) -> Answers:
    """GET each path; every HTTP status is an answer, and so is none in time.

    Raises ServerError when the server cannot be reached at all.
    """
    answers = Answers()
    for path in paths:
        answers = answers.with_(await _ask_one(client, base_url, path))
    return answers


async def _ask_one(client: httpx.AsyncClient, base_url: str, path: str) -> Answer:
    body = bytearray()
    status, error = None, None
    url, limits = normalised(base_url) + path, httpx.Timeout(ASK_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    try:
        async with asyncio.timeout(ASK_TIMEOUT_S), client.stream("GET", url, timeout=limits) as response:
            status = response.status_code
            async for piece in response.aiter_bytes():
                body += piece
                if len(body) > BODY_LIMIT_BYTES:
                    error = f"longer than {BODY_LIMIT_BYTES >> 20} MiB, cut"
                    break
    except (TimeoutError, httpx.ReadTimeout):
        error = f"no answer within {ASK_TIMEOUT_S:g} s"
    except httpx.DecodingError:
        error = "its compression cannot be read"
    except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol) as failure:
        raise unreachable(failure, public_url(base_url)) from None
    except (httpx.InvalidURL, UnicodeError):
        raise UsageError("not a server address", where=public_url(base_url), remedy="check the host") from None
    except httpx.TransportError as failure:
        error = str(failure) or type(failure).__name__
    return Answer(path=path, status=status, body=bytes(body[:BODY_LIMIT_BYTES]), error=error)


async def probe(
    client: httpx.AsyncClient,
    *,
    base_url: str,
    key: str,
    adapters: Mapping[str, Adapter],
    launched: Mapping[str, Any] | None = None,
    model: str | None = None,
    kind: str | None = None,
) -> tuple[ServerFacts, Answers]:
    """What the server is and serves, with a reason for whatever it does not tell.

    `key` names the server within the run, `launched` is what is known because this tool started it, `model` the name
    to ask for, `kind` the adapter to use without looking. Raises ServerError when it cannot be reached or refuses,
    UsageError when `kind` or `model` do not fit it.
    """
    where = public_url(base_url)
    if kind is not None and kind not in adapters:
        raise UsageError(f"no adapter for {kind}", remedy=f"give one of: {', '.join(adapters)}")
    answers = await ask(client, base_url, [MODELS])
    if not (model is not None and answers[MODELS].status == 500):  # `transformers serve` without a cache of models
        _refuse(answers[MODELS], where)
    adapter, reason, answers = await _find_kind(client, base_url, adapters, kind, answers)
    answers = await _ask_more(client, base_url, adapter, answers)
    name = pick_model(answers, model, where, is_strict=adapter.lists_models)
    facts: dict[FactName, Fact] = {**adapter.facts(answers, launched or {})}
    facts["model"] = known(name, f"GET {MODELS}" if answers.model_cards() else "given")
    metrics_path = _metrics_path(adapter, answers)
    server = ServerFacts(
        key=key,
        url=where,
        kind=adapter.name,
        kind_reason=reason,
        model=name,
        request_fields=dict(adapter.request_fields),
        metrics=metrics_path is not None,
        metrics_path=metrics_path,
        facts=complete(facts, f"{adapter.title} does not tell it"),
        embedded=launched is not None,
    )
    return server, answers


async def ask_again(client: httpx.AsyncClient, server: ServerFacts, adapter: Adapter) -> ServerFacts:
    """The facts once more, after a first request: llama.cpp tells its speculation only then. What was known stays."""
    answers = await ask(client, server.url, [MODELS, *adapter.paths])
    later = adapter.facts(answers, {})
    open_questions = [name for name, fact in server.facts.items() if fact.value is None]
    learned = {name: later[name] for name in open_questions if name in later and later[name].value is not None}
    return server.model_copy(update={"facts": {**server.facts, **learned}})


async def _find_kind(
    client: httpx.AsyncClient, base_url: str, adapters: Mapping[str, Adapter], kind: str | None, answers: Answers
) -> tuple[Adapter, str, Answers]:
    """The first adapter that recognises the server, from as few answers as will do."""
    if kind is not None:
        adapter = adapters[kind]
        answers = await _ask_more(client, base_url, adapter, answers)
        return adapter, adapter.recognise(answers) or "given, and no sign of it", answers
    answers = answers.with_(*(await ask(client, base_url, [METRICS])).values())
    specific = [adapter for adapter in adapters.values() if adapter.name != GENERIC]
    for adapter in specific:
        if adapter.recognise(answers):
            answers = await _ask_more(client, base_url, adapter, answers)
            # What it tells of itself may show that it is a fork that an earlier adapter knows.
            adapter = next((one for one in specific if one.recognise(answers)), adapter)
            answers = await _ask_more(client, base_url, adapter, answers)
            return adapter, adapter.recognise(answers) or "", answers
    for adapter in specific:
        answers = await _ask_more(client, base_url, adapter, answers)
        if reason := adapter.recognise(answers):
            return adapter, reason, answers
    generic = adapters[GENERIC]
    return generic, generic.recognise(answers) or "no sign of any kind", answers


async def _ask_more(client: httpx.AsyncClient, base_url: str, adapter: Adapter, answers: Answers) -> Answers:
    """The paths of this adapter that were not asked yet."""
    paths = [path for path in (*adapter.paths, *adapter.metrics_paths) if path not in answers]
    return answers.with_(*(await ask(client, base_url, paths)).values())


def _metrics_path(adapter: Adapter, answers: Answers) -> str | None:
    """The first place where the adapter finds a counter."""
    for path in adapter.metrics_paths:
        text = answers.text(path)
        with suppress(ValueError):
            if text is not None and adapter.counters(text).has_any:
                return path
    return None


def pick_model(answers: Answers, model: str | None, where: str, *, is_strict: bool) -> str:
    """`model` where it is served, else the only one that is; raises UsageError with the list otherwise."""
    cards = answers.model_cards()
    names = [card["id"] for card in cards]
    if model is not None:
        aliases = [alias for card in cards for alias in card.get("aliases") or []]
        if is_strict and names and model not in (*names, *aliases):
            raise UsageError(f"model {model} is not served", where=where, remedy=f"give one of: {_listed(names)}")
        return model
    if not names:
        lacking = f"no list of models ({answers.why_not(MODELS)})"
        if not is_strict and answers.get(MODELS) is not None and answers[MODELS].status == 404:
            raise ServerError(
                f"this does not look like a server of a language model: {lacking}",
                where=where,
                remedy="check the address; if it is one, give --model and --kind",
            )
        raise UsageError(lacking, where=where, remedy="give the model's name with --model")
    bases = [card for card in cards if not card.get("parent")]
    roots = {card.get("root") or card["id"] for card in bases}
    if len(roots) != 1:
        raise UsageError(f"{len(names)} models are served", where=where, remedy=f"give --model: {_listed(names)}")
    name: str = bases[0]["id"]
    return name


def _listed(names: list[str]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")


def _refuse(answer: Answer, where: str) -> None:
    """Raises ServerError when the first answer says that there is no point in going on."""
    status = answer.status
    if status is None:
        raise ServerError(answer.why_not(), where=where, remedy="see whether it is up; check port and http or https")
    if status in (401, 403):
        raise ServerError(
            f"the server asks for a key (HTTP {status})", where=where, remedy="give --api-key or set AUDIT_API_KEY"
        )
    if 300 <= status < 400:
        raise ServerError(f"{answer.why_not()}, a redirect", where=where, remedy="give the address it leads to")
    if status == 429:
        raise ServerError("the server takes no more requests now (HTTP 429)", where=where, remedy="try again later")
    if status >= 500:
        remedy = "wait until it has loaded, or see its log" + (", or give --model" if status == 500 else "")
        raise ServerError(f"{answer.why_not()}{_words(answer)}", where=where, remedy=remedy)


def _words(answer: Answer) -> str:
    """What the server said with a failure, in one short line."""
    document = Answer(path=answer.path, status=200, body=answer.body).parsed()
    error = document.get("error") if isinstance(document, dict) else None
    message = error.get("message") if isinstance(error, dict) else error
    return f" ({' '.join(message.split())[:160]})" if isinstance(message, str) and message else ""
