"""The architecture that a `config.json` describes."""

from collections.abc import Mapping
from typing import Any

import orjson

from auditor.errors import UsageError
from auditor.reference.models import Architecture, Indexer, LinearAttention

Config = Mapping[str, Any]
_NESTED = ("text_config", "llm_config", "language_config")
_KNOWN_LAYERS = {"full_attention", "attention", "linear_attention", "sliding_attention", "deepseek_sparse_attention"}
MAX_NUMBER = 1 << 40
"""No number of an architecture is larger."""


def parse_json(data: bytes, where: str) -> dict[str, Any]:
    """A JSON object; raises UsageError for anything else."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise UsageError(f"not JSON: {error}", where=where) from None
    if not isinstance(value, dict):
        raise UsageError("not a JSON object", where=where)
    return value


def language_part(config: Config) -> dict[str, Any]:
    """The configuration of the language model, which models with eyes or ears keep in a part of their own."""
    for name in _NESTED:
        if isinstance(config.get(name), dict):
            return {**config, **config[name]}
    return dict(config)


def architecture_of(config: Config, where: str) -> Architecture:
    """The architecture of a decoder language model; raises UsageError that names what is missing or not known."""
    text = language_part(config)
    reader = _Reader(text, where)
    layers, heads, hidden = (
        reader.need("num_hidden_layers"),
        reader.need("num_attention_heads"),
        reader.need("hidden_size"),
    )
    experts = reader.first("num_experts", "n_routed_experts", "num_local_experts", "moe_num_experts")
    kinds = _layer_kinds(text, layers, where)
    latent = reader.first("kv_lora_rank")
    linear = _linear(reader, kinds.get("linear_attention", 0))
    return Architecture(
        hidden=hidden,
        layers=layers,
        heads=heads,
        vocab=reader.need("vocab_size"),
        attention="mla" if latent else "gqa",
        kv_heads=None if latent else reader.first("num_key_value_heads") or heads,
        head_dim=None if latent else reader.first("head_dim") or hidden // heads,
        full_layers=layers - linear.layers if linear else None,
        gate=bool(text.get("attn_output_gate", str(text.get("model_type", "")).startswith("qwen3_next"))),
        q_lora=reader.first("q_lora_rank"),
        kv_lora=latent,
        nope=reader.first("qk_nope_head_dim"),
        rope=reader.first("qk_rope_head_dim"),
        value_dim=reader.first("v_head_dim"),
        **_experts(reader, experts, layers),
        mtp_layers=reader.first("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules") or 0,
        window=reader.first("sliding_window"),
        window_layers=_window_layers(text, kinds, layers),
        sparse_top_k=reader.first("index_topk"),
        tied=bool(config.get("tie_word_embeddings", text.get("tie_word_embeddings", False))),
        linear=linear,
        indexer=_indexer(reader),
    )


class _Reader:
    """Numbers of a configuration, checked as they are read."""

    def __init__(self, text: Config, where: str) -> None:
        self.text, self.where = text, where

    def first(self, *names: str) -> int | None:
        """The first of these that is set; 0 counts as not set. Raises UsageError for what is no count."""
        for name in names:
            value = self.text.get(name)
            if value is None or value == 0:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_NUMBER:
                raise UsageError(f"{name} is {str(value)[:40]}, not a whole number above 0", where=self.where)
            return value
        return None

    def need(self, name: str) -> int:
        """The number, or UsageError that it is missing."""
        value = self.first(name)
        if value is None:
            raise UsageError(
                f"has no {name}", where=self.where, remedy="decoder language models with the usual names can be read"
            )
        return value


def _experts(reader: _Reader, experts: int | None, layers: int) -> dict[str, Any]:
    dense = reader.first("intermediate_size")
    if experts is None:
        return {"dense_inter": dense or reader.need("intermediate_size")}
    inter = reader.first("moe_intermediate_size") or dense or reader.need("moe_intermediate_size")
    shared = reader.first("shared_expert_intermediate_size", "shared_intermediate_size")
    if shared is None:
        shared = (reader.first("n_shared_experts", "num_shared_experts") or 0) * inter
    return {
        "experts": experts,
        "top_k": reader.first("num_experts_per_tok", "experts_per_token", "moe_top_k")
        or reader.need("num_experts_per_tok"),
        "expert_inter": inter,
        "shared_inter": shared,
        "dense_layers": _dense_layers(reader, layers),
        "dense_inter": dense,
    }


def _dense_layers(reader: _Reader, layers: int) -> int:
    """Layers of a mixture of experts that have a plain MLP."""
    first, only = reader.first("first_k_dense_replace"), reader.text.get("mlp_only_layers")
    if first is not None:
        return min(first, layers)
    if isinstance(only, list) and only:
        return min(len(only), layers)
    step = reader.first("decoder_sparse_step")
    return 0 if step is None else layers - layers // step


def _layer_kinds(text: Config, layers: int, where: str) -> dict[str, int]:
    """How many layers there are of each kind; empty where the configuration does not list them."""
    listed = text.get("layer_types")
    if isinstance(listed, list) and listed:
        kinds = [str(kind) for kind in listed[:layers]]
        unknown = sorted(set(kinds) - _KNOWN_LAYERS)
        if unknown:
            raise UsageError(f"has layers of kind {unknown[0]}, whose bytes are not known here", where=where)
        return {kind: kinds.count(kind) for kind in set(kinds)}
    interval = text.get("full_attention_interval")
    if text.get("linear_num_value_heads") and isinstance(interval, int) and interval > 0:
        return {"full_attention": layers // interval, "linear_attention": layers - layers // interval}
    return {}


def _linear(reader: _Reader, layers: int) -> LinearAttention | None:
    if not layers:
        return None
    return LinearAttention(
        key_heads=reader.need("linear_num_key_heads"),
        key_dim=reader.need("linear_key_head_dim"),
        value_heads=reader.need("linear_num_value_heads"),
        value_dim=reader.need("linear_value_head_dim"),
        conv=reader.first("linear_conv_kernel_dim") or 4,
        layers=layers,
    )


def _indexer(reader: _Reader) -> Indexer | None:
    heads, dim = reader.first("index_n_heads"), reader.first("index_head_dim")
    return Indexer(heads=heads, dim=dim) if heads and dim else None


def _window_layers(text: Config, kinds: Mapping[str, int], layers: int) -> int:
    """Layers that look back a window only. Where the configuration does not say which, all: the fewest bytes."""
    if text.get("sliding_window") is None or text.get("use_sliding_window") is False:
        return 0
    return kinds.get("sliding_attention", 0) if kinds else layers
