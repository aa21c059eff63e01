"""GenAI-Perf's `profile_export.json`, which Perf Analyzer writes: every response with its time, the events kept."""

from collections.abc import Iterator

from auditor.core.counting.reading import ReadDetails
from auditor.core.imports.decoding import JsonError, parse
from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Grade, Request, Result, Settings
from auditor.core.imports.streams import arrivals_of, request_of, stream_of


def _recognise(file: File) -> str | None:
    one = file.document
    if not isinstance(one, dict) or not isinstance(one.get("experiments"), list):
        return None
    return "export" if "service_kind" in one or "endpoint" in one or "version" in one else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    fields = Fields(file.document, file.name)
    results = [_result(one, fields, file.details) for one in fields.objects("experiments")]
    return Reading(tuple(results), fields.text("version"))


def _result(one: Fields, file: Fields, details: ReadDetails) -> Result:
    mode = one.fields("experiment")
    how, value = (mode.text("mode"), mode.number("value")) if mode else (None, None)
    is_rate = how == "request_rate"
    requests = tuple(_requests(one, details))
    asked = [request.requested_tokens for request in requests if request.requested_tokens]
    return Result(
        name=f"{(how or 'load').replace('_', ' ')} {value:g}" if value is not None else how or "experiment",
        grade=Grade.RAW,
        grade_because="every response of the server is in it with its time",
        counted_by="counted here from the responses; the tool itself tokenises the text again",
        settings=Settings(
            model=next((name for request in one.objects("requests") if (name := _asked(request, "model"))), None),
            server=file.text("service_kind"),
            concurrency=int(value) if value is not None and how == "concurrency" and 1 <= value <= 1e6 else None,
            request_rate=f"{value:g}" if value is not None and is_rate else None,
            output_tokens=max(asked) if asked else None,
        ),
        clock="epoch",
        requests=requests,
        missing=("the tool's own figures: they are in another file, as *_genai_perf.json",),
    )


def _requests(one: Fields, details: ReadDetails) -> Iterator[Request]:
    for number, request in enumerate(one.objects("requests"), 1):
        sent, times = request.time("timestamp", "ns"), request.times("response_timestamps", "ns") or ()
        bodies = [output.raw_text("response") or "" for output in request.objects("response_outputs")]
        pieces = [(at, body.encode("utf-8", "replace")) for at, body in zip(times, bodies, strict=False)]
        stream = stream_of(arrivals_of(pieces), details)
        made = request_of(stream, sent_ns=sent, end_ns=max(times, default=None), id_=str(number))
        asked = next((n for key in ("max_tokens", "max_completion_tokens") if (n := _number(request, key))), None)
        yield made.model_copy(update={"requested_tokens": asked})


def _payload(request: Fields) -> Fields | None:
    """The request's body, which is JSON within the JSON; None where it cannot be read."""
    inputs = request.fields("request_inputs")
    text = inputs.raw_text("payload") if inputs else None
    try:
        value = parse(text) if text else None
    except JsonError:
        return None
    return Fields(value, request.where) if isinstance(value, dict) else None


def _asked(request: Fields, name: str) -> str | None:
    payload = _payload(request)
    return payload.text(name) if payload else None


def _number(request: Fields, name: str) -> int | None:
    payload = _payload(request)
    return payload.count(name) if payload else None


FORMAT = Format(
    name="genai-perf",
    tool="GenAI-Perf",
    recognise=_recognise,
    read=_read,
    source="genai-perf 0.0.16 (perf_analyzer 263c5f6): profile_export.json",
    wrong=(
        "the tool sums the tokens of each response tokenised by itself, which differs from the whole text",
        "answers without tokens leave the token counts and stay in the request rate",
        "reasoning was not counted (triton-inference-server/perf_analyzer#433)",
        "the tool has ended; AIPerf follows it",
    ),
)
