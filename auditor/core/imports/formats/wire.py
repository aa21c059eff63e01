"""Our own wire log, alone or out of a run folder: every byte that a server sent, with its time."""

from collections.abc import Iterator

import orjson
import zstandard

from auditor.core.counting.evidence import Exchange, assemble, read_response, request_body
from auditor.core.counting.reading import ReadDetails
from auditor.core.imports.fields import Fields
from auditor.core.imports.format import File, Format, Parts, Reading, only
from auditor.core.imports.record import Grade, Request, Result, Settings
from auditor.core.imports.streams import request_of, stream_of
from auditor.core.wire.log import MAGIC, read_wire
from auditor.errors import EvidenceError, UsageError

_ZSTD = b"\x28\xb5\x2f\xfd"


def _recognise(file: File) -> str | None:
    if not file.data.startswith(_ZSTD):
        return None
    try:
        head = zstandard.ZstdDecompressor().decompressobj().decompress(file.data[: 1 << 16])
    except zstandard.ZstdError:
        return None
    return "wire" if head.startswith(MAGIC[:-1]) else None


def _read(parts: Parts) -> Reading:
    file = only(parts)
    if file.path is None:
        raise UsageError("a wire log is read from its file", where=file.name, remedy="name the file")
    try:
        log = read_wire(file.path)
    except EvidenceError as error:
        raise UsageError(error.what, where=file.name, remedy=error.remedy) from None
    evidence = assemble(log.records, log.damage)
    cells: dict[str, list[Exchange]] = {}
    for exchange in evidence.exchanges:
        if exchange.purpose == "measure":
            cells.setdefault(str(exchange.meta.get("cell", "requests")), []).append(exchange)
    notes = (f"the log cannot be read to its end: {log.damage}",) if log.damage else ()
    return Reading(tuple(_result(name, own, file) for name, own in cells.items()), notes=notes)


def _result(name: str, exchanges: list[Exchange], file: File) -> Result:
    asked = [_asked(one, file.name) for one in exchanges]
    requests = tuple(_requests(exchanges, asked, file.details))
    models = [one.text("model") for one in asked if one is not None]
    lengths = [one.requested_tokens for one in requests if one.requested_tokens]
    return Result(
        name=name,
        grade=Grade.RAW,
        grade_because="every byte that the server sent, with its time",
        counted_by="counted here from the events; `audit judge` counts what a known server adds to them too",
        settings=Settings(model=next(filter(None, models), None), output_tokens=max(lengths, default=None)),
        clock="monotonic",
        requests=requests,
    )


def _requests(exchanges: list[Exchange], asked: list[Fields | None], details: ReadDetails) -> Iterator[Request]:
    for exchange, body in zip(exchanges, asked, strict=True):
        made = request_of(
            stream_of(read_response(exchange).arrivals, details),
            sent_ns=exchange.send_ns,
            end_ns=exchange.close_ns,
            id_=str(exchange.id),
        )
        names = ("max_tokens", "max_completion_tokens", "n_predict")
        limits = [limit for name in names if body is not None and (limit := body.count(name))]
        error = made.error or (
            None if exchange.how in ("complete", "eof") else f"it ended as {exchange.how or 'cut off'}"
        )
        yield made.model_copy(update={"requested_tokens": limits[0] if limits else None, "error": error})


def _asked(exchange: Exchange, where: str) -> Fields | None:
    """The body of the request; None where it is no JSON object."""
    try:
        value = orjson.loads(request_body(exchange))
    except orjson.JSONDecodeError:
        return None
    return Fields(value, f"{where}: exchange {exchange.id}") if isinstance(value, dict) else None


FORMAT = Format(
    name="wire",
    tool="audit wire log",
    recognise=_recognise,
    read=_read,
    source="auditor.core.wire.log, as `audit run` writes it",
    wrong=("without the server's kind, only what is in the OpenAI shape is counted",),
    seen="runs against vLLM 0.24 on an H200",
)
