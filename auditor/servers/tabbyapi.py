"""TabbyAPI (ExLlamaV3): what it says of itself. Drafts are counted in its log alone."""

from collections.abc import Mapping
from typing import Any

from auditor.core.adapter import Adapter, Details, Tokenize, absent, exact
from auditor.core.facts import Fact, FactName, known, unknown
from auditor.core.observed import dig, figures, launch_facts, resolved, told
from auditor.core.probing import Answers

_MODEL = "/v1/model"


def recognise(answers: Answers) -> str | None:
    """By the owner of its models."""
    cards = [*answers.model_cards(), answers.object(_MODEL)]
    return "GET /v1/models owned_by tabbyAPI" if any(card.get("owned_by") == "tabbyAPI" for card in cards) else None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What the card of the loaded model tells; what the launch tells goes first."""
    parameters, nothing = dig(answers.object(_MODEL), "parameters"), answers.why_not(_MODEL)
    source = f"GET {_MODEL} parameters"
    found: dict[FactName, Fact] = {
        "context_length": told(dig(parameters, "max_seq_len"), f"{source}.max_seq_len", nothing),
        "kv_cache_dtype": resolved(dig(parameters, "cache_mode"), f"{source}.cache_mode", nothing),
        "streams_max": told(dig(parameters, "max_batch_size"), f"{source}.max_batch_size", nothing),
        "draft_tokens": unknown("no endpoint of TabbyAPI tells it"),
        "gpu": unknown("no endpoint of TabbyAPI names it"),
    }
    if isinstance(dig(parameters, "draft"), dict):
        found |= {
            "speculation": known(True, f"{source}.draft"),
            "speculation_method": known("draft model", f"{source}.draft"),
        }
    else:
        why = "no draft model is listed, and drafts by MTP or n-grams would not be" if parameters else nothing
        found |= {"speculation": unknown(why), "speculation_method": unknown(why)}
    return found | launch_facts(launched)


def details(event: Mapping[str, Any]) -> Details | None:
    """The times and rates beside the usage; a rate that could not be made is a word."""
    usage = event.get("usage")
    reported = figures({name: dig(usage, name) for name in _REPORTED})
    return Details(reported=reported) if reported else None


_REPORTED = (
    "prompt_time",
    "prompt_tokens_per_sec",
    "completion_time",
    "completion_tokens_per_sec",
    "total_time",
)


def token_body(model: str, text: str) -> dict[str, Any]:
    """The body of `/v1/token/encode`."""
    return {"text": text, "add_bos_token": False, "encode_special_tokens": True}


ADAPTER = Adapter(
    name="tabbyapi",
    title="TabbyAPI",
    paths=(_MODEL,),
    recognise=recognise,
    facts=facts,
    length_fields={"ban_eos_token": True},
    details=details,
    tokenize=Tokenize("/v1/token/encode", token_body),
    notes={
        "delivered": exact("final usage"),
        "token_ids": absent("not in the stream"),
        "steps": absent("not counted"),
        "verify_steps": absent("not counted"),
        "drafted": absent("in no answer; the log line `Draft: a / d tokens accepted` has it (`audit log-read`)"),
        "accepted": absent("in no answer; in the log line alone"),
        "rejected": absent("in no answer; the log line's d less a"),
        "speculation": exact("a draft model, in the card of the loaded model; MTP and n-grams do not show"),
        "gpu": absent("no endpoint names it"),
        "acceptance_mode": absent("no endpoint tells it"),
    },
    source="common/gen_logging.py, endpoints/OAI/types @e632af41 (2026-08-13)",
)
"""TabbyAPI."""
