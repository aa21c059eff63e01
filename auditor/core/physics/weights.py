"""The bytes of a model's weights in one layout: what every step reads, and what each routed expert adds."""

from collections.abc import Mapping
from dataclasses import dataclass

from auditor.core.physics.parts import Params
from auditor.reference.formats import Format, all_formats
from auditor.reference.models import Checkpoint, Part

UNIFORM: dict[Part, str] = {"router": "bf16", "lm_head": "bf16"}
"""What even a uniform layout keeps in BF16."""


@dataclass(frozen=True, slots=True)
class PartBytes:
    """One part, all layers together."""

    part: Part
    params: int
    bytes: float
    format: str
    """Number format, in words."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A layout of the weights."""

    id: str
    title: str
    source: str
    fixed: tuple[PartBytes, ...]
    """What every step reads whole."""
    experts: int
    top_k: int
    expert_layers: int
    expert_bytes: float
    """One routed expert of one layer."""
    expert_params: int
    expert_format: str
    embed_bytes: float
    draft_fixed_bytes: float = 0.0
    """What a draft step of the MTP head reads whole; 0 without one."""
    draft_expert_bytes: float = 0.0
    head_bytes: float = 0.0
    """The MTP head as stored."""
    rate: str = "bf16"
    """Which dense rate its products can run at."""
    kv_cache: str | None = None
    """Number format of the KV cache that it declares."""
    note: str | None = None

    @property
    def fixed_bytes(self) -> float:
        """Bytes that every step reads."""
        return sum(part.bytes for part in self.fixed)

    @property
    def active_params(self) -> int:
        """Parameters that one token uses, lm_head included."""
        return sum(part.params for part in self.fixed) + self.expert_params * self.top_k * self.expert_layers

    def step_bytes(self, distinct: float) -> float:
        """Bytes of weights that a step reads, with that many distinct experts in each layer."""
        return self.fixed_bytes + self.expert_bytes * distinct * self.expert_layers

    def token_bytes(self) -> float:
        """Bytes of weights read for one token alone."""
        return self.step_bytes(self.top_k)

    def stored_bytes(self) -> float:
        """Bytes of all weights without the MTP head."""
        return self.step_bytes(self.experts) + self.embed_bytes

    def draft_bytes(self, distinct: float) -> float:
        """Bytes of weights that one draft step of the MTP head reads."""
        return self.draft_fixed_bytes + self.draft_expert_bytes * distinct


def laid_out(params: Params, checkpoint: Checkpoint) -> Weights:
    """The bytes of a published layout; the MTP head and the embedding table in BF16."""
    source = "; ".join(checkpoint.sources) or "layout without an address of its own; bytes by our arithmetic"
    return _weights(params, checkpoint.formats, checkpoint.id, checkpoint.title, source, checkpoint.kv_cache)


def uniform(params: Params, form: Format) -> Weights:
    """Every matrix in one format, router and lm_head in BF16."""
    parts: list[Part] = [*params.fixed, "routed"]
    formats = {part: UNIFORM.get(part, form.id) for part in parts}
    title = form.title if form.bits >= 16 else f"{form.title}, all but router and lm_head"
    return _weights(params, formats, form.id if form.bits >= 8 else f"{form.id}_uniform", title, _source(form), None)


def smallest(params: Params, form: Format) -> Weights:
    """Every weight at the fewest bits that the format has: the most favourable layout that its name allows."""
    size = form.least_bytes
    fixed = tuple(PartBytes(part, count, count * size, form.title) for part, count in params.fixed.items() if count)
    return Weights(
        id=f"{form.id}_all",
        title=f"every weight in {size * 8:g} bit ({form.title})",
        source=_source(form),
        fixed=fixed,
        experts=params.experts,
        top_k=params.top_k,
        expert_layers=params.expert_layers,
        expert_bytes=params.expert * size,
        expert_params=params.expert,
        expert_format=form.title,
        embed_bytes=params.embed * size,
        rate=form.rate or "bf16",
    )


def _weights(
    params: Params, formats: Mapping[Part, str], name: str, title: str, source: str, kv_cache: str | None
) -> Weights:
    known = all_formats()
    bf16 = known["bf16"]

    def form(part: Part) -> Format:
        return known[formats[part]] if part in formats else bf16

    main = form("routed" if params.experts else "dense_mlp")
    return Weights(
        id=name,
        title=title,
        source=source,
        fixed=tuple(
            PartBytes(part, count, count * form(part).bytes, form(part).title)
            for part, count in params.fixed.items()
            if count
        ),
        experts=params.experts,
        top_k=params.top_k,
        expert_layers=params.expert_layers,
        expert_bytes=params.expert * form("routed").bytes,
        expert_params=params.expert,
        expert_format=form("routed").title,
        embed_bytes=params.embed * bf16.bytes,
        draft_fixed_bytes=params.draft_fixed * bf16.bytes,
        draft_expert_bytes=params.draft_expert * bf16.bytes,
        head_bytes=params.head * bf16.bytes,
        rate=main.rate or "bf16",
        kv_cache=kv_cache,
    )


def _source(form: Format) -> str:
    return "; ".join(form.sources)
