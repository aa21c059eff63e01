"""What a claim states of the things that bound it, and what it leaves open."""

import math
from dataclasses import dataclass
from typing import Literal

from auditor.core.claim.record import Case
from auditor.core.claim.types import AcceptanceDefinition, Basis, Window
from auditor.core.explain.acceptance import length_of
from auditor.core.physics.figures import Choice, Figures, choose, figures_of
from auditor.reference.formats import find_formats
from auditor.reference.gpus import Bandwidth, Gpu, find_cards, suggestions
from auditor.reference.measured import Acceptance, acceptances
from auditor.reference.models import find_model, suggest_models

MAX_DRAFT_TOKENS = 16
"""Most tokens drafted per step that the most favourable reading allows where a claim states none. An assumption: the
widest drafts in the material are of 5."""
Counted = Literal["stream", "all", "open", "unbounded"]
"""What a number counts: one stream, all streams, one of these or something without a bound, or certainly that."""
_HEADS = ("mtp", "nextn")
_STREAM = (Basis.DECODE, Basis.REQUEST, Basis.PER_USER)
_UNBOUNDED = (Basis.TOTAL, Basis.AGGREGATE, Basis.PEAK, Basis.PREFILL, Basis.DRAFTED)


@dataclass(frozen=True, slots=True)
class Draft:
    """One way to speculate."""

    words: str
    tokens: int
    low: float
    high: float
    """Tokens per verify step, lowest and highest."""
    source: str
    has_head: bool


