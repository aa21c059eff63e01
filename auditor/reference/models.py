"""Models: their architectures, and what published checkpoints hold in which number format."""

import functools
import re
from difflib import get_close_matches
from typing import Literal

from auditor.reference.rows import Row, load

Part = Literal["attn", "gdn", "indexer", "router", "routed", "shared", "dense_mlp", "lm_head"]
"""What of a model is read for a token; `gdn` is linear attention (gated delta net)."""


class LinearAttention(Row):
    """Layers whose state does not grow with the context."""

    key_heads: int
    key_dim: int
    value_heads: int
    value_dim: int
    conv: int
    layers: int


class Indexer(Row):
    """What picks the tokens of sparse attention."""

    heads: int
    dim: int


class Architecture(Row):
    """The numbers from which parameters and bytes follow; a field that does not apply is None or 0."""

    hidden: int
    layers: int
    heads: int
    vocab: int
    attention: Literal["gqa", "mla"] = "gqa"
    kv_heads: int | None = None
    head_dim: int | None = None
    full_layers: int | None = None
    """Layers with attention over the context; None where all have it."""
    gate: bool = False
    """Whether the query projection carries an output gate and so is twice as wide."""
    q_lora: int | None = None
    kv_lora: int | None = None
    nope: int | None = None
    rope: int | None = None
    value_dim: int | None = None
    experts: int | None = None
    top_k: int | None = None
    expert_inter: int | None = None
    shared_inter: int = 0
    dense_layers: int = 0
    """Layers of a mixture of experts that have a plain MLP instead."""
    dense_inter: int | None = None
    mtp_layers: int = 0
    window: int | None = None
    """Tokens that sliding-window layers look back."""
    window_layers: int = 0
    sparse_top_k: int | None = None
    """Tokens that sparse attention reads."""
    tied: bool = False
    """Whether lm_head is the embedding table."""
    linear: LinearAttention | None = None
    indexer: Indexer | None = None


class Reported(Row):
    """What somebody measured of a checkpoint, beside what the byte count predicts."""

    what: str
    value: float
    unit: str
    predicted: float
    why: str | None = None
    sources: tuple[str, ...] = ()


class Checkpoint(Row):
    """A published layout of the weights."""

    id: str
    title: str
    formats: dict[Part, str]
    """Number format by part; a part that is not named is BF16."""
    maker: str | None = None
    """Owner of the repository, where it is known."""
    repos: tuple[str, ...] = ()
    unquantised: tuple[str, ...] = ()
    """What it leaves unquantised, in the words of its configuration."""
    kv_cache: str | None = None
    """Number format of the KV cache that it declares."""
    reported: tuple[Reported, ...] = ()
    note: str | None = None
    sources: tuple[str, ...] = ()


class Model(Row):
    """A row of the table."""

    id: str
    name: str
    names: tuple[str, ...]
    """Names that the row holds for."""
    sources: tuple[str, ...]
    published_total_b: float | None = None
    """Parameters as published, billions."""
    published_active_b: float | None = None
    architecture: Architecture | None = None
    """None where the material does not give it; `gaps` says so."""
    checkpoints: tuple[Checkpoint, ...] = ()
    as_published: str | None = None
    max_context: int | None = None
    inferred: str | None = None
    """What of the architecture was inferred."""
    gaps: str | None = None
    """What the material does not give."""


@functools.cache
def all_models() -> tuple[Model, ...]:
    """Every row, in the order of the table."""
    return tuple(Model.model_validate(row) for row in load("models.json")["models"])


def find_model(text: str) -> Model | None:
    """The row that a name means, owner and number format left out; None where there is none.

    A pruned, distilled or otherwise changed model has another name and is not found.
    """
    return _index().get(_plain(text))


def find_checkpoint(model: Model, repository: str) -> Checkpoint | None:
    """The layout of a repository that the table knows; None where it does not.

    A repository of a known maker counts if exactly one layout of that maker is in the table and the name has its
    number format.
    """
    wanted = repository.strip().lower().rstrip("/")
    owner, _, name = wanted.rpartition("/")
    for checkpoint in model.checkpoints:
        if wanted in (repo.lower() for repo in checkpoint.repos):
            return checkpoint
    owned = [one for one in model.checkpoints if one.maker and one.maker == owner.rpartition("/")[2]]
    fits = [one for one in owned if re.search(rf"(?<![a-z0-9]){one.id.split('_')[0]}(?![a-z0-9])", name)]
    return fits[0] if len(fits) == 1 else None


def suggest_models(text: str) -> tuple[str, ...]:
    """Ids of the table that are spelled like it, at most three."""
    near = get_close_matches(_plain(text), _index(), n=6, cutoff=0.55)
    return tuple(dict.fromkeys(_index()[name].id for name in near))[:3]


_IGNORED = re.compile(
    r"(?<![a-z0-9])(?:nvfp4|mxfp4|fp4|fp8|bf16|fp16|int4|int8|awq|gptq|w4a16|w8a8|gguf|mlx|modelopt|dynamic|hf"
    r"|instruct|it|chat|base|thinking|dense|\d{4}|i?q\d\w*|ud|\d-?bit)(?![a-z0-9])"
)
"""Words that do not change the shape of a model: number formats, post-training, dates."""


def _plain(text: str) -> str:
    name = text.strip().lower().rstrip("/").rsplit("/", 1)[-1].removesuffix(".gguf")
    words = re.findall(r"[a-z0-9.]+", _IGNORED.sub(" ", name))
    return " ".join(word for word in words if not re.fullmatch(r"a\d+(\.\d+)?b", word))


@functools.cache
def _index() -> dict[str, Model]:
    return {_plain(name): model for model in all_models() for name in (model.id, *model.names)}
