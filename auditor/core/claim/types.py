"""The words and numbers that a claim may use, with their limits.

A limit is there to catch a slip of the pen or a hostile file, not to judge a claim.
"""

import re
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from auditor.core.record import Record

MAX_RATE = 1e9
"""Tokens per second that nobody will claim."""

SECRET = "secret"
"""Type of a validation error whose input must not be repeated to anyone."""

_ID = re.compile(r"[a-z0-9]+([._-][a-z0-9]+)*")


class Basis(StrEnum):
    """What a published number says that it counts."""

    DECODE = "decode"
    """Tokens of one stream after its first, from the first token to the last."""
    REQUEST = "request"
    """Tokens of one stream from sending to the end, the wait for the first token included."""
    OUTPUT = "output"
    """Output tokens of all streams over one window."""
    TOTAL = "total"
    """Prompt and output tokens of all streams over one window."""
    AGGREGATE = "aggregate"
    """All streams added; whether prompt tokens are in is not said."""
    PEAK = "peak"
    """The best second or interval of a run."""
    PER_USER = "per_user"
    """Output tokens of one stream among several."""
    PER_GPU = "per_gpu"
    """Output tokens of all streams divided by the number of GPUs."""
    PREFILL = "prefill"
    """Prompt tokens."""
    DRAFTED = "drafted"
    """Tokens that the drafter proposed, accepted or not."""
    CHUNKS = "chunks"
    """Streamed events, whatever each one holds."""


class Window(StrEnum):
    """The marks between which a number was measured."""

    FIRST_TO_LAST = "first_to_last"
    """First token to last token."""
    SEND_TO_END = "send_to_end"
    """Sending the request to the end of the stream."""
    RUN = "run"
    """A whole benchmark run, ramp-up and tail included."""
    STEADY = "steady"
    """The part of a run with all streams in flight."""
    BEST_SECOND = "best_second"
    """The best second or bucket of a run."""
    LOG_INTERVAL = "log_interval"
    """One interval of the engine's log."""


class Counter(StrEnum):
    """What counted the tokens."""

    USAGE = "usage"
    """The server's usage in the response."""
    SERVER_COUNTER = "server_counter"
    """A counter of the server, as in `/metrics`."""
    ENGINE_LOG = "engine_log"
    """A line of the engine's log."""
    CHUNKS = "chunks"
    """The client, by streamed events."""
    RETOKENISED = "retokenised"
    """The client, by a tokenizer over the text."""
    REQUESTED = "requested"
    """Nobody: the length that was asked for."""


class OutcomeStated(StrEnum):
    """What the source says came out."""

    VALUE = "value"
    """A number, the output being fine as far as the source says."""
    GARBAGE = "garbage"
    """Output that made no sense, at whatever speed."""
    NAN = "nan"
    """Not a number in logits or output."""
    FAILED = "failed"
    """It crashed or did not start."""
    UNSUPPORTED = "unsupported"
    """The engine does not support the hardware or the model."""


class AcceptanceDefinition(StrEnum):
    """Which ratio an acceptance is; engines differ."""

    PER_DRAFTED = "per_drafted"
    """Accepted over drafted tokens, without the bonus token (vLLM, llama.cpp)."""
    PER_POSITION = "per_position"
    """The chance that a position is accepted when those before it were."""
    WITH_BONUS = "with_bonus"
    """Tokens of a verify step, bonus included, over the positions verified (SGLang's accept rate)."""


def _one_line(text: str) -> str:
    text = text.strip()
    if not text or "\n" in text:
        raise PydanticCustomError("claim", "must be one line of text")
    return text


ID_RULE = "must be at most 64 small letters and digits, parted by '-', '_' or '.', as in fork-130tps"


def is_identifier(text: str) -> bool:
    """Whether a claim or a measurement may have this id."""
    return len(text) <= 64 and bool(_ID.fullmatch(text))


def _identifier(text: str) -> str:
    if not is_identifier(text):
        raise PydanticCustomError("claim", ID_RULE)
    return text


def _web_address(text: str) -> str:
    text = _one_line(text)
    try:
        parts = urlsplit(text)
        plain = parts.username is None and parts.password is None
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable, plain = False, True
    if not usable or " " in text:
        raise PydanticCustomError("claim", "must be an address that begins with http:// or https://")
    if not plain:
        raise PydanticCustomError(SECRET, "must not hold a user name or password")
    return text