@dataclass(frozen=True, slots=True)
class Stated:
    """A claim, as far as it speaks of its bounds."""

    gpus: tuple[Gpu, ...]
    """Cards that it may be about."""
    count: int
    figures: Figures
    choice: Choice
    counted: Counted
    streams: int | None
    context: int | None
    kv: tuple[float, str] | None
    """Bytes of an element of the KV cache, and who says so."""
    replicas: int
    """How many copies or stages one stream does not use at once: pipeline stages x data-parallel copies."""
    tensor_parallel: int
    is_off: bool
    """Whether speculation is said to be off."""
    is_on: bool
    """Whether it is said to be on."""
    drafts: tuple[Draft, ...]
    """The ways to speculate that are laid beside the claim."""
    longest: float
    """Most tokens per verify step that what is stated allows."""
    longest_because: str
    power_limit_w: float | None
    per_gpu: bool
    contradiction: str | None
    """What the claim says of speculation that cannot be."""

    @property
    def streaming(self) -> int:
        """Cards that read weights for one stream at the same time."""
        return max(1, self.count // self.replicas)

    def readings_of(self, gpu: Gpu) -> list[Bandwidth]:
        """The bandwidth readings of a card that count."""
        return [one for one in gpu.bandwidth if one.standing != "rejected"]

    @property
    def usual_gbs(self) -> tuple[float, float]:
        """GB/s that the sources give, lowest and highest; unverified readings are left out."""
        found = [g.gbs(one) for g in self.gpus for one in self.readings_of(g) if one.standing != "unverified"]
        return min(found), max(found)

    @property
    def best_gbs(self) -> float:
        """The highest GB/s that any source gives."""
        return max(gpu.gbs(one) for gpu in self.gpus for one in self.readings_of(gpu))


def stated_of(
    case: Case, figures: Figures | None = None, context: int | None = None, given: frozenset[str] = frozenset()
) -> Stated | str:
    """What the claim states, or in one sentence why no bound can be worked out.

    `figures` are those of a checkpoint that was read; `context` is laid over what the claim states, and
    `given` are the fields of speculation that were.
    """
    cards = find_cards(case.hardware.gpu or "")
    gpus = tuple(dict.fromkeys(card.gpu for card in cards if card.variant is None))
    if not gpus:
        return _no_gpu(case)
    if case.hardware.count is None:
        return "the number of GPUs is not stated"
    row = find_model(case.model.id or "") or find_model(case.model.checkpoint or "")
    found = figures or (figures_of(row) if row else None)
    if found is None:
        return _no_model(case)
    choice = choose(found, case.model.quantisation, case.model.checkpoint, row)
    size = case.engine.parallelism
    replicas = (size.pp or 1) * (size.dp or 1)
    drafts, longest, because = _drafts(case, found, given)
    speculation = case.speculation
    said = (speculation.method, speculation.draft_tokens, speculation.acceptance_length, speculation.acceptance)
    return Stated(
        gpus=gpus,
        count=case.hardware.count,
        figures=found,
        choice=choice,
        counted=_counted(case),
        streams=case.reported.streams or case.workload.concurrency,
        context=context if context is not None else case.workload.prompt_tokens,
        kv=_kv(case, choice),
        replicas=replicas,
        tensor_parallel=size.tp or max(1, case.hardware.count // replicas),
        is_off=speculation.is_off,
        is_on=not speculation.is_off and any(one is not None for one in said),
        drafts=drafts,
        longest=longest,
        longest_because=because,
        power_limit_w=case.hardware.power_limit_w,
        per_gpu=bool(case.reported.per_gpu) or case.reported.basis is Basis.PER_GPU,
        contradiction=_contradiction(case),
    )


def _no_gpu(case: Case) -> str:
    text = case.hardware.gpu
    if text is None:
        return "the GPU is not stated"
    variants = [card for card in find_cards(text) if card.variant]
    if variants and variants[0].variant:
        return f"the table has no row for {variants[0].title}: {variants[0].variant.why}"
    near = suggestions(text)
    return f"{text} is not in the table of GPUs" + (f"; near it: {', '.join(near)}" if near else "")


def _no_model(case: Case) -> str:
    text = case.model.id or case.model.checkpoint
    if text is None:
        return "the model is not stated"
    row = find_model(text)
    if row is not None:
        return f"the architecture of {row.name} is not in the table: {row.gaps}"
    near = suggest_models(text)
    return f"{text} is not in the table of models" + (f"; near it: {', '.join(near)}" if near else "")


def _counted(case: Case) -> Counted:
    basis = case.reported.basis
    if basis in _UNBOUNDED or case.reported.window is Window.BEST_SECOND:
        return "unbounded"
    if basis in _STREAM:
        return "stream"
    return "open" if basis is None else "all"


def _kv(case: Case, choice: Choice) -> tuple[float, str] | None:
    for name, who in ((case.model.kv_cache_dtype, "the claim"), (choice.best.kv_cache, "the checkpoint declares it")):
        forms = find_formats(name or "")
        if forms:
            return forms[0].bytes, f"{forms[0].title}: {who}"
    return None


def _drafts(case: Case, figures: Figures, given: frozenset[str]) -> tuple[tuple[Draft, ...], float, str]:
    """The ways to speculate worth a line, the most tokens a step may give, and why."""
    speculation = case.speculation
    if speculation.is_off:
        return (), 1.0, "speculation was off"
    width, method = speculation.draft_tokens, speculation.method
    tables = [one for one in acceptances(figures.id) if method is None or _name(one.method) == _name(method)]
    has_head = bool(figures.layouts[0].draft_fixed_bytes) and (method is None or method in _HEADS)
    said = _said_lengths(case, given)
    if said is not None:
        low, high, source = said
        if width is not None and high > width + 1:
            source = f"{source}, cut to k + 1 = {width + 1}"
        if width is not None:
            low, high = min(low, width + 1), min(high, width + 1)
        tokens = width or max(1, math.ceil(high) - 1)
        label = f"{method or 'speculation'}, k = {tokens if width else 'not stated'}"
        return (Draft(label, tokens, low, high, source, has_head),), high, source
    drafts = [
        Draft(f"{one.method}, k = {k}", k, length, length, _published(one), one.method in _HEADS and has_head)
        for one in tables
        for k, length in one.length_by_k.items()
        if width in (None, k)
    ]
    if width is not None and not drafts:
        source = "no acceptance length is stated or published for it: every draft taken as accepted"
        drafts = [Draft(f"{method or 'speculation'}, k = {width}", width, width + 1, width + 1, source, has_head)]
    most = width or MAX_DRAFT_TOKENS
    because = f"k = {most}{'' if width else ', an assumption,'} and every draft accepted"
    return tuple(drafts), most + 1.0, because


def _contradiction(case: Case) -> str | None:
    length, width = case.speculation.acceptance_length, case.speculation.draft_tokens
    high = length[1] if isinstance(length, tuple) else length
    if high is None or width is None or high <= width + 1:
        return None
    return f"an acceptance length of {high:g} is above k + 1 = {width + 1}, which no step can give"


def _said_lengths(case: Case, given: frozenset[str]) -> tuple[float, float, str] | None:
    """Acceptance length as the claim gives it, or the lengths that its acceptance may mean."""
    speculation = case.speculation
    if speculation.acceptance_length is not None:
        said = speculation.acceptance_length
        low, high = said if isinstance(said, tuple) else (said, said)
        who = "given as an option" if "acceptance_length" in given else "stated by the claim"
        return low, high, f"acceptance length, {who}"
    acceptance, width = speculation.acceptance_range(), speculation.draft_tokens
    if acceptance is None or width is None:
        return None
    stated = speculation.acceptance_definition
    definitions = [stated] if stated else list(AcceptanceDefinition)
    found = [length for one in definitions for a in acceptance if (length := length_of(a, width, one)) is not None]
    if not found:
        return None
    which = "" if stated else ", under each definition of it"
    return min(found), max(found), f"from the acceptance that the claim states{which}"


def _published(one: Acceptance) -> str:
    return f"published for {one.of} ({one.conditions}): {'; '.join(one.sources)}"


def _name(method: str) -> str:
    return "mtp" if method in _HEADS else method.replace("-", "")
