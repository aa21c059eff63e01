"""llama.cpp's own server (`llama-server`, xllamacpp): what it says of itself.

`/props` says `speculative.types: none` even on a server that speculates, so it is not asked that; `/slots` is right
but names the method only after a request, and nothing names the draft width before the first draft was accepted.
"""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, Details, Route, Tokenize, absent, exact, nominal
from auditor.core.counting.counters import Counters, read_counters
from auditor.core.facts import Fact, FactName, known, unknown
from auditor.core.observed import dig, figures, launch_facts, public_path, told, whole
from auditor.core.probing import Answers
from auditor.core.wire.prometheus import Sample, samples
from auditor.servers.llamacpp.completion import completion_body, completion_shape, seen

_NOT_TOLD = "llama.cpp does not tell it"
_SERIES = "llamacpp:"
_DRAFTS = "llamacpp:spec_decode_num_drafts_total"
_POSITIONS = "llamacpp:spec_decode_num_accepted_tokens_per_pos_total"


def recognise(answers: Answers) -> str | None:
    """By the owner of its models, its metric names, or the shape of `/props`."""
    props = answers.object("/props")
    signs = []
    if any(card.get("owned_by") == "llamacpp" for card in answers.model_cards()):
        signs.append("GET /v1/models owned_by llamacpp")
    if _SERIES in (answers.text("/metrics") or ""):
        signs.append(f"GET /metrics {_SERIES}")
    if "build_info" in props and "default_generation_settings" in props:
        signs.append("GET /props build_info")
    return ", ".join(signs) or None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What `/props`, `/slots`, `/v1/models` and `/metrics` tell; what the launch tells goes first."""
    props = answers.object("/props")
    no_props = answers.why_not("/props")
    metas = [card["meta"] for card in answers.model_cards() if isinstance(card.get("meta"), dict)]
    found: dict[FactName, Fact] = {
        "version": _version(props, launched, no_props),
        "model_path": told(public_path(props.get("model_path")), "GET /props model_path", no_props),
        "quantisation": _first(
            told(props.get("model_ftype"), "GET /props model_ftype", no_props),
            told(
                dig(metas[0] if metas else None, "ftype"),
                "GET /v1/models meta.ftype",
                "neither /props nor /v1/models tells it",
            ),
        ),
        "context_length": told(
            dig(props, "default_generation_settings", "n_ctx"), "GET /props default_generation_settings.n_ctx", no_props
        ),
        "streams_max": told(props.get("total_slots"), "GET /props total_slots", no_props),
        "prefix_cache": unknown("chosen by each request (cache_prompt)"),
        "gpu": unknown("no endpoint of llama.cpp names the processor"),
        "acceptance_mode": unknown("no endpoint tells whether acceptance is synthetic; the server's log does"),
    }
    found |= _speculation(answers)
    found |= launch_facts(launched)
    return found


def _version(props: Mapping[str, Any], launched: Mapping[str, Any], no_props: str) -> Fact:
    if "xllamacpp" in launched:
        return known(f"xllamacpp {launched['xllamacpp']}", "launch")
    build = props.get("build_info")
    if isinstance(build, str) and build.endswith("unknown"):
        return unknown(f"GET /props build_info is {build}: built without a number")
    return told(build, "GET /props build_info", no_props)


def _speculation(answers: Answers) -> dict[FactName, Fact]:
    """Whether, how and how wide; from the slots, then from the counters."""
    slots = [slot for slot in answers.array("/slots") if isinstance(slot, dict)]
    series = _series(answers)
    drafts = sum(sample.value for sample in series if sample.name == _DRAFTS)
    width = len({sample.labels.get("position") for sample in series if sample.name == _POSITIONS})
    flags = [slot["speculative"] for slot in slots if isinstance(slot.get("speculative"), bool)]
    if any(flags) or drafts:
        source = "GET /slots speculative" if any(flags) else f"GET /metrics {_DRAFTS}"
        return {
            "speculation": known(True, source),
            "speculation_method": _method(slots),
            "draft_tokens": known(width, f"GET /metrics positions of {_POSITIONS}")
            if width
            else unknown("llama.cpp tells it only after the first draft"),
        }
    if flags:
        off = "GET /slots speculative"
        return {
            "speculation": known(False, off),
            "speculation_method": known("none", off),
            "draft_tokens": known(0, off),
        }
    reason = f"{answers.why_not('/slots')}, and no draft was counted so far"
    return {name: unknown(reason) for name in ("speculation", "speculation_method", "draft_tokens")}


def _method(slots: list[dict[str, Any]]) -> Fact:
    for slot in slots:
        method = dig(slot, "params", "speculative.types")
        if isinstance(method, str) and method != "none":
            return told(method, "GET /slots params speculative.types", _NOT_TOLD)
    return unknown("llama.cpp tells it only after the first request")


def _series(answers: Answers) -> list[Sample]:
    try:
        return list(samples(answers.text("/metrics") or "", _SERIES))
    except ValueError:
        return []


def counters(text: str) -> Counters:
    """The counters; raises ValueError past a million, where six printed digits no longer give a difference."""
    found = read_counters(text, _COUNTERS, positions=_POSITIONS)
    if max(found.delivered or 0, found.prompt_tokens or 0, found.drafted or 0) >= _PRINTED_EXACTLY:
        raise ValueError("llama.cpp prints six digits and a counter is past a million; restart the server")
    return found


_PRINTED_EXACTLY = 1_000_000
_COUNTERS = {
    "delivered": ("llamacpp:tokens_predicted_total",),
    "prompt_tokens": ("llamacpp:prompt_tokens_total",),
    "cached_tokens": ("llamacpp:prompt_tokens_cached_total",),
    "drafted": ("llamacpp:spec_decode_num_draft_tokens_total",),
    "accepted": ("llamacpp:spec_decode_num_accepted_tokens_total",),
    "verify_steps": (_DRAFTS,),
    "decode_calls": ("llamacpp:n_decode_total",),
    "running": ("llamacpp:requests_processing",),
}


def details(event: Mapping[str, Any]) -> Details | None:
    """Timings of an event: all tokens of one step of the target share the same `predicted_ms`.

    `draft_n` and `draft_n_accepted` are absent until something was drafted.
    """
    timings = event.get("timings")
    verbose = event.get("__verbose")
    ids = event.get("tokens") if verbose is None else dig(verbose, "tokens")
    token_ids = tuple(ids) if isinstance(ids, list) and all(isinstance(i, int) for i in ids) else None
    if not isinstance(timings, dict):
        return None if token_ids is None else Details(token_ids=token_ids)
    numbers = figures(timings)
    return Details(
        step=numbers.get("predicted_ms"),
        tokens=whole(numbers.get("predicted_n")),
        token_ids=token_ids,
        drafted=whole(numbers.get("draft_n")),
        accepted=whole(numbers.get("draft_n_accepted")),
        reported={name: numbers[name] for name in _REPORTED if name in numbers},
    )


_REPORTED = ("prompt_ms", "prompt_per_second", "predicted_ms", "predicted_per_second", "cache_n")


def _first(*candidates: Fact) -> Fact:
    return next((fact for fact in candidates if fact.value is not None), candidates[-1])


_FIELDS = {"timings_per_token": True, "cache_prompt": False}
_LENGTH = {"ignore_eos": True}

ADAPTER = Adapter(
    name="llamacpp",
    title="llama.cpp",
    paths=("/props", "/slots", "/metrics"),
    recognise=recognise,
    facts=facts,
    seen=seen,
    request_fields=_FIELDS,
    length_fields=_LENGTH,
    routes={
        "native": Route(
            "/completion",
            completion_body,
            {**_FIELDS, "return_tokens": True},
            _LENGTH,
            shape=completion_shape,
            ends_with_done=False,
        )
    },
    metrics_paths=("/metrics",),
    counters=counters,
    details=details,
    tokenize=Tokenize(),
    notes={
        "delivered": exact("predicted_n of each event, with timings_per_token; llamacpp:tokens_predicted_total"),
        "token_ids": exact("one a token on /completion (--api native); not on the OpenAI routes"),
        "steps": exact("all tokens of one step carry the same predicted_ms, with timings_per_token"),
        "verify_steps": exact("steps in which draft_n grew; llamacpp:spec_decode_num_drafts_total in newer builds"),
        "drafted": exact("draft_n of each event; llamacpp:spec_decode_num_draft_tokens_total in newer builds"),
        "accepted": exact("draft_n_accepted of each event, before the cut at the end"),
        "rejected": exact("drafted less accepted"),
        "speculation": exact("/slots: that it speculates, and the method after the first request; k by the counters"),
        "gpu": absent("no endpoint names it; the log does"),
        "acceptance_mode": nominal("on the command line (--spec-synth-*) and in the log alone"),
    },
    switches="--metrics, --slots",
    source="tools/server/server-context.cpp, server-task.cpp @92366df30d4e (2026-07-08) and later text",
    seen_live="xllamacpp on a processor, with every run of the tests: plain, n-gram and draft model",
)
"""llama.cpp."""
