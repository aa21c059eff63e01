"""Was it the same thing? Each field of the claim beside what was observed, and how much it matters."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from auditor.core.claim.claim import Case
from auditor.core.counting.ledger import CellLedger
from auditor.core.counting.tally import Tally
from auditor.core.facts import FactName, ServerFacts
from auditor.core.judging.names import same_format, same_gpu, same_method, same_model, same_version, same_words
from auditor.core.plan.plan import Cell, Plan
from auditor.core.record import Record
from auditor.terms import Match

Weight = Literal["decisive", "minor"]

IsSame = Callable[[str, str], bool | None]
"""Whether what is stated is what was observed; None where the two cannot be told apart or together."""
LENGTH_SLACK = 0.1
"""Relative difference in prompt or answer length that still counts as equal."""
PROMPT_SLACK = 64
"""Difference in prompt tokens that still counts as equal: what a chat template and a nonce add."""


class Comparison(Record):
    """One field."""

    field: str
    stated: str | None = None
    observed: str | None = None
    match: Match
    weight: Weight
    """Whether a difference makes the measurement another thing."""
    source: str | None = None
    """Where the observed value was read."""
    reason: str | None = None
    """Why it was not observed."""


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a claim, and the fact of a server that it is laid beside."""

    name: str
    stated: Callable[[Case], object]
    fact: FactName
    is_same: IsSame
    weight: Weight = "decisive"
    only_if_stated: bool = False
    """Whether it decides only where the claim states it."""


def compare(
    case: Case, server: ServerFacts, plan: Plan, cell: Cell, measured: CellLedger | None
) -> tuple[Comparison, ...]:
    """Lay the claim beside the server and the load that was measured."""
    rows = [_by_fact(field, case, server) for field in FIELDS]
    rows[2:2] = [_model(case, server)]
    rows[4:4] = [_engine(case, server)]
    if server.value("speculation") is False and case.speculation.is_off:
        rows = [row for row in rows if row.field not in ("speculation method", "draft tokens (k)")]
    return tuple(rows + _load(case, plan, cell, measured))


def differing(rows: Iterable[Comparison]) -> list[Comparison]:
    """Decisive fields that differ."""
    return [row for row in rows if row.match is Match.DIFFERS and row.weight == "decisive"]


def unobserved(rows: Iterable[Comparison]) -> list[Comparison]:
    """Decisive fields that the claim leaves open or that nothing showed."""
    return [row for row in rows if row.match in (Match.UNKNOWN, Match.UNSTATED) and row.weight == "decisive"]


def _by_fact(field: Field, case: Case, server: ServerFacts) -> Comparison:
    fact = server.facts.get(field.fact)
    observed = None if fact is None else text_of(fact.value)
    stated = text_of(field.stated(case))
    weight: Weight = "minor" if field.only_if_stated and stated is None else field.weight
    match = _match(stated, observed, field.is_same)
    return Comparison(
        field=field.name,
        stated=stated,
        observed=observed,
        match=match,
        weight=weight,
        source=fact.source if fact else None,
        reason=_reason(match, stated, observed, fact.reason if fact else "not asked"),
    )


def _match(stated: str | None, observed: str | None, is_same: IsSame) -> Match:
    if stated is None:
        return Match.UNSTATED
    same = None if observed is None else is_same(stated, observed)
    return {True: Match.EQUAL, False: Match.DIFFERS, None: Match.UNKNOWN}[same]


def _reason(match: Match, stated: str | None, observed: str | None, absent: str | None) -> str | None:
    if observed is None:
        return absent
    return f"{stated} and {observed} may or may not be the same" if match is Match.UNKNOWN else None


def _model(case: Case, server: ServerFacts) -> Comparison:
    """The model by the path of its weights where the server tells it, for the served name can be any.

    A name that says the same over a path that says otherwise is not equal and not different.
    """
    stated, name = case.model.checkpoint or case.model.id, text_of(server.value("model"))
    path = text_of(server.value("model_path"))
    observed = f"{path} (served as {name})" if path and name and path != name else path or name
    same_path = None if stated is None or path is None else same_model(stated, path)
    same_name = None if stated is None or name is None else same_model(stated, name)
    same = same_name if same_path is None else same_path if same_path or not same_name else None
    match = _match(stated, observed, lambda *_: same)
    fact = server.facts.get("model_path" if path else "model")
    return Comparison(
        field="model",
        stated=stated,
        observed=observed,
        match=match,
        weight="decisive",
        source=fact.source if fact else None,
        reason=_reason(match, stated, observed, fact.reason if fact else "not asked"),
    )


