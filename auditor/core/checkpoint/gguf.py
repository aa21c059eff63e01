"""The head of a GGUF file: its metadata and tensors. Weights are not read."""

import struct
from dataclasses import dataclass
from typing import Any

from auditor.core.checkpoint.tensors import Tensor
from auditor.errors import UsageError
from auditor.reference.formats import all_formats
from auditor.reference.models import Architecture

MAGIC = b"GGUF"
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_NAMES = {
    "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj", "attn_qkv": "self_attn.qkv_proj",
}  # fmt: skip
"""Names of GGUF that the names of other files are known by."""
_MAX_TENSORS, _MAX_DIMENSIONS = 1_000_000, 8


class TornError(Exception):
    """The bytes end before the head does."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a GGUF file says of itself."""

    metadata: dict[str, Any]
    """Scalars and texts; of an array its length."""
    tensors: tuple[Tensor, ...]


def parse_gguf(data: bytes, where: str) -> Head:
    """The head of a GGUF file; raises UsageError for a version not read, TornError where more bytes are needed."""
    reader = _Reader(data)
    try:
        if reader.take(4) != MAGIC:
            raise UsageError("not a GGUF file", where=where)
        version, count, pairs = reader.number("I"), reader.number("Q"), reader.number("Q")
        if version not in (2, 3):
            raise UsageError(f"GGUF version {version} cannot be read", where=where, remedy="convert it to version 3")
        if count > _MAX_TENSORS or pairs > _MAX_TENSORS:
            raise UsageError("the head of the GGUF file is damaged", where=where)
        metadata = {reader.text(): reader.value(reader.number("I"), where) for _ in range(pairs)}
        return Head(metadata, tuple(_tensor(reader, where) for _ in range(count)))
    except (struct.error, UnicodeDecodeError, RecursionError):
        raise UsageError("the head of the GGUF file is damaged", where=where) from None


def architecture_of_gguf(head: Head, where: str) -> Architecture:
    """The architecture that the metadata describes; raises UsageError for what is missing or not known."""
    meta, name = head.metadata, str(head.metadata.get("general.architecture", ""))

    def first(*keys: str) -> int | None:
        for key in keys:
            value = meta.get(f"{name}.{key}")
            if isinstance(value, int) and not isinstance(value, bool) and value > 0:
                return value
        return None

    def need(key: str) -> int:
        value = first(key)
        if value is None:
            raise UsageError(f"has no {name}.{key}", where=where, remedy="models with one number a layer can be read")
        return value

    odd = next(
        (word for word in ("ssm", "attention.kv_lora_rank") if any(k.startswith(f"{name}.{word}") for k in meta)), None
    )
    if odd is not None:
        raise UsageError(f"GGUF files with {odd} cannot be read", where=where, remedy="give the original checkpoint")
    experts, layers, heads, hidden = (
        first("expert_count"),
        need("block_count"),
        need("attention.head_count"),
        need("embedding_length"),
    )
    drafting = first("nextn_predict_layers") or 0
    inter = first("expert_feed_forward_length", "feed_forward_length")
    return Architecture(
        hidden=hidden,
        layers=layers - drafting,
        heads=heads,
        vocab=_vocabulary(head, where),
        kv_heads=first("attention.head_count_kv") or heads,
        head_dim=first("attention.key_length") or hidden // heads,
        experts=experts,
        top_k=first("expert_used_count"),
        expert_inter=inter if experts else None,
        shared_inter=_shared(head, first("expert_shared_feed_forward_length"), first("expert_shared_count"), inter),
        dense_layers=(first("leading_dense_block_count") or 0) if experts else 0,
        dense_inter=first("feed_forward_length"),
        mtp_layers=drafting,
        tied=not any(one.name == "output.weight" for one in head.tensors),
    )


def _shared(head: Head, width: int | None, count: int | None, inter: int | None) -> int:
    if width is not None:
        return width
    return (count or 0) * (inter or 0) if any("_shexp" in one.name for one in head.tensors) else 0


def _vocabulary(head: Head, where: str) -> int:
    table = next((one for one in head.tensors if one.name == "token_embd.weight"), None)
    if table is None or len(table.shape) < 2:
        raise UsageError("has no embedding table", where=where)
    return table.shape[1]


def _tensor(reader: "_Reader", where: str) -> Tensor:
    name, dimensions = reader.text(), reader.number("I")
    if dimensions > _MAX_DIMENSIONS:
        raise UsageError("the head of the GGUF file is damaged", where=where)
    shape = tuple(reader.number("Q") for _ in range(dimensions))
    kind = reader.number("I")
    reader.number("Q")  # its place in the file
    weights = 1
    for size in shape:
        weights *= size
    form = _types().get(kind)
    if form is None:
        raise UsageError(f"{name[:80]} is of GGUF type {kind}, which is not known here", where=where)
    title, block, size = form
    for short, known in _NAMES.items():
        name = name.replace(f".{short}.", f".{known}.")
    return Tensor(name, title, shape, -(-weights // block) * size, weights)


def _types() -> dict[int, tuple[str, int, int]]:
    """Types by their number: what they are called, weights of a block, bytes of a block."""
    return {row.ggml[0]: (row.title, row.ggml[1], row.ggml[2]) for row in all_formats().values() if row.ggml}


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        """The next bytes; raises TornError where there are fewer."""
        if self.at + count > len(self.data):
            raise TornError
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> int:
        """The next number."""
        (value,) = struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))
        return int(value)

    def text(self) -> str:
        """The next text."""
        return self.take(self.number("Q")).decode()

    def value(self, kind: int, where: str) -> Any:
        """The next value of metadata; an array is passed over and its length returned."""
        if kind in _SCALARS:
            (value,) = struct.unpack(f"<{_SCALARS[kind]}", self.take(struct.calcsize(f"<{_SCALARS[kind]}")))
            return value
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY:
            raise UsageError("the head of the GGUF file is damaged", where=where)
        inner, count = self.number("I"), self.number("Q")
        if inner in _SCALARS:
            self.take(struct.calcsize(f"<{_SCALARS[inner]}") * count)
        else:
            for _ in range(count):
                self.value(inner, where)
        return count
