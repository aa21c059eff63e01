"""Ollama: what it says of itself. GGUF models run in a llama.cpp server behind it, whose draft counts it drops."""

from collections.abc import Mapping
from typing import Any

import orjson

from auditor.core.adapter import Adapter, Details, Question, Route, Shape, absent, exact
from auditor.core.facts import Fact, FactName, unknown
from auditor.core.observed import dig, figures, launch_facts, told
from auditor.core.probing import Answers

_VERSION, _TAGS, _LOADED = "/api/version", "/api/tags", "/api/ps"
_DROPPED = "Ollama drops the draft counts of the llama.cpp server behind it"


def recognise(answers: Answers) -> str | None:
    """By its version beside its own list of models."""
    if not isinstance(answers.object(_VERSION).get("version"), str):
        return None
    return f"GET {_VERSION}, GET {_TAGS}" if isinstance(answers.object(_TAGS).get("models"), list) else None


def facts(answers: Answers, launched: Mapping[str, Any]) -> dict[FactName, Fact]:
    """What the version and the only model tell; what the launch tells goes first."""
    found: dict[FactName, Fact] = {
        "version": told(answers.object(_VERSION).get("version"), f"GET {_VERSION}", answers.why_not(_VERSION)),
        "gpu": unknown("no endpoint of Ollama names it; its log does"),
    }
    hidden: tuple[FactName, ...] = ("speculation", "speculation_method", "draft_tokens", "acceptance_mode")
    found |= {name: unknown("no endpoint of Ollama tells it; the command of its llama.cpp does") for name in hidden}
    stored, no_model = _only(answers, _TAGS)
    loaded, not_loaded = _only(answers, _LOADED)
    found |= {
        "quantisation": told(
            dig(stored, "details", "quantization_level"), f"GET {_TAGS} details.quantization_level", no_model
        ),
        "context_length": told(dig(loaded, "context_length"), f"GET {_LOADED} context_length", not_loaded),
    }
    return found | launch_facts(launched)


def _only(answers: Answers, path: str) -> tuple[Any, str]:
    """The only model of a list, and why nothing is known where there is not one."""
    models = answers.object(path).get("models")
    if not isinstance(models, list):
        return None, answers.why_not(path)
    return (models[0] if len(models) == 1 else None), f"GET {path} lists {len(models)} models, or does not tell it"


def chat_body(question: Question) -> dict[str, Any]:
    """The body of `/api/chat`."""
    options: dict[str, Any] = {"num_predict": question.max_tokens, "temperature": question.temperature}
    if question.top_p is not None:
        options["top_p"] = question.top_p
    messages = [message.model_dump() for message in question.messages]
    return {"model": question.model, "messages": messages, "stream": True, "options": options}


def chat_shape() -> Shape:
    """An object of `/api/chat`: a piece of the message, and with the last the counts."""
    return _shaped


def _shaped(event: dict[str, Any]) -> dict[str, Any]:
    message = event.get("message")
    if not isinstance(message, dict) and "done" not in event:
        return event
    delta = {"content": dig(message, "content"), "reasoning": dig(message, "thinking")}
    calls = [_call(call) for call in dig(message, "tool_calls") or [] if isinstance(call, dict)]
    is_done = event.get("done") is True
    choice = {"index": 0, "delta": {**delta, "tool_calls": calls}}
    choice["finish_reason"] = (event.get("done_reason") or "stop") if is_done else None
    usage = {"completion_tokens": event.get("eval_count"), "prompt_tokens": event.get("prompt_eval_count")}
    return {**event, "choices": [choice], **({"usage": usage} if is_done else {})}


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """A call of a tool; its arguments come as an object."""
    arguments = dig(call, "function", "arguments")
    text = arguments if isinstance(arguments, str) else orjson.dumps(arguments).decode() if arguments else ""
    return {"function": {"name": dig(call, "function", "name"), "arguments": text}}


def details(event: Mapping[str, Any]) -> Details | None:
    """The durations of the last object of `/api/chat`, in ns."""
    reported = figures({name: event.get(name) for name in _REPORTED})
    return Details(reported={f"{name}_ns": value for name, value in reported.items()}) if reported else None


_REPORTED = ("total_duration", "load_duration", "prompt_eval_duration", "eval_duration")


ADAPTER = Adapter(
    name="ollama",
    title="Ollama",
    paths=(_VERSION, _TAGS, _LOADED),
    recognise=recognise,
    facts=facts,
    routes={"native": Route("/api/chat", chat_body, shape=chat_shape, ends_with_done=False)},
    details=details,
    notes={
        "delivered": exact("final usage; eval_count of /api/chat (--api native)"),
        "token_ids": absent("not in the stream"),
        "steps": absent("not counted"),
        "verify_steps": absent(_DROPPED),
        "drafted": absent(_DROPPED),
        "accepted": absent(_DROPPED),
        "rejected": absent(f"{_DROPPED}; never estimated"),
        "speculation": absent("no endpoint tells it; the log shows the command of its llama.cpp (`audit log-read`)"),
        "gpu": absent("no endpoint names it; the log does"),
        "acceptance_mode": absent("no endpoint tells it"),
    },
    source="api/types.go, llm/llama_server.go, openai/openai.go @fb3076099687 (v0.33.0-rc2)",
)
"""Ollama."""
