"""Tensors of a checkpoint by name and type: which part of the model each is, and in which number format."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from auditor.core.checkpoint.config import parse_json
from auditor.errors import UsageError
from auditor.reference.models import Part

Place = Part | Literal["embed", "mtp", "vision", "other"]
"""A part of the model, or what is beside the language model's own layers."""

DTYPE_BITS = {
    "F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16, "U16": 16,
    "F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "I8": 8, "U8": 8, "BOOL": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}  # fmt: skip
"""Types of safetensors, bits of an element."""
_PLAIN = {"F32": "FP32", "F16": "FP16", "BF16": "BF16", "F8_E4M3": "FP8", "F8_E5M2": "FP8", "I8": "INT8", "F4": "FP4"}
_SCALES = re.compile(r"(scale|scales|scale_2|scale_inv|zeros|qzeros|g_idx|shape|zero_point|amax|bias|perm)$")
_QUANTISED = re.compile(r"(scale|scales|scale_2|scale_inv|qzeros|g_idx|packed|qweight|zero_point)$")


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor as its header describes it."""

    name: str
    dtype: str | None
    """None where only an index was read."""
    shape: tuple[int, ...] = ()
    bytes: int = 0
    weights: int | None = None
    """How many weights it holds, where its type packs them in a way of its own (GGUF)."""

    @property
    def module(self) -> str:
        """The module that it belongs to: its name without the last word."""
        return self.name.rpartition(".")[0] or self.name

    @property
    def is_sign(self) -> bool:
        """Whether its name alone shows that the module is quantised."""
        return bool(_QUANTISED.search(self.name.rpartition(".")[2]))

    @property
    def is_scale(self) -> bool:
        """Whether it holds scales or the like and no weights."""
        return bool(_SCALES.search(self.name.rpartition(".")[2]))


def parse_index(data: bytes, where: str) -> tuple[tuple[Tensor, ...], frozenset[str]]:
    """The names of a `model.safetensors.index.json`, and its files; types and sizes are not in it."""
    names = parse_json(data, where).get("weight_map")
    if not isinstance(names, dict) or not all(isinstance(file, str) for file in names.values()):
        raise UsageError("has no weight_map of names and files", where=where)
    return tuple(Tensor(name, None) for name in names), frozenset(names.values())


def parse_header(data: bytes, where: str) -> tuple[Tensor, ...]:
    """The tensors of a safetensors file from the JSON of its header; raises UsageError where it is damaged."""
    found = []
    for name, entry in parse_json(data, where).items():
        if name == "__metadata__":
            continue
        try:
            dtype, shape = str(entry["dtype"]), tuple(int(size) for size in entry["shape"])
            start, end = (int(offset) for offset in entry["data_offsets"])
        except (KeyError, TypeError, ValueError):
            raise UsageError(f"the header does not describe {name[:80]}", where=where) from None
        if not 0 <= start <= end or any(size < 0 for size in shape):
            raise UsageError(f"the header gives {name[:80]} no size", where=where)
        found.append(Tensor(name, dtype, shape, end - start))
    return tuple(found)


_MTP = re.compile(r"(^|\.)(mtp|mtp_layers|nextn|nextn_predict_layers)\.|(^|\.)(eh_proj|enorm|hnorm|shared_head)(\.|$)")
_PATTERNS: tuple[tuple[str, Place], ...] = (
    (r"(^|\.)(visual|vision\w*|image\w*|audio\w*|mm_projector|multi_modal\w*|patch_\w+)(\.|$)", "vision"),
    (r"(^|\.)(embed_tokens|wte|tok_embeddings|word_embeddings|token_embd|embed)(\.|$)", "embed"),
    (r"(^|\.)(lm_head|output_layer)(\.|$)|^(head|output)\.", "lm_head"),
    (r"norm(\.|$)|_norm|layernorm", "other"),
    (r"\.indexer\.", "indexer"),
    (r"(linear_attn|gated_delta|\.gdn|\.mamba|\.ssm)", "gdn"),
    (r"(self_attn|\.attention\.|\.attn\.|\.attn_)", "attn"),
    (r"(shared_expert|shared_mlp|_shexp)", "shared"),
    (r"\.experts\.|\.experts$|_exps(\.|$)", "routed"),
    (r"(mlp|moe|block_sparse_moe|ffn|feed_forward)\.(gate|router)(\.|$)|\.router(\.|$)|ffn_gate_inp", "router"),
    (r"\.(mlp|ffn|feed_forward)[._]|\.ffn_", "dense_mlp"),
)
_PLACES = tuple((re.compile(pattern), place) for pattern, place in _PATTERNS)


def place_of(name: str, layers: int) -> Place:
    """Which part a tensor is of a model with that many layers; MTP layers come after them or are named so."""
    if kind_of(name) == "vision":
        return "vision"
    layer = re.search(r"(?:layers|blk|h)\.(\d+)\.", name)
    if _MTP.search(name) or (layer is not None and int(layer[1]) >= layers):
        return "mtp"
    return kind_of(name)


def kind_of(name: str) -> Place:
    """Which part a tensor is by its name alone, MTP layers read as any layer."""
    return next((place for pattern, place in _PLACES if pattern.search(name)), "other")


def format_of(tensors: Sequence[Tensor], int_bits: int | None = None) -> str | None:
    """The number format of the weights of one module; None where no type is known or it holds no weights.

    Packed four-bit weights are told apart by their scales: FP8 ones are NVFP4's, bytes are MXFP4's.
    """
    weights = [one for one in tensors if not one.is_scale and one.dtype]
    if not weights:
        return None
    main = max(weights, key=lambda one: one.bytes)
    scales = {one.dtype for one in tensors if one.is_scale and one is not main}
    if main.dtype == "U8":
        if "F8_E4M3" in scales:
            return "NVFP4"
        return "MXFP4" if scales & {"U8", "F8_E8M0"} else "U8"
    if main.dtype in ("I32", "U32"):
        return f"INT{int_bits}" if int_bits else "INT packed"
    return _PLAIN.get(main.dtype or "", main.dtype)


def modules_of(tensors: Iterable[Tensor]) -> dict[str, list[Tensor]]:
    """Tensors by module. Fused experts that keep blocks and scales under names of their own count as one module."""
    found: dict[str, list[Tensor]] = {}
    for one in tensors:
        module = re.sub(r"_(blocks|scales|bias)$", "", one.name) if _FUSED.search(one.name) else one.module
        found.setdefault(module, []).append(one)
    return found


_FUSED = re.compile(r"\.experts\.\w+_(blocks|scales|bias)$")


def weights_in(tensors: Sequence[Tensor], form: str | None, int_bits: int | None = None) -> int:
    """How many weights a module holds: packed ones are counted by their bits."""
    total = 0
    for one in tensors:
        if one.is_scale or one.dtype is None:
            continue
        if one.weights is not None:
            total += one.weights
        elif form in ("NVFP4", "MXFP4") and one.dtype == "U8":
            total += one.bytes * 2
        elif one.dtype in ("I32", "U32") and int_bits:
            total += one.bytes * 8 // int_bits
        else:
            total += one.bytes * 8 // DTYPE_BITS.get(one.dtype, 8)
    return total
