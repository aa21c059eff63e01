"""A measured rate beside what the observed hardware can do."""

from typing import Any

from pydantic import ValidationError

from auditor.core.claim.record import Case
from auditor.core.facts import FactName, ServerFacts
from auditor.core.judging.ceiling import Ceiling
from auditor.core.physics.laidbeside import ceiling_of
from auditor.core.record import six


def measured_ceiling(server: ServerFacts, stream_rate: float) -> Ceiling | str:
    """The rate of one stream (tokens per second after its first) beside the bounds, by what was observed of the server.

    Nothing of the claim is taken. What was not observed is read as favourably as can be; where the GPU, their number or
    the model were not observed there is no bound, and the answer is the sentence that says so.
    """
    try:
        case = Case.model_validate(_case(server, stream_rate))
    except ValidationError:
        return "what the server says of itself cannot be read"
    found = ceiling_of(case)
    return found if found.lines else found.sentence.replace("is not stated", "was not observed")


def _case(server: ServerFacts, stream_rate: float) -> dict[str, Any]:
    observed: dict[str, dict[str, Any]] = {
        "hardware": {"gpu": _value(server, "gpu"), "count": _value(server, "gpu_count")},
        "model": {
            "id": _value(server, "model_path") or _value(server, "model"),
            "quantisation": _value(server, "quantisation"),
        },
        "speculation": _speculation(server),
    }
    parts = {part: {k: v for k, v in fields.items() if v is not None} for part, fields in observed.items()}
    sizes = {"tp": _value(server, "tensor_parallel"), "pp": _value(server, "pipeline_parallel"),
             "dp": _value(server, "data_parallel")}  # fmt: skip
    parts["engine"] = {"parallelism": {name: size for name, size in sizes.items() if size is not None}}
    named = {"claim_id": "measured", "id": "measured", "title": "measured"}
    return {**named, **parts, "reported": {"value": six(stream_rate), "basis": "decode"}}


def _speculation(server: ServerFacts) -> dict[str, Any]:
    if server.value("speculation") is False:
        return {"method": "none"}
    width = _value(server, "draft_tokens")
    return {"method": "speculation" if server.value("speculation") else None, "draft_tokens": width or None}


def _value(server: ServerFacts, name: FactName) -> str | int | None:
    value = server.value(name)
    return value if isinstance(value, str | int) and not isinstance(value, bool) else None
