"""Bytes and number formats of every part: from the headers, from an index, or from what the configuration declares."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from auditor.core.checkpoint.quant import Declared
from auditor.core.checkpoint.tensors import Place, Tensor, format_of, kind_of, modules_of, place_of, weights_in
from auditor.core.physics.parts import Params
from auditor.reference.formats import all_formats, find_formats
from auditor.reference.models import Architecture, Part

PREFIXES = ("model.", "model.language_model.", "language_model.model.", "")
"""What the names of modules begin with, by family of models."""
_MODULES: dict[Part, tuple[str, ...]] = {
    "attn": ("self_attn.q_proj", "self_attn.o_proj"),
    "gdn": ("linear_attn.in_proj_qkvz", "linear_attn.in_proj_qkv", "linear_attn.out_proj"),
    "indexer": ("self_attn.indexer.wq_b",),
    "router": ("mlp.gate", "block_sparse_moe.gate", "mlp.router"),
    "routed": ("mlp.experts.0.gate_proj", "mlp.experts.0.up_proj", "block_sparse_moe.experts.0.w1", "ffn.experts.0.w1"),
    "shared": ("mlp.shared_expert.gate_proj", "mlp.shared_experts.gate_proj", "ffn.shared_experts.w1"),
    "dense_mlp": ("mlp.gate_proj", "mlp.down_proj"),
}


@dataclass(slots=True)
class Measured:
    """One part as the files show it."""

    stored: float = 0.0
    weights: int = 0
    formats: Counter[str] = field(default_factory=Counter)
    """Modules by number format."""

    def words(self) -> str:
        """The formats in words, the commonest first."""
        return " and ".join(name for name, _ in self.formats.most_common(3)) or "not known"


def by_headers(tensors: Iterable[Tensor], layers: int, bits: int | None) -> dict[Place, Measured]:
    """Every part from the types and sizes of its tensors."""
    found: dict[Place, Measured] = {}
    for module, group in modules_of(tensors).items():
        place = place_of(f"{module}.", layers)
        part = found.setdefault(place, Measured())
        form = format_of(group, bits)
        part.stored += sum(one.bytes for one in group)
        part.weights += weights_in(group, form, bits)
        if form is not None and place != "other":
            part.formats[form] += 1
    return found


def by_names(tensors: Iterable[Tensor], layers: int, declared: Declared | None, plain: str) -> dict[Place, Measured]:
    """Every part from the names of an index: a module with scales beside its weights is quantised."""
    found: dict[Place, Measured] = {}
    for module, group in modules_of(tensors).items():
        place = place_of(f"{module}.", layers)
        if place == "other":
            continue
        is_quantised = any(one.is_sign or _FUSED_SCALES.search(one.name) for one in group)
        form = plain
        if is_quantised:
            form = (declared.format_of(module) or declared.form if declared else None) or "not known"
        found.setdefault(place, Measured()).formats[form] += 1
    return found


_FUSED_SCALES = re.compile(r"\.experts\.\w+_scales$")


def by_declaration(arch: Architecture, declared: Declared | None, plain: str) -> dict[Place, Measured]:
    """Every part from what the configuration declares, asked for the names that its modules usually have."""
    found: dict[Place, Measured] = {}
    for part, names in _MODULES.items():
        for layer in range(arch.layers):
            forms = {_declared_format(declared, f"layers.{layer}.{name}", plain) for name in names}
            found.setdefault(part, Measured()).formats[_agreed(forms, plain)] += 1
    found["lm_head"] = Measured(formats=Counter({_declared_format(declared, "lm_head", plain, bare=True): 1}))
    for layer in range(arch.mtp_layers):
        names = (f"mtp.layers.{layer}.self_attn.q_proj", f"model.layers.{arch.layers + layer}.self_attn.q_proj")
        forms = {_declared_format(declared, name, plain, bare=True) for name in names}
        found.setdefault("mtp", Measured()).formats[_agreed(forms, plain)] += 1
    if declared is not None and not declared.says_what_is_left_out:
        found["lm_head"].formats = Counter({plain: 1})
        found["router"].formats = Counter({plain: arch.layers})
    return found


def _declared_format(declared: Declared | None, name: str, plain: str, *, bare: bool = False) -> str:
    if declared is None:
        return plain
    names = [name] if bare else [f"{prefix}{name}" for prefix in PREFIXES]
    forms = [declared.format_of(one) for one in names]
    if declared.by_module:
        return next((form for form in forms if form), plain)
    return plain if None in forms else forms[0] or plain


def _agreed(forms: set[str], plain: str) -> str:
    """One format for a part whose usual names differ: left out if any of them is."""
    return plain if plain in forms else sorted(forms)[0]


def bytes_of(weights: int, measured: Measured | None, plain: str) -> float:
    """Bytes of that many weights in the formats of a part, each module taken as equally large."""
    formats = measured.formats if measured and measured.formats else Counter({plain: 1})
    whole = sum(formats.values())
    return sum(weights * _bits(form, plain) / 8 * count / whole for form, count in formats.items())


def _bits(form: str, plain: str) -> float:
    titled = next((row for row in all_formats().values() if row.title == form), None)
    known = [titled] if titled else find_formats(form)
    return known[0].bits if known else all_formats().get(plain.lower(), all_formats()["bf16"]).bits


def split_head(tensors: Sequence[Tensor], layers: int, choose: Callable[[Place], bool]) -> float:
    """Bytes of the tensors of the MTP head whose own part, read as that of any layer, is chosen."""
    return sum(one.bytes for one in tensors if place_of(one.name, layers) == "mtp" and choose(_part_of_head(one.name)))


def _part_of_head(name: str) -> Place:
    return "lm_head" if "shared_head.head" in name or ".lm_head" in name else kind_of(name)


def missing_parts(params: Params, found: dict[Place, Measured]) -> list[Part]:
    """Parts that the architecture has and no tensor was found of."""
    expected = [part for part, count in params.fixed.items() if count]
    if params.experts:
        expected.append("routed")
    return [part for part in expected if part not in found]
