"""A model as physics needs it: architecture, parameters and layouts, from the reference table or a checkpoint."""

from dataclasses import dataclass

from auditor.core.physics.parts import Params, params_of
from auditor.core.physics.weights import Weights, laid_out, smallest, uniform
from auditor.reference.formats import Format, all_formats, find_formats, least_format
from auditor.reference.models import Architecture, Model, find_checkpoint

_USUAL = ("bf16", "fp8", "nvfp4")
"""Formats in which any model may be served, laid out uniformly."""


@dataclass(frozen=True, slots=True)
class Figures:
    """A model with every layout that is known of it."""

    id: str
    name: str
    architecture: Architecture
    params: Params
    layouts: tuple[Weights, ...]
    """As published first, then uniform ones."""
    source: str
    is_exact: bool = False
    """Whether the only layout is that of the weights that were served, as read from their files."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The layouts that a claim may mean."""

    shown: tuple[Weights, ...]
    best: Weights
    """The one with the fewest bytes that its words allow."""
    is_stated: bool
    """Whether the words leave only one."""
    because: str


def figures_of(model: Model) -> Figures | None:
    """The figures of a row of the table; None where its architecture is not known."""
    arch = model.architecture
    if arch is None or model.gaps:
        return None
    params = params_of(arch)
    published = [laid_out(params, one) for one in model.checkpoints]
    usual = [uniform(params, all_formats()[name]) for name in _USUAL]
    return Figures(model.id, model.name, arch, params, (*published, *usual), "; ".join(model.sources))


def choose(figures: Figures, quantisation: str | None, repository: str | None, model: Model | None) -> Choice:
    """The layouts that a number format and a repository allow, the likeliest first.

    Where the layout itself is not said, the best one has every weight in the smallest format named; where no format is
    named, in the smallest that is known at all.
    """
    if figures.is_exact:
        return Choice(figures.layouts, figures.layouts[0], True, "as the files of the checkpoint hold them")
    known = find_checkpoint(model, repository) if model and repository else None
    if known:
        layout = next(one for one in figures.layouts if one.id == known.id)
        return Choice((layout,), layout, True, f"the layout of {repository}")
    forms = find_formats(quantisation or "") or find_formats((repository or "").rpartition("/")[2])
    if not forms:
        why = f"{quantisation} is not a format known here" if quantisation else "the number format is not stated"
        return Choice(figures.layouts, smallest(figures.params, least_format()), False, why)
    fits = [one for one in figures.layouts if any(_is_of(one, form) for form in forms)]
    fits += [uniform(figures.params, form) for form in forms if not any(_is_of(one, form) for one in fits)]
    least = min(forms, key=lambda form: form.least_bytes)
    why = f"{quantisation or repository} is stated, and not which parts it leaves out"
    return Choice(tuple(fits), smallest(figures.params, least), False, why)


def _is_of(layout: Weights, form: Format) -> bool:
    """Whether a layout has that format in its experts, or in its MLP where it has none."""
    if layout.experts:
        return layout.expert_format == form.title
    return any(part.part == "dense_mlp" and part.format == form.title for part in layout.fixed)
