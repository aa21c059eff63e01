"""From the files of a checkpoint to what it holds: the view for people, and the figures for the bounds."""

from dataclasses import dataclass, replace

from auditor.core.checkpoint.config import Config, language_part
from auditor.core.checkpoint.layout import Contents, Sizes
from auditor.core.checkpoint.measure import Measured, by_declaration, by_headers, by_names, missing_parts
from auditor.core.checkpoint.quant import Declared
from auditor.core.checkpoint.tensors import Place, place_of
from auditor.core.checkpoint.view import CheckpointView, MtpTensor, MtpView, PartView
from auditor.core.physics.figures import Figures
from auditor.core.physics.parts import params_of
from auditor.core.physics.step import cache_growth, state_size
from auditor.core.physics.weights import Weights
from auditor.core.wording import plural

TITLES: dict[str, str] = {
    "attn": "attention", "gdn": "linear attention", "indexer": "indexer of sparse attention", "router": "router",
    "routed": "routed experts", "shared": "shared experts", "dense_mlp": "dense MLP", "lm_head": "lm_head",
    "embed": "embedding table",
}  # fmt: skip
_PLAIN = {"bfloat16": "BF16", "float16": "FP16", "float32": "FP32"}
_PLAIN_FORMATS = {"BF16", "FP16", "FP32"}
MAX_LISTED = 400
"""Tensors of the MTP head that are listed; all are counted."""
SLACK = 0.01
"""Relative difference between counted and computed weights that needs no word: norms and biases are left out."""


@dataclass(frozen=True, slots=True)
class Summary:
    """A checkpoint, for people and for the bounds."""

    view: CheckpointView
    figures: Figures


def summarise(contents: Contents) -> Summary:
    """What the checkpoint holds."""
    arch = contents.architecture
    plain = contents.plain or _PLAIN.get(str(_dtype(contents.config)), "BF16")
    has_types = any(one.dtype for one in contents.tensors)
    if not contents.tensors:
        found, how = by_declaration(arch, contents.declared, plain), "declared by the configuration"
    elif has_types:
        bits = contents.declared.bits if contents.declared else None
        found, how = by_headers(contents.tensors, arch.layers, bits), "sizes in the headers"
    else:
        found, how = by_names(contents.tensors, arch.layers, contents.declared, plain), "names in the index"
    if contents.tensors and "lm_head" not in found and "embed" in found:
        arch = arch.model_copy(update={"tied": True})  # configurations do not always say so
        found["lm_head"] = replace(found["embed"])
    params = params_of(arch)
    sizes = Sizes(contents, arch, params, found, plain, how, has_types)
    layout = sizes.layout()
    view = _view(sizes, layout)
    source = f"{contents.name}: {', '.join(contents.files)}"
    return Summary(view, Figures(contents.name, contents.name, arch, params, (layout,), source, is_exact=True))


def _dtype(config: Config) -> object:
    text = language_part(config)
    return text.get("dtype") or text.get("torch_dtype")


def _view(sizes: Sizes, layout: Weights) -> CheckpointView:
    contents, params, arch, found = sizes.contents, sizes.params, sizes.arch, sizes.found
    parts = [_part(sizes, part.part, part.params, part.bytes, part.bytes) for part in layout.fixed]
    if params.experts:
        routed = params.expert * params.experts * params.expert_layers
        whole = layout.expert_bytes * params.experts * params.expert_layers
        parts.append(_part(sizes, "routed", routed, whole, whole * params.top_k / params.experts))
    if params.embed:
        parts.append(_part(sizes, "embed", params.embed, layout.embed_bytes, 0.0))
    declared = contents.declared
    beside = [found[place].stored for place in ("vision", "other") if place in found]
    return CheckpointView(
        name=contents.name,
        model_type=_model_type(contents.config),
        files=contents.files,
        architecture=arch.model_dump(exclude_defaults=True),
        total_params=params.total,
        active_params=params.active,
        parts=tuple(sorted(parts, key=lambda part: -part.token_bytes)),
        token_bytes=round(layout.token_bytes()),
        stored_bytes=round(layout.stored_bytes()),
        beside_bytes=round(sum(beside)) if sizes.has_types else None,
        kv_bytes={"BF16": cache_growth(arch, 2), "FP8": cache_growth(arch, 1)},
        kv_declared=declared.kv_cache if declared else None,
        state_bytes=state_size(arch),
        mtp=_mtp(sizes, layout),
        quantisation=_declared_words(declared),
        unquantised=_unquantised(found),
        left_out=declared.left_out if declared else (),
        notes=_notes(sizes),
    )


