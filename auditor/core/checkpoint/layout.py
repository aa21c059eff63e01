"""The bytes of a checkpoint as the bounds take them."""

from dataclasses import dataclass

from auditor.core.checkpoint.config import Config
from auditor.core.checkpoint.measure import Measured, bytes_of, split_head
from auditor.core.checkpoint.quant import Declared
from auditor.core.checkpoint.tensors import Place, Tensor
from auditor.core.physics.parts import Params
from auditor.core.physics.weights import PartBytes, Weights
from auditor.reference.formats import find_formats
from auditor.reference.models import Architecture, Part


@dataclass(frozen=True, slots=True)
class Contents:
    """What was read of a checkpoint."""

    name: str
    architecture: Architecture
    files: tuple[str, ...]
    config: Config
    declared: Declared | None
    tensors: tuple[Tensor, ...]
    """From headers or an index; empty where neither was there."""
    plain: str | None = None
    """Number format of what is not quantised; None to take it from the configuration."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """A checkpoint with what was found of each part."""

    contents: Contents
    arch: Architecture
    params: Params
    found: dict[Place, Measured]
    plain: str
    """Number format of what is not quantised."""
    how: str
    """What the bytes rest on."""
    has_types: bool
    """Whether the types of the tensors are known."""

    def stored(self, part: Part, weights: int) -> float:
        """Bytes of a part, all of it."""
        measured = self.found.get(part)
        if self.has_types and measured is not None and measured.stored:
            return measured.stored
        return bytes_of(weights, measured, self.plain)

    def words(self, part: Place) -> str:
        """Formats of a part."""
        measured = self.found.get(part)
        return measured.words() if measured else self.plain

    def layout(self) -> Weights:
        """The bytes as the bounds take them."""
        params = self.params
        routed = params.expert * params.experts * params.expert_layers
        each = self.stored("routed", routed) / (params.experts * params.expert_layers) if routed else 0.0
        fixed = tuple(
            PartBytes(part, count, self.stored(part, count), self.words(part))
            for part, count in params.fixed.items()
            if count
        )
        lm_head = next((part.bytes for part in fixed if part.part == "lm_head"), 0.0)
        draft_fixed, draft_expert = self._draft(lm_head)
        forms = find_formats(self.words("routed" if params.experts else "dense_mlp"))
        declared = self.contents.declared
        return Weights(
            id="checkpoint",
            title=f"as {self.contents.name} holds it",
            source=f"{self.contents.name}: {self.how}",
            fixed=fixed,
            experts=params.experts,
            top_k=params.top_k,
            expert_layers=params.expert_layers,
            expert_bytes=each,
            expert_params=params.expert,
            expert_format=self.words("routed"),
            embed_bytes=self._embed(),
            draft_fixed_bytes=draft_fixed,
            draft_expert_bytes=draft_expert,
            head_bytes=self._head(),
            rate=(forms[0].rate if forms else None) or "bf16",
            kv_cache=declared.kv_cache if declared else None,
        )

    def _embed(self) -> float:
        measured = self.found.get("embed")
        if self.params.embed == 0:
            return 0.0
        return measured.stored if measured and measured.stored else bytes_of(self.params.embed, None, self.plain)

    @property
    def _has_head(self) -> bool:
        """Whether an MTP head is in the files, or as far as the configuration says."""
        return "mtp" in self.found if self.contents.tensors else bool(self.arch.mtp_layers)

    def _draft(self, lm_head: float) -> tuple[float, float]:
        """What a draft step reads whole, and one of its routed experts. A head without an lm_head uses the model's."""
        params, tensors, layers = self.params, self.contents.tensors, self.arch.layers
        if not self._has_head:
            return 0.0, 0.0
        if self.has_types:
            own = split_head(tensors, layers, lambda place: place == "lm_head")
            fixed = split_head(tensors, layers, lambda place: place not in ("embed", "lm_head", "routed"))
            routed = split_head(tensors, layers, lambda place: place == "routed")
            return fixed + (own or lm_head), routed / max(1, params.experts)
        head = self.found.get("mtp")
        fixed = bytes_of(params.draft_fixed - params.fixed["lm_head"], head, self.plain)
        return fixed + lm_head, bytes_of(params.draft_expert, head, self.plain)

    def _head(self) -> float:
        head = self.found.get("mtp")
        if head is not None and head.stored:
            return head.stored
        return bytes_of(self.params.head, head, self.plain) if self._has_head else 0.0
