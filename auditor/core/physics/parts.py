"""Parameters of a model by part, from the numbers of its architecture.

Norms, biases and convolution states are left out: together they are below one in a thousand.
"""

from dataclasses import dataclass

from auditor.reference.models import Architecture, Part


@dataclass(frozen=True, slots=True)
class Params:
    """Parameters by part, all layers together."""

    fixed: dict[Part, int]
    """What every step reads whole: all parts but routed experts."""
    expert: int
    """One routed expert of one layer."""
    experts: int
    """Routed experts of a layer; 0 in a dense model."""
    top_k: int
    """Routed experts that a token uses in a layer."""
    expert_layers: int
    embed: int
    """The embedding table, a lookup; 0 where lm_head serves as it."""
    draft_fixed: int
    """What a draft step of the MTP head reads whole, lm_head included; 0 without one."""
    draft_expert: int
    """One routed expert of the MTP head."""

    @property
    def total(self) -> int:
        """All parameters without the MTP head."""
        return sum(self.fixed.values()) + self.embed + self.expert * self.experts * self.expert_layers

    @property
    def active(self) -> int:
        """What one token uses, lm_head included, the embedding table not."""
        return sum(self.fixed.values()) + self.expert * self.top_k * self.expert_layers

    @property
    def head(self) -> int:
        """The MTP head whole, its own lm_head not counted: that is the model's."""
        if not self.draft_fixed:
            return 0
        return self.draft_fixed - self.fixed["lm_head"] + self.draft_expert * self.experts


def params_of(arch: Architecture) -> Params:
    """The parameters that an architecture has."""
    full = arch.layers if arch.full_layers is None else arch.full_layers
    sparse = arch.layers - arch.dense_layers if arch.experts else 0
    dense = arch.dense_layers if arch.experts else arch.layers
    attention = _attention(arch)
    expert = 3 * arch.hidden * (arch.expert_inter or 0)
    shared = 3 * arch.hidden * arch.shared_inter
    router = arch.hidden * (arch.experts or 0)
    mlp = 3 * arch.hidden * (arch.dense_inter or 0)
    lm_head = arch.vocab * arch.hidden
    fixed: dict[Part, int] = {
        "attn": attention * full,
        "gdn": _linear(arch),
        "indexer": _indexer(arch) * arch.layers,
        "router": router * sparse,
        "shared": shared * sparse,
        "dense_mlp": mlp * dense,
        "lm_head": lm_head,
    }
    draft = attention + 2 * arch.hidden**2 + lm_head + (router + shared if arch.experts else mlp)
    return Params(
        fixed=fixed,
        expert=expert,
        experts=arch.experts or 0,
        top_k=arch.top_k or 0,
        expert_layers=sparse,
        embed=0 if arch.tied else lm_head,
        draft_fixed=draft if arch.mtp_layers else 0,
        draft_expert=expert if arch.mtp_layers else 0,
    )


def _attention(arch: Architecture) -> int:
    """One layer of attention over the context."""
    if arch.attention == "mla":
        return _latent(arch)
    heads, head_dim, kv_heads = arch.heads, arch.head_dim or arch.hidden // arch.heads, arch.kv_heads or arch.heads
    query = arch.hidden * heads * head_dim * (2 if arch.gate else 1)
    return query + 2 * arch.hidden * kv_heads * head_dim + heads * head_dim * arch.hidden


def _latent(arch: Architecture) -> int:
    """One layer of attention over a compressed latent (MLA)."""
    nope, rope, value, latent = arch.nope or 0, arch.rope or 0, arch.value_dim or 0, arch.kv_lora or 0
    width = arch.heads * (nope + rope)
    query = arch.hidden * arch.q_lora + arch.q_lora * width if arch.q_lora else arch.hidden * width
    down = arch.hidden * (latent + rope)
    return query + down + latent * arch.heads * (nope + value) + arch.heads * value * arch.hidden


def _linear(arch: Architecture) -> int:
    """All layers of linear attention (gated delta net)."""
    if arch.linear is None:
        return 0
    keys, values = arch.linear.key_heads * arch.linear.key_dim, arch.linear.value_heads * arch.linear.value_dim
    inward = arch.hidden * (2 * keys + 2 * values) + arch.hidden * 2 * arch.linear.value_heads
    return (inward + values * arch.hidden + (2 * keys + values) * arch.linear.conv) * arch.linear.layers


def _indexer(arch: Architecture) -> int:
    """What one layer of sparse attention adds to pick its tokens."""
    if arch.indexer is None:
        return 0
    return (arch.q_lora or arch.hidden) * arch.indexer.heads * arch.indexer.dim + arch.hidden * (
        arch.indexer.dim + arch.indexer.heads
    )
