"""The base of every record that is written to a run folder, and its one canonical spelling as JSON."""

import hashlib
from typing import Any, Self

import orjson
from pydantic import BaseModel, ConfigDict

_JSON_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE


class Record(BaseModel):
    """A frozen record; unknown fields are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_json(self) -> bytes:
        """The canonical JSON of this record: sorted keys, two spaces, a newline at the end."""
        return canonical_json(self.model_dump(mode="json"))

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Read what `to_json` wrote; raises `pydantic.ValidationError`."""
        return cls.model_validate_json(data)

    def digest(self) -> str:
        """SHA-256 of the canonical JSON, hexadecimal."""
        return sha256(self.to_json())


def canonical_json(value: Any) -> bytes:
    """JSON that is the same bytes for the same value on every machine."""
    return orjson.dumps(value, option=_JSON_OPTIONS)


def sha256(data: bytes) -> str:
    """SHA-256 of the bytes, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def six(value: float) -> float:
    """A statistic rounded to six significant digits, so that every machine writes the same bytes."""
    return float(f"{value:.6g}")
