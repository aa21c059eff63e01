"""The record of what a checkpoint holds, as `audit model` shows it."""

from auditor.core.record import Record


class PartView(Record):
    """One part of the model."""

    part: str
    title: str
    params: int
    stored_bytes: int
    token_bytes: int
    """Bytes of it that a token alone reads."""
    formats: dict[str, int]
    """Modules by number format; empty where only the arithmetic of the architecture is known."""
    how: str
    """What the bytes rest on."""


class MtpTensor(Record):
    """One tensor of the MTP head."""

    name: str
    dtype: str | None = None
    """Type as stored; None where only an index was read."""
    shape: tuple[int, ...] = ()


class MtpView(Record):
    """The head that drafts."""

    layers: int
    """As the configuration says."""
    sentence: str
    """Whether it is in the checkpoint and in which number format."""
    stored_bytes: int | None = None
    draft_step_bytes: int | None = None
    """Bytes that one draft step reads, lm_head included."""
    formats: dict[str, int] = {}
    """Its modules by number format."""
    tensors: tuple[MtpTensor, ...] = ()


class CheckpointView(Record):
    """A checkpoint."""

    name: str
    model_type: str | None
    files: tuple[str, ...]
    """What was read."""
    architecture: dict[str, object]
    total_params: int
    """All parameters of the language model without the MTP head."""
    active_params: int
    """What one token uses, lm_head included."""
    parts: tuple[PartView, ...]
    token_bytes: int
    """Bytes of weights that a token alone reads."""
    stored_bytes: int
    """Bytes of the language model without the MTP head."""
    beside_bytes: int | None = None
    """Bytes of vision towers, norms and the rest, which are left out of the bounds; None where not known."""
    kv_bytes: dict[str, float]
    """Bytes that a token of context adds to the KV cache, by number format."""
    kv_declared: str | None = None
    """Number format of the KV cache that the checkpoint declares."""
    state_bytes: float
    """Bytes of the state of linear attention of one stream, FP32."""
    mtp: MtpView
    quantisation: str
    """What is declared, in words."""
    unquantised: tuple[str, ...]
    """What stays unquantised beside parts that are not, by part."""
    left_out: tuple[str, ...] = ()
    """Patterns of modules that the configuration leaves out, as they are written."""
    notes: tuple[str, ...] = ()
    """What does not add up, or could not be told."""