def _part(sizes: Sizes, part: Place, weights: int, stored: float, token: float) -> PartView:
    measured = sizes.found.get(part)
    return PartView(
        part=part,
        title=TITLES[part],
        params=weights,
        stored_bytes=round(stored),
        token_bytes=round(token),
        formats=dict(measured.formats.most_common()) if measured else {},
        how=sizes.how if measured else f"not found: {sizes.plain} by the architecture",
    )


def _model_type(config: Config) -> str | None:
    found = config.get("model_type")
    return found if isinstance(found, str) else None


def _declared_words(declared: Declared | None) -> str:
    if declared is None:
        return "none is declared"
    size = f", groups of {declared.group_size}" if declared.group_size else ""
    left = f", {plural(len(declared.left_out), 'pattern')} left out" if declared.left_out else ""
    silent = "" if declared.says_what_is_left_out else ", what it leaves out is not said"
    return f"{declared.form or 'mixed formats'} by {declared.method}{size}{left}{silent} ({declared.source})"


def _unquantised(found: dict[Place, Measured]) -> tuple[str, ...]:
    """Parts with unquantised modules, where any other is quantised."""
    if not any(set(part.formats) - _PLAIN_FORMATS for part in found.values()):
        return ()
    words = []
    for place, part in found.items():
        whole = sum(part.formats.values())
        words += [
            f"{TITLES.get(place, place)}: {'all' if count == whole else f'{count} of {whole}'} in {form}"
            for form, count in part.formats.items()
            if form in _PLAIN_FORMATS
        ]
    return tuple(words)


def _mtp(sizes: Sizes, layout: Weights) -> MtpView:
    tensors, layers, declared = sizes.contents.tensors, sizes.arch.mtp_layers, sizes.contents.declared
    head = sizes.found.get("mtp")
    from_files = [one for one in tensors if place_of(one.name, sizes.arch.layers) == "mtp"]
    listed = tuple(MtpTensor(name=one.name, dtype=one.dtype, shape=one.shape) for one in from_files[:MAX_LISTED])
    return MtpView(
        layers=layers,
        sentence=_mtp_sentence(layers, head, len(from_files), bool(tensors), declared is not None),
        stored_bytes=round(layout.head_bytes) if layout.head_bytes else None,
        draft_step_bytes=round(layout.draft_bytes(layout.top_k)) if layout.draft_fixed_bytes else None,
        formats=dict(head.formats.most_common()) if head else {},
        tensors=listed,
    )


def _mtp_sentence(layers: int, head: Measured | None, count: int, has_tensors: bool, is_quantised: bool) -> str:
    if has_tensors and not count:
        return (
            f"the configuration names {layers} MTP layers and no tensor of one is in the checkpoint: it cannot draft"
            if layers
            else "none"
        )
    if not layers and not count:
        return "none"
    formats = head.words() if head else "not known"
    if not has_tensors:
        return f"{layers} in the configuration, {formats} as declared; the files were not read, so it may be missing"
    plain = head is not None and not set(head.formats) - _PLAIN_FORMATS
    beside = ", not in the quantisation" if plain and is_quantised else ""
    return f"in the checkpoint: {count:,} tensors, {formats}{beside}"


def _notes(sizes: Sizes) -> tuple[str, ...]:
    notes = []
    if sizes.contents.tensors:
        missing = [TITLES[part] for part in missing_parts(sizes.params, sizes.found)]
        if missing:
            notes.append(f"no tensor was recognised as {', '.join(missing)}: those bytes are by the architecture")
    if sizes.has_types:
        counted = sum(part.weights for place, part in sizes.found.items() if place in TITLES)
        counted -= sizes.found["lm_head"].weights if sizes.arch.tied and "lm_head" in sizes.found else 0
        if abs(counted / sizes.params.total - 1) > SLACK:
            notes.append(
                f"the headers hold {counted:,} weights and the architecture makes {sizes.params.total:,}: files are "
                "missing, or the architecture is read wrongly"
            )
    elif sizes.contents.tensors:
        notes.append("an index has no types: bytes follow from the declared formats; with the files they are exact")
    else:
        notes.append("neither files nor an index were read: formats are as the configuration declares them")
    if any("not known" in part.formats for part in sizes.found.values()):
        notes.append("some modules are quantised in a format that nothing declares; they are counted as unquantised")
    return tuple(notes)
