"""Whether a log is of what a claim is about. Any log may hold the number that a claim publishes; only one of the
claim's engine and model can speak of it."""

from auditor.core.claim.record import Case
from auditor.core.enginelogs.result import LogReading
from auditor.core.judging.names import same_model
from auditor.core.record import Record
from auditor.core.wording import listed

_MAY_RUN = {"ollama": "llamacpp", "lmstudio": "llamacpp", "exllama": "tabbyapi"}
"""Engines whose log may be that of the engine below or around them."""


class OfClaim(Record):
    """A log laid beside a claim by engine and model."""

    engine: bool | None
    """Whether it is of the engine that the claim names; None where that cannot be told."""
    model: bool | None
    sentence: str

    @property
    def same(self) -> bool | None:
        """Whether it is of what the claim is about: False where either differs, None where either is not known."""
        if False in (self.engine, self.model):
            return False
        return True if self.engine and self.model else None


def of_claim(case: Case, reading: LogReading) -> OfClaim:
    """Lay the engine and the model that a log names beside those of a claim."""
    fact = reading.facts.get("model")
    seen = fact.value if fact is not None and isinstance(fact.value, str) else None
    stated = [name for name in (case.model.checkpoint, case.model.id) if name is not None]
    engine, model = _engine(case, reading), _model(stated, seen)
    log = f"{reading.title} with {seen}" if seen else f"{reading.title}, and names no model"
    claim = f"{case.engine.name or 'no engine'} and {stated[0] if stated else 'no model'}"
    beside = f"the log is of {log}; the claim states {claim}"
    if False in (engine, model):
        what = [name for name, same in (("engine", engine), ("model", model)) if same is False]
        words = f"This log is not of what the claim is about, for the {listed(what)} {_differ(len(what))}: {beside}."
    elif engine and model:
        words = f"Engine and model are those of the claim: {beside}."
    else:
        words = f"Whether this log is of what the claim is about is not known: {beside}."
    return OfClaim(engine=engine, model=model, sentence=words)


def _differ(count: int) -> str:
    return "differs" if count == 1 else "differ"


def _engine(case: Case, reading: LogReading) -> bool | None:
    kinds = case.engine.kinds()
    if not kinds:
        return None
    if reading.engine in kinds or any(kind in reading.others for kind in kinds):
        return True
    return None if any(_MAY_RUN.get(kind) == reading.engine for kind in kinds) else False


def _model(stated: list[str], seen: str | None) -> bool | None:
    answers = [same_model(name, seen) for name in stated] if seen else []
    if True in answers:
        return True
    return False if answers and None not in answers else None