def _server_address(text: str) -> str:
    text = _web_address(text)
    if urlsplit(text).query or urlsplit(text).fragment:
        raise PydanticCustomError(SECRET, "must be a base address, without a query")
    return text


def _method(text: str) -> str:
    text = _one_line(text).lower()
    if text in ("no", "off", "false", "disabled", "without"):
        raise PydanticCustomError("claim", "says no speculation; write 'none'")
    return text


def _number(value: Any, low: float, high: float, low_in: bool) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise PydanticCustomError("claim", "must be a number")
    if not (low < value <= high or (low_in and value == low)):
        bounds = {"low": f"{'at least' if low_in else 'more than'} {low:g}", "high": f"{high:,.15g}"}
        raise PydanticCustomError("claim", "must be {low} and at most {high}", bounds)
    return value


def _pair(value: Any, low: float, high: float, low_in: bool) -> Any:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise PydanticCustomError("claim", "must be a list of two numbers, [low, high]")
    first, last = (_number(item, low, high, low_in) for item in value)
    if first > last:
        raise PydanticCustomError("claim", "must begin with the smaller number")
    return (first, last)


def _fraction(value: Any) -> Any:
    try:
        return _number_or_pair(value, 0, 1, True)
    except PydanticCustomError as error:
        raise PydanticCustomError("claim", f"{error.message()}; 61 % is written 0.61") from None


def _number_or_pair(value: Any, low: float, high: float, low_in: bool) -> Any:
    pick = _pair if isinstance(value, list | tuple) else _number
    return pick(value, low, high, low_in)


def _json_number(low: str, bottom: float, top: float) -> dict[str, Any]:
    return {"type": "number", low: bottom, "maximum": top}


def _json_pair(number: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": number, "minItems": 2, "maxItems": 2}


_RATE = _json_number("exclusiveMinimum", 0, MAX_RATE)
_FRACTION = _json_number("minimum", 0, 1)
_LENGTH = _json_number("minimum", 1, 1000)

Identifier = Annotated[str, AfterValidator(_identifier), Field(json_schema_extra={"pattern": f"^{_ID.pattern}$"})]
Line = Annotated[str, Field(max_length=300), AfterValidator(_one_line)]
Prose = Annotated[str, Field(max_length=20_000)]
Address = Annotated[str, Field(max_length=2_000), AfterValidator(_web_address)]
ServerAddress = Annotated[str, Field(max_length=2_000), AfterValidator(_server_address)]
Method = Annotated[str, Field(max_length=60), AfterValidator(_method)]
Count = Annotated[int, Field(ge=1, le=100_000)]
Tokens = Annotated[int, Field(ge=1, le=1_000_000_000)]
Watts = Annotated[float, Field(gt=0, le=100_000)]
Rate = Annotated[int | float, BeforeValidator(lambda v: _number(v, 0, MAX_RATE, False)), WithJsonSchema(_RATE)]
RateRange = Annotated[
    tuple[int | float, int | float],
    BeforeValidator(lambda v: _pair(v, 0, MAX_RATE, False)),
    WithJsonSchema(_json_pair(_RATE)),
]
Fraction = Annotated[
    float | tuple[float, float],
    BeforeValidator(_fraction),
    WithJsonSchema({"anyOf": [_FRACTION, _json_pair(_FRACTION)]}),
]
Length = Annotated[
    float | tuple[float, float],
    BeforeValidator(lambda v: _number_or_pair(v, 1, 1000, True)),
    WithJsonSchema({"anyOf": [_LENGTH, _json_pair(_LENGTH)]}),
]
Date = Annotated[str, Field(pattern=r"^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$")]
Share = Annotated[float, Field(ge=0, le=1)]
Seed = Annotated[int, Field(ge=-1, le=2**63 - 1)]
Temperature = Annotated[float, Field(ge=0, le=100)]
Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{7,64}$")]


class Part(Record):
    """A part of a claim; the texts under its fields are the documentation of the claim file."""

    model_config = ConfigDict(use_attribute_docstrings=True)
