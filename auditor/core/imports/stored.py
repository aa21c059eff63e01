"""An import as files: the record as JSON, and its requests as JSON lines, since there may be many."""

from collections.abc import Iterator

import orjson
from pydantic import ValidationError

from auditor.core.imports.record import Imported, Request
from auditor.errors import EvidenceError

IMPORT, REQUESTS = "import.json", "requests.jsonl"


def to_files(imported: Imported) -> dict[str, bytes]:
    """The files of an import, by name."""
    bare = imported.model_copy(
        update={"results": tuple(one.model_copy(update={"requests": ()}) for one in imported.results)}
    )
    return {IMPORT: bare.to_json(), REQUESTS: b"".join(_lines(imported))}


def _lines(imported: Imported) -> Iterator[bytes]:
    for number, result in enumerate(imported.results):
        for request in result.requests:
            line = {"result": number, **request.model_dump(mode="json", exclude_none=True)}
            yield orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE | orjson.OPT_SORT_KEYS)


def from_files(record: bytes, requests: bytes, where: str) -> Imported:
    """The import again, but for the texts of its answers, which its original has. Raises EvidenceError."""
    found: dict[int, list[Request]] = {}
    try:
        imported = Imported.from_json(record)
        for line in requests.splitlines():
            value = orjson.loads(line)
            found.setdefault(value.pop("result"), []).append(Request.model_validate_json(orjson.dumps(value)))
    except (ValidationError, orjson.JSONDecodeError, AttributeError, KeyError, TypeError):
        raise EvidenceError("is damaged, or of a newer version", where=where, remedy="import the file again") from None
    results = [one.model_copy(update={"requests": tuple(found.get(n, ()))}) for n, one in enumerate(imported.results)]
    return imported.model_copy(update={"results": tuple(results)})
