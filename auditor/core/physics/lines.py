"""The bounds at single settings: each layout without speculation, and the likeliest one with each way to draft."""

from auditor.core.judging.ceiling import AllReduceBound, Line, Span
from auditor.core.physics.bounds import GB, Machine, collectives, expected_bound, hard_bound, payload, rate_bound
from auditor.core.physics.stated import Draft, Stated
from auditor.core.physics.step import Load
from auditor.core.physics.weights import Weights
from auditor.core.record import six
from auditor.reference.measured import AllReduce, all_reduces

USUAL_KV_BYTES = 1.0
"""Bytes of an element of the KV cache where nothing states them: FP8, the smaller of the two usual formats."""
_MEASURED_ON = "PCIe 5.0 x16"
_MAX_LAYOUTS = 4
_BATCHES = (8, 64, 256, 1024)
"""Streams shown where a claim does not state them and is above what one gives."""


def lines_of(stated: Stated, claimed: Span | None) -> tuple[Line, ...]:
    """Every line: the likeliest layout plain, with each way to draft and with more streams, then the other layouts."""
    layouts = [one for one in stated.choice.shown if fits(stated, one)] or list(stated.choice.shown)
    streams = 1 if stated.counted == "stream" else stated.streams or 1
    first = [_line(stated, layouts[0], draft, claimed, streams) for draft in (None, *stated.drafts)]
    others = [_line(stated, layout, None, claimed, streams) for layout in layouts[1:_MAX_LAYOUTS]]
    is_above = claimed is not None and all(claimed[0] > line.expected[1] for line in (*first, *others))
    if is_above and stated.streams is None and stated.counted != "stream":
        first += [_line(stated, layouts[0], None, claimed, batch) for batch in _BATCHES]
    return (*first, *others)


def fits(stated: Stated, layout: Weights) -> bool:
    """Whether the weights fit into the memory of the cards."""
    sizes = [gpu.memory_gb.most for gpu in stated.gpus]
    known = [size for size in sizes if size is not None]
    return not known or layout.stored_bytes() <= stated.count * max(known) * GB


def _line(stated: Stated, layout: Weights, draft: Draft | None, claimed: Span | None, streams: int) -> Line:
    arch = stated.figures.architecture
    load = Load(
        streams=streams,
        draft_tokens=draft.tokens if draft else 0,
        has_head=bool(draft and draft.has_head),
        context=stated.context or 0,
        kv_bytes=stated.kv[0] if stated.kv else USUAL_KV_BYTES,
        tensor_parallel=stated.tensor_parallel,
    )
    gpus = stated.streaming if streams == 1 else stated.count
    machines = [Machine(gpus, gbs) for gbs in stated.usual_gbs]
    lengths = (draft.low, draft.high) if draft else (1.0, 1.0)
    ends = list(zip(machines, lengths, strict=True))
    bounds = [expected_bound(layout, arch, load, machine, length) for machine, length in ends]
    hard = _span([hard_bound(layout, arch, load, machine, length) for machine, length in ends])
    expected, step = _span([rate for rate, _ in bounds]), bounds[0][1]
    floors, reason = _all_reduce(stated, load, machines, lengths, step.total)
    return Line(
        conditions=_words(draft),
        layout=layout.title,
        streams=streams,
        draft_tokens=load.draft_tokens,
        length=lengths,
        length_source=draft.source if draft else None,
        step_gb=six(step.total / GB),
        distinct=six(step.distinct) if layout.experts else None,
        expected=expected,
        hard=hard,
        of_expected=_share(claimed, expected),
        of_hard=_share(claimed, hard),
        all_reduce=floors,
        reason=reason,
    )


def _words(draft: Draft | None) -> str:
    if draft is None:
        return "without speculation"
    length = f"{draft.low:.4g}" if draft.low == draft.high else f"{draft.low:.4g} to {draft.high:.4g}"
    return f"{draft.words}, L = {length}"


def _all_reduce(
    stated: Stated, load: Load, machines: list[Machine], lengths: Span, step_bytes: float
) -> tuple[tuple[AllReduceBound, ...], str | None]:
    """The bounds with the measured all-reduce times, or why there are none."""
    ranks, arch = stated.tensor_parallel, stated.figures.architecture
    if ranks == 1:
        return (), "one card needs no all-reduce"
    if any(gpu.has_fast_link or not gpu.pcie.startswith(_MEASURED_ON) for gpu in stated.gpus):
        return (), f"all-reduce times are known for cards on {_MEASURED_ON} only"
    rows = all_reduces(ranks)
    if not rows:
        return (), f"all-reduce times are not known for {ranks} cards"
    if ranks != machines[0].gpus:
        return (), "not every card takes part in each all-reduce"
    count = collectives(arch, load)
    return tuple(_with(row, load, machines, lengths, step_bytes, count, payload(arch, load)) for row in rows), None


def _with(
    row: AllReduce, load: Load, machines: list[Machine], lengths: Span, step_bytes: float, count: int, size: int
) -> AllReduceBound:
    each = row.floor_us(size)
    rates = [
        rate_bound(step_bytes, machine, load.streams, length, count * each * 1e-6)
        for machine, length in zip(machines, lengths, strict=True)
    ]
    note = f" ({row.note})" if row.note else ""
    source = f"{row.link}{note}: {'; '.join(row.sources)}"
    return AllReduceBound(method=row.method, rate=_span(rates), count=count, each_us=each, source=source)


def _span(values: list[float]) -> Span:
    return (six(min(values)), six(max(values)))


def _share(claimed: Span | None, bound: Span) -> Span | None:
    return None if claimed is None else (six(claimed[0] / bound[1]), six(claimed[1] / bound[0]))
