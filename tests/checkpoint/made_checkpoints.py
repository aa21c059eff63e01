"""Checkpoints made for tests: the files without their weights, which nothing here reads."""

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

BYTES = {"BF16": 2, "F32": 4, "F8_E4M3": 1, "U8": 1, "I32": 4}

Tensors = dict[str, tuple[str, tuple[int, ...]]]


def write(
    folder: Path,
    config: Mapping[str, Any],
    *,
    quant: Mapping[str, Any] | None = None,
    tensors: Tensors | None = None,
    only_index: bool = False,
) -> Path:
    """A folder with these files, the tensors as headers of two safetensors files or as an index alone."""
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    if quant is not None:
        (folder / "hf_quant_config.json").write_text(json.dumps(quant))
    if tensors is None:
        return folder
    names = list(tensors)
    shards = {name: f"model-0000{1 + index % 2}-of-00002.safetensors" for index, name in enumerate(names)}
    index = {"metadata": {"total_size": 0}, "weight_map": shards}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    if only_index:
        return folder
    for file in set(shards.values()):
        here = {name: tensors[name] for name in names if shards[name] == file}
        (folder / file).write_bytes(header(here))
    return folder


def header(tensors: Tensors) -> bytes:
    """The head of a safetensors file, its length before it."""
    at, entries = 0, {"__metadata__": {"format": "pt"}}
    for name, (dtype, shape) in tensors.items():
        size = BYTES[dtype]
        for length in shape:
            size *= length
        entries[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [at, at + size]}
        at += size
    data = json.dumps(entries).encode()
    return struct.pack("<Q", len(data)) + data


def nvfp4(name: str, rows: int, columns: int) -> Tensors:
    """A matrix in NVFP4 as modelopt writes it."""
    return {
        f"{name}.weight": ("U8", (rows, columns // 2)),
        f"{name}.weight_scale": ("F8_E4M3", (rows, columns // 16)),
        f"{name}.weight_scale_2": ("F32", ()),
        f"{name}.input_scale": ("F32", ()),
    }


def bf16(name: str, *shape: int) -> Tensors:
    """A matrix in BF16."""
    return {f"{name}.weight": ("BF16", shape)}


HYBRID = {
    "model_type": "qwen3_5_moe",
    "text_config": {
        "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32,
        "vocab_size": 1000, "attn_output_gate": True, "num_experts": 8, "num_experts_per_tok": 2,
        "moe_intermediate_size": 32, "shared_expert_intermediate_size": 32, "mtp_num_hidden_layers": 1,
        "full_attention_interval": 4, "linear_num_key_heads": 2, "linear_key_head_dim": 16,
        "linear_num_value_heads": 4, "linear_value_head_dim": 16, "linear_conv_kernel_dim": 4, "dtype": "bfloat16",
    },
    "tie_word_embeddings": False,
}  # fmt: skip
"""One layer in four attends to the context, as Qwen3.5 does."""
HYBRID_QUANT = {
    "producer": {"name": "modelopt"},
    "quantization": {
        "quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16,
        "exclude_modules": ["lm_head", "*.self_attn*", "*.linear_attn*", "*shared_expert*", "*.mlp.gate", "mtp.*"],
    },
}  # fmt: skip


def hybrid_tensors() -> Tensors:
    """The tensors of such a model, routed experts in NVFP4 and all else in BF16, with an MTP head and an eye."""
    found: Tensors = {}
    for layer in range(4):
        found |= _layer(f"model.language_model.layers.{layer}", attends=layer == 3, quantised=True)
    found |= bf16("model.language_model.embed_tokens", 1000, 64) | bf16("lm_head", 1000, 64)
    found |= bf16("model.language_model.norm", 64) | bf16("model.visual.blocks.30.attn.qkv", 48, 16)
    found |= bf16("mtp.fc", 64, 128) | bf16("mtp.pre_fc_norm_hidden", 64)
    return found | _layer("mtp.layers.0", attends=True, quantised=False)


def _layer(name: str, *, attends: bool, quantised: bool) -> Tensors:
    found = bf16(f"{name}.input_layernorm", 64) | bf16(f"{name}.mlp.gate", 8, 64)
    if attends:
        found |= bf16(f"{name}.self_attn.q_proj", 256, 64) | bf16(f"{name}.self_attn.k_proj", 64, 64)
        found |= bf16(f"{name}.self_attn.v_proj", 64, 64) | bf16(f"{name}.self_attn.o_proj", 64, 128)
    else:
        found |= bf16(f"{name}.linear_attn.in_proj_qkvz", 192, 64) | bf16(f"{name}.linear_attn.in_proj_ba", 8, 64)
        found |= bf16(f"{name}.linear_attn.out_proj", 64, 64) | bf16(f"{name}.linear_attn.conv1d", 128, 4)
    for word, rows, columns in (("gate_proj", 32, 64), ("up_proj", 32, 64), ("down_proj", 64, 32)):
        found |= bf16(f"{name}.mlp.shared_expert.{word}", rows, columns)
        for expert in range(8):
            one = f"{name}.mlp.experts.{expert}.{word}"
            found |= nvfp4(one, rows, columns) if quantised else bf16(one, rows, columns)
    return found


def gguf(metadata: Mapping[str, Any], tensors: Mapping[str, tuple[tuple[int, ...], int]], version: int = 3) -> bytes:
    """The head of a GGUF file: 32-bit numbers, texts and lists of texts; tensors by shape and type."""
    data = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(metadata))
    for key, value in metadata.items():
        data += _text(key)
        if isinstance(value, str):
            data += struct.pack("<I", 8) + _text(value)
        elif isinstance(value, list):
            data += struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
        else:
            data += struct.pack("<II", 4, value)
    for name, (shape, kind) in tensors.items():
        data += _text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, 0)
    return data


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()
