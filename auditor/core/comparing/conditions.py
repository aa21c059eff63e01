"""May two sides be compared? What was equal, what differs, and which of it is what the comparison is about."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Literal

from auditor.core.comparing.quantities import Slot
from auditor.core.comparing.side import Side
from auditor.core.judging.compare import FIELDS, LENGTH_SLACK, PROMPT_SLACK, Field, IsSame, text_of
from auditor.core.judging.names import same_model
from auditor.core.plan.plan import nonce_for
from auditor.core.record import Record, sha256
from auditor.terms import Match

Weight = Literal["compared", "decisive", "minor"]
"""`compared` is what the comparison may be about; a `decisive` difference makes it one of other things; a `minor` one
is named."""
ABOUT_SERVER = frozenset({
    "engine", "engine version", "speculation", "speculation method", "draft tokens (k)", "tensor parallel",
    "pipeline parallel", "expert parallel", "data parallel", "MoE backend", "attention backend",
})  # fmt: skip
"""What servers beside each other may differ in, unless another thing is compared."""


class Condition(Record):
    """One thing that was equal or not."""

    field: str
    one: str | None
    other: str | None
    match: Match
    weight: Weight


def conditions_of(
    one: Side, other: Side, slots: Collection[Slot], compared: Collection[str] = ()
) -> tuple[Condition, ...]:
    """Every condition of two sides; `compared` names fields beyond the servers' own settings that may differ."""
    rows = [_row("model", same_model, _model(one), _model(other))]
    rows += [_row(field.name, field.is_same, *_facts(field, one, other)) for field in FIELDS]
    rows.append(_row("engine", _equal, one.server.kind, other.server.kind))
    rows += [_row(name, _equal, text_of(value(one)), text_of(value(other))) for name, value in _PLANNED.items()]
    rows += [_near("prompt tokens", one, other, slots, PROMPT_SLACK), _near("answer tokens", one, other, slots, 0)]
    named = {name.lower() for name in compared}
    weighed = [_weighed(row, named) for row in rows]
    return tuple(row for row in weighed if row.weight == "decisive" or row.one is not None or row.other is not None)


def _weighed(row: Condition, compared: Collection[str]) -> Condition:
    is_about = row.field in ABOUT_SERVER or row.field.lower() in compared
    weight: Weight = "compared" if is_about else "minor" if row.field in _MINOR else "decisive"
    return row.model_copy(update={"weight": weight})


_MINOR = frozenset({"KV cache", "client", "tool version", "prompt tokens", "answer tokens", "nonces of the prompts"})


def differing(rows: Iterable[Condition], *weights: Weight) -> list[Condition]:
    """The conditions of these weights that differ."""
    return [row for row in rows if row.match is Match.DIFFERS and row.weight in weights]


def unknown(rows: Iterable[Condition]) -> list[Condition]:
    """Decisive conditions of which nobody knows whether they were equal."""
    return [row for row in rows if row.match is Match.UNKNOWN and row.weight == "decisive"]


def same_requests(one: Side, other: Side, repeats: Sequence[int]) -> bool:
    """Whether both sides were sent the same prompts with the same nonces, so that each request has its own pair."""
    pairs = [(side.run.plan, side.cell) for side in (one, other)]
    return _prompts(one) == _prompts(other) and all(
        len({nonce_for(plan, cell, repeat, 0) for plan, cell in pairs}) == 1 for repeat in repeats
    )


def field_names() -> tuple[str, ...]:
    """Every field that two sides are held against."""
    return ("model", *(field.name for field in FIELDS), "engine", *_PLANNED, "prompt tokens", "answer tokens")


def _equal(one: str, other: str) -> bool:
    return one == other


def _row(name: str, is_same: IsSame, one: str | None, other: str | None) -> Condition:
    same = None if one is None or other is None else True if one == other else is_same(one, other)
    match = {True: Match.EQUAL, False: Match.DIFFERS, None: Match.UNKNOWN}[same]
    return Condition(field=name, one=one, other=other, match=match, weight="decisive")


def _facts(field: Field, one: Side, other: Side) -> tuple[str | None, str | None]:
    return text_of(one.server.value(field.fact)), text_of(other.server.value(field.fact))


def _model(side: Side) -> str:
    return text_of(side.server.value("model_path")) or side.server.model


def _prompts(side: Side) -> str:
    """The texts of a side's prompts, in order, as a digest."""
    texts = {prompt.id: prompt.to_json() for prompt in side.run.plan.prompts}
    return sha256(b"".join(texts[name] for name in side.cell.prompts))[:12]


def _near(name: str, one: Side, other: Side, slots: Collection[Slot], slack: int) -> Condition:
    """Mean tokens of the requests that both sides completed."""
    means = (_mean(name, one, slots), _mean(name, other, slots))
    first, second = (mean or 0.0 for mean in means)
    is_near = abs(first - second) <= max(slack, LENGTH_SLACK * first)
    texts = [None if mean is None else f"{mean:.0f}" for mean in means]
    return _row(name, lambda *_: is_near, texts[0], texts[1])


def _mean(name: str, side: Side, slots: Collection[Slot]) -> float | None:
    keys = set(slots)
    lines = [
        line
        for line in side.run.account.ledger.exchanges
        if line.cell == side.cell.key and line.status == "complete" and (line.repeat, line.index, line.prompt) in keys
    ]
    found = [line.tally.prompt_tokens if name == "prompt tokens" else line.tally.delivered for line in lines]
    known = [value for value in found if value is not None]
    return sum(known) / len(known) if known and len(known) == len(found) else None


def _client(side: Side) -> str:
    host = side.run.facts.host
    return f"{host.platform}, {host.machine}, {host.cpus} CPUs"


_PLANNED: dict[str, Callable[[Side], object]] = {
    "prompts": _prompts,
    "nonces of the prompts": lambda side: nonce_for(side.run.plan, side.cell, 0, 0),
    "temperature": lambda side: side.run.plan.temperature,
    "top_p": lambda side: "not set" if side.run.plan.top_p is None else side.run.plan.top_p,
    "forced length": lambda side: side.run.plan.ignore_eos,
    "API": lambda side: side.run.plan.api,
    "client": _client,
    "tool version": lambda side: side.run.plan.tool_version,
}
"""What the plan and the client's machine say of how a side was measured."""
