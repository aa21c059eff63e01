"""What one step of decoding reads: weights, KV cache and state, and the steps of the drafter."""

from dataclasses import dataclass

from auditor.core.physics.weights import Weights
from auditor.reference.models import Architecture

INDEXER_KEY_BYTES = 132
"""Bytes of an indexer key, per token and layer (FACTS of the project, section 2; about)."""
STATE_BYTES = 4
"""Bytes of an element of the state of linear attention, which engines keep in FP32."""


@dataclass(frozen=True, slots=True)
class Load:
    """What a step serves."""

    streams: int = 1
    draft_tokens: int = 0
    """Tokens drafted per step and stream (k)."""
    has_head: bool = False
    """Whether an MTP head drafts, whose weights every draft step reads."""
    context: int = 0
    """Tokens of context of each stream."""
    kv_bytes: float = 1.0
    """Bytes of an element of the KV cache."""
    tensor_parallel: int = 1
    """Ranks that a stream is spread over: what they cannot split is read by each."""


@dataclass(frozen=True, slots=True)
class StepBytes:
    """Bytes that one step reads, all cards together."""

    weights: float
    context: float
    state: float
    draft: float
    distinct: float
    """Distinct routed experts in each layer; 0 in a dense model."""

    @property
    def total(self) -> float:
        """All of it."""
        return self.weights + self.context + self.state + self.draft


def distinct_experts(experts: int, top_k: int, tokens: float) -> float:
    """Expected distinct experts of a layer for that many tokens, routed independently and evenly.

    E (1 - (1 - k/E)^T): k for one token, and never more than E.
    """
    return experts * (1 - (1 - top_k / experts) ** tokens) if experts else 0.0


def expected_step(weights: Weights, arch: Architecture, load: Load) -> StepBytes:
    """The bytes of a step under independent routing."""
    distinct = distinct_experts(weights.experts, weights.top_k, load.streams * (load.draft_tokens + 1))
    drafting = distinct_experts(weights.experts, weights.top_k, load.streams)
    return StepBytes(
        weights=weights.step_bytes(distinct),
        context=load.streams * context_bytes(arch, load.context, load.kv_bytes, load.tensor_parallel),
        state=load.streams * state_bytes(arch),
        draft=load.draft_tokens * weights.draft_bytes(drafting) if load.has_head else 0.0,
        distinct=distinct,
    )


def plain_step(weights: Weights, arch: Architecture, load: Load) -> StepBytes:
    """The fewest bytes of a step: every token uses the same experts, and drafts cost nothing."""
    return StepBytes(
        weights=weights.token_bytes(),
        context=load.streams * context_bytes(arch, load.context, load.kv_bytes, load.tensor_parallel),
        state=load.streams * state_bytes(arch),
        draft=0.0,
        distinct=float(weights.top_k),
    )


def context_bytes(arch: Architecture, context: int, element: float, ranks: int = 1) -> float:
    """Bytes of KV cache that a token of one stream reads at that context, summed over the ranks."""
    if arch.attention == "mla":
        width = (arch.kv_lora or 0) + (arch.rope or 0)
        read = context if arch.sparse_top_k is None else min(context, arch.sparse_top_k)
        keys = INDEXER_KEY_BYTES * arch.layers * context if arch.indexer else 0
        return ranks * (width * arch.layers * element * read + keys)
    full = (arch.layers if arch.full_layers is None else arch.full_layers) - arch.window_layers
    kv_heads = arch.kv_heads or arch.heads
    width = 2 * kv_heads * (arch.head_dim or arch.hidden // arch.heads)
    near = arch.window_layers * min(context, arch.window or context)
    return max(1.0, ranks / kv_heads) * width * element * (full * context + near)


def cache_growth(arch: Architecture, element: float) -> float:
    """Bytes of KV cache that a token of context adds, one copy."""
    if arch.attention == "mla":
        return ((arch.kv_lora or 0) + (arch.rope or 0)) * arch.layers * element
    full = arch.layers if arch.full_layers is None else arch.full_layers
    return 2 * (arch.kv_heads or arch.heads) * (arch.head_dim or arch.hidden // arch.heads) * full * element


def state_size(arch: Architecture) -> float:
    """Bytes of the state of linear attention of one stream."""
    if arch.linear is None:
        return 0.0
    one = arch.linear.value_heads * arch.linear.key_dim * arch.linear.value_dim
    return float(one * arch.linear.layers * STATE_BYTES)


def state_bytes(arch: Architecture) -> float:
    """Bytes of that state that a step moves: it is read and written."""
    return 2 * state_size(arch)