def _engine(case: Case, server: ServerFacts) -> Comparison:
    """The engine by its kind. A stock engine cannot be told from a fork over HTTP, so a fork is never equal."""
    kinds, stated = case.engine.kinds(), case.engine.name
    observed = None if server.kind == "generic" else server.kind
    reason = None if observed else "the server does not say what it is"
    match = _match(stated, observed, lambda _, kind: kind in kinds if kinds else None)
    if match is Match.UNKNOWN and observed is not None:
        reason = f"which kind of server {stated} is, is not known here"
    if match is Match.EQUAL and case.engine.is_fork:
        match, reason = Match.UNKNOWN, "whether it is the fork that the claim names cannot be seen from outside"
    return Comparison(
        field="engine",
        stated=f"{stated} (fork)" if stated and case.engine.is_fork else stated,
        observed=observed,
        match=match,
        weight="decisive",
        source=server.kind_reason,
        reason=reason,
    )


def _load(case: Case, plan: Plan, cell: Cell, measured: CellLedger | None) -> list[Comparison]:
    streams = case.reported.streams or case.workload.concurrency
    tally = measured.tally if measured else Tally()
    prompt, answer = (None if n is None else n / tally.requests for n in (tally.prompt_tokens, tally.delivered))
    return [
        _exact("streams", text_of(streams), str(cell.streams), "the plan"),
        _length("prompt tokens", case.workload.prompt_tokens, prompt, PROMPT_SLACK),
        _length("answer tokens", case.workload.output_tokens, answer, 0),
        _exact("temperature", text_of(case.workload.sampling.temperature), text_of(plan.temperature), "the plan"),
    ]


def _exact(field: str, stated: str | None, observed: str | None, source: str) -> Comparison:
    match = _match(stated, observed, lambda one, other: float(one) == float(other))
    # A claim without streams is read as one stream, which is what the plan then measures.
    weight: Weight = "decisive" if field == "streams" and stated is not None else "minor"
    return Comparison(field=field, stated=stated, observed=observed, match=match, weight=weight, source=source)


def _length(field: str, stated: int | None, mean: float | None, slack: int) -> Comparison:
    observed = None if mean is None else f"{mean:.0f}"

    def is_near(one: str, _: str) -> bool:
        return abs((mean or 0) - float(one)) <= max(slack, LENGTH_SLACK * float(one))

    return Comparison(
        field=field,
        stated=text_of(stated),
        observed=observed,
        match=_match(text_of(stated), observed, is_near),
        weight="decisive" if stated is not None else "minor",
        source="mean of the measured exchanges",
        reason=None if observed else "not counted",
    )


def text_of(value: object) -> str | None:
    """A value as it is shown: `on` and `off`, numbers without zeros; None where there is none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _equal(stated: str, observed: str) -> bool:
    return stated.strip().lower() == observed.strip().lower()


def _speculates(case: Case) -> bool | None:
    spec = case.speculation
    if spec.is_off:
        return False
    return True if spec.method or spec.draft_tokens or spec.acceptance is not None else None


FIELDS = (
    Field("GPU", lambda c: c.hardware.gpu, "gpu", same_gpu),
    Field("number of GPUs", lambda c: c.hardware.count, "gpu_count", _equal),
    Field("quantisation", lambda c: c.model.quantisation, "quantisation", same_format),
    Field("engine version", lambda c: c.engine.version, "version", same_version, "minor"),
    Field("KV cache", lambda c: c.model.kv_cache_dtype, "kv_cache_dtype", same_format, "minor"),
    Field("speculation", _speculates, "speculation", _equal),
    Field("speculation method", lambda c: None if c.speculation.is_off else c.speculation.method,
           "speculation_method", same_method),
    Field("draft tokens (k)", lambda c: c.speculation.draft_tokens, "draft_tokens", _equal),
    Field("tensor parallel", lambda c: c.engine.parallelism.tp, "tensor_parallel", _equal, only_if_stated=True),
    Field("pipeline parallel", lambda c: c.engine.parallelism.pp, "pipeline_parallel", _equal, only_if_stated=True),
    Field("expert parallel", lambda c: c.engine.parallelism.ep, "expert_parallel", _equal, only_if_stated=True),
    Field("data parallel", lambda c: c.engine.parallelism.dp, "data_parallel", _equal, only_if_stated=True),
    Field("MoE backend", lambda c: c.engine.backends.moe, "moe_backend", same_words, "minor"),
    Field("attention backend", lambda c: c.engine.backends.attention, "attention_backend", same_words, "minor"),
)  # fmt: skip
