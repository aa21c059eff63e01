"""Checkpoints and models of the reference table as text for people."""

from collections import Counter

from auditor.cli.columns import Row, table, wrapped
from auditor.core.checkpoint.view import CheckpointView, MtpView
from auditor.core.physics.figures import figures_of
from auditor.core.physics.step import cache_growth, state_size
from auditor.core.physics.weights import Weights
from auditor.core.wording import figure
from auditor.reference.models import Checkpoint, Model

_LISTED = 12
"""Tensors of an MTP head and patterns that are listed; `--json` has more."""


def checkpoint_text(view: CheckpointView) -> str:
    """What a checkpoint holds."""
    lines = wrapped(f"{view.name} ({view.model_type or 'type not named'}), read from {', '.join(view.files)}")
    lines += wrapped(f"Architecture  {_architecture(view.architecture)}", "", "  ")
    lines.append(f"Parameters    {_billions(view.total_params)} in all, {_billions(view.active_params)} a token")
    lines += wrapped(f"Quantisation  {view.quantisation}", "", "  ")
    lines += [
        "",
        f"Bytes of weights that a token alone reads: {_gb(view.token_bytes)}, of {_gb(view.stored_bytes)}",
        "",
    ]
    rows: list[Row] = [("part", "parameters", "stored", "a token", "modules by format", "from")]
    for part in view.parts:
        stored, token = _gb(part.stored_bytes), _gb(part.token_bytes)
        rows.append((part.title, _billions(part.params), stored, token, _formats(part.formats), part.how))
    lines += table(rows, right=(1, 2, 3))
    if view.beside_bytes:
        lines.append(f"  left out: {_gb(view.beside_bytes)} of norms, vision and the rest")
    kv = ", ".join(f"{size:,.0f} in {form}" for form, size in view.kv_bytes.items())
    declared = f"; the checkpoint declares {view.kv_declared}" if view.kv_declared else ""
    lines += ["", f"KV cache      bytes a token of context: {kv}{declared}"]
    if view.state_bytes:
        lines.append(f"State         {_gb(view.state_bytes)} of linear attention a stream, FP32")
    lines += _mtp(view.mtp)
    if view.unquantised:
        lines += wrapped(f"Unquantised   {'; '.join(view.unquantised)}", "", "  ")
    if view.left_out:
        more = f" and {len(view.left_out) - _LISTED} more" if len(view.left_out) > _LISTED else ""
        lines += wrapped(f"Left out by   {', '.join(view.left_out[:_LISTED])}{more}", "", "  ")
    return "\n".join([*lines, *(line for note in view.notes for line in wrapped(f"{note}.", "Note: "))])


def _mtp(mtp: MtpView) -> list[str]:
    lines = wrapped(f"MTP           {mtp.sentence}", "", "  ")
    if mtp.draft_step_bytes:
        stored = f", {_gb(mtp.stored_bytes)} stored" if mtp.stored_bytes else ""
        lines.append(f"  a draft step reads {_gb(mtp.draft_step_bytes)}, lm_head included{stored}")
    shapes = Counter((_short(one.name), one.dtype) for one in mtp.tensors)
    for (name, dtype), count in list(shapes.items())[:_LISTED]:
        lines.append(f"  {name}{f' ({dtype})' if dtype else ''}{f' x {count:,}' if count > 1 else ''}")
    if len(shapes) > _LISTED:
        lines.append(f"  and {len(shapes) - _LISTED} more; --json lists them")
    return lines


def _short(name: str) -> str:
    """The name of a tensor with the number of its expert left out, so that equal ones count as one."""
    head, found, tail = name.partition(".experts.")
    number, dot, rest = tail.partition(".")
    return f"{head}.experts.*.{rest}" if found and dot and number.isdigit() else name


def reference_text(model: Model) -> str:
    """A row of the table with its sources, and what follows from it."""
    lines = [f"{model.name} ({model.id}), from the reference table"]
    lines += wrapped(f"Holds for     {', '.join(model.names)}", "", "  ")
    if model.published_total_b is not None:
        lines.append(
            f"Published     {model.published_total_b:g} billion parameters, {model.published_active_b:g} a token"
        )
    if model.architecture is not None:
        numbers = model.architecture.model_dump(exclude_defaults=True)
        lines += wrapped(f"Architecture  {_architecture(numbers)}", "", "  ")
    lines += _figures(model)
    for name, text in (("Inferred", model.inferred), ("Not known", model.gaps), ("As published", model.as_published)):
        if text:
            lines += wrapped(f"{name:<14}{text}", "", "  ")
    sources = dict.fromkeys((*model.sources, *(one.source for one in layouts_of(model))))
    lines += ["Sources", *(line for source in sources for line in wrapped(source, "  "))]
    return "\n".join(lines)


def layouts_of(model: Model) -> tuple[Weights, ...]:
    """The layouts that are known of a model; empty where its architecture is not."""
    figures = figures_of(model)
    return figures.layouts if figures else ()


def _figures(model: Model) -> list[str]:
    figures = figures_of(model)
    if figures is None:
        return []
    arch, params = figures.architecture, figures.params
    lines = [f"Parameters    {_billions(params.total)} in all, {_billions(params.active)} a token, by the architecture"]
    kv = f"{cache_growth(arch, 2):,.0f} in BF16, {cache_growth(arch, 1):,.0f} in FP8"
    lines.append(f"KV cache      bytes a token of context: {kv}")
    if state_size(arch):
        lines.append(f"State         {_gb(state_size(arch))} of linear attention a stream, FP32")
    rows: list[Row] = [("layout", "a token", "in all", "draft step")]
    for one in figures.layouts:
        draft = _gb(one.draft_bytes(one.top_k)) if one.draft_fixed_bytes else ""
        rows.append((one.title, _gb(one.token_bytes()), _gb(one.stored_bytes()), draft))
    lines += ["", *table(rows, right=(1, 2, 3))]
    return [*lines, *(line for one in model.checkpoints for line in _checkpoint(one)), ""]


def _checkpoint(one: Checkpoint) -> list[str]:
    lines = []
    named = f" ({', '.join(one.repos)})" if one.repos else ""
    if one.unquantised:
        lines += wrapped(f"{one.title}{named} leaves unquantised: {', '.join(one.unquantised)}", "  ", "    ")
    if one.note:
        lines += wrapped(f"{one.title}: {one.note}", "  ", "    ")
    for told in one.reported:
        why = f"; {told.why}" if told.why else ""
        words = f"{told.what}: {told.predicted:g} {told.unit} predicted, {told.value:g} reported{why}"
        lines += wrapped(f"{words} [{'; '.join(told.sources)}]", "  ", "    ")
    return lines


def _architecture(numbers: dict[str, object]) -> str:
    words = []
    for name, value in numbers.items():
        if value is True:
            words.append(name)
        elif isinstance(value, dict):
            inner = " ".join(f"{key} {size}" for key, size in value.items())
            words.append(f"{name.replace('_', ' ')} ({inner})")
        else:
            words.append(f"{name.replace('_', ' ')} {value}")
    return ", ".join(words)


def _formats(formats: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {form}" for form, count in formats.items())


def _billions(count: float) -> str:
    return f"{figure(count / 1e9)} billion" if count >= 1e9 else f"{figure(count / 1e6)} million"


def _gb(size: float | None) -> str:
    if size is None:
        return "not known"
    return f"{figure(size / 1e9)} GB" if size >= 1e9 else f"{figure(size / 1e6)} MB"
