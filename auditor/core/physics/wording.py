"""What the bounds say of a claim, in sentences, and what they rest on."""

from auditor.core.judging.ceiling import Input, Line, Possibility, Reading
from auditor.core.physics.bounds import GB
from auditor.core.physics.lines import USUAL_KV_BYTES, fits
from auditor.core.physics.readings import cache_bytes
from auditor.core.physics.stated import Stated
from auditor.core.physics.step import cache_growth, state_bytes
from auditor.core.wording import listed, percent, span
from auditor.reference.gpus import Bandwidth, Gpu

_ASK_AT, _ASK_AT_PARALLEL, _PARALLEL = 0.9, 0.6, 4
"""Shares of the expected bound above which a number deserves a question first: anywhere, and on four cards or more. The
claims of the material lie at 15 to 80 % on one card and at 3 to 38 % on four and eight."""


def sentence_of(
    outcome: Possibility,
    text: str | None,
    readings: tuple[Reading, ...],
    lines: tuple[Line, ...],
    until: tuple[str, ...],
) -> str:
    """What may be said of the claim, in one sentence; `lines` are those that it is about."""
    if text is None:
        return "no number to lay beside the bounds"
    if outcome == "unknown":
        return f"{text} cannot be bounded: {readings[0].sentence.removeprefix('no bound: ')}"
    if outcome == "impossible":
        return f"{text} is impossible: {'; '.join(f'as {one.words}, {one.sentence}' for one in readings)}"
    if outcome == "open":
        words = listed([f"as {one.words}" for one in readings if one.is_possible is False])
        verb = "is" if len(until) == 1 and until[0] != "streams" else "are"
        return f"{text} is impossible {words}; inconclusive until {listed(until)} {verb} stated"
    within = f"{text} lies within the hard bound in every reading that has one"
    beside = _shares(lines)
    if lines and all(line.of_hard and line.of_hard[0] > 1 for line in lines if line.streams == lines[0].streams):
        return f"{within}, with more streams or a smaller layout of the weights than those shown: {beside}"
    return f"{within}: {beside}" if beside else within


def _shares(lines: tuple[Line, ...]) -> str:
    """The claim as a share of the expected and of the hard bound, with speculation and without."""
    words = []
    for drafted, name in ((False, "without speculation"), (True, "with speculation")):
        chosen = [line for line in lines if (line.draft_tokens > 0) is drafted and line.of_expected and line.of_hard]
        least = min((line.streams for line in chosen), default=1)
        chosen = [line for line in chosen if line.streams == least]
        if chosen:
            expected = _percents([end for line in chosen for end in line.of_expected or ()])
            hard = _percents([end for line in chosen for end in line.of_hard or ()])
            two = drafted or least > 1
            of = f"{expected} of the expected and {hard} of the hard bound" if two else f"{hard} of the bound"
            words.append(f"{of} of {_streams(least)} {name}")
    return ", ".join(words)


def _streams(count: int) -> str:
    return "a single stream" if count == 1 else f"{count:,} streams"


def _percents(shares: list[float]) -> str:
    low, high = percent(min(shares)), percent(max(shares))
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def remarks_of(stated: Stated, lines: tuple[Line, ...]) -> tuple[str, ...]:
    """What a reader should ask about a number that lies close below the bounds."""
    remarks = [stated.contradiction] if stated.contradiction else []
    ends = [line.of_expected[1] for line in lines if line.of_expected and line.streams == lines[0].streams]
    is_parallel = stated.tensor_parallel >= _PARALLEL
    limit = _ASK_AT_PARALLEL if is_parallel else _ASK_AT
    if ends and min(ends) > limit:
        where = f" on {_PARALLEL} cards or more" if is_parallel else ""
        remarks.append(f"more than {percent(limit)} of the expected bound{where}: ask for the basis first")
    return tuple(remarks)


def inputs_of(stated: Stated) -> tuple[Input, ...]:
    """Every figure that the bounds rest on, with its source."""
    return (*_gpus(stated), *_model(stated))


def _gpus(stated: Stated) -> list[Input]:
    names = " or ".join(gpu.name for gpu in stated.gpus)
    which = "; which of them is not stated" if len(stated.gpus) > 1 else ""
    sources = dict.fromkeys(source for gpu in stated.gpus for source in gpu.name_sources)
    found = [Input(name="GPU", value=f"{stated.count} x {names}{which}", source="; ".join(sources))]
    for gpu in stated.gpus:
        found += [_bandwidth(gpu, one) for one in stated.readings_of(gpu)]
        caches = [cell for cell in (gpu.l2_mb, gpu.last_cache_mb) if cell is not None]
        size = " + ".join(f"{cell.most:g} MB" for cell in caches if cell.most is not None) or "not known"
        found.append(Input(name=f"caches, {gpu.name}", value=size, source=gpu.l2_mb.source))
    return found


def _bandwidth(gpu: Gpu, one: Bandwidth) -> Input:
    clock = f" from a memory clock of {one.clock_mhz:,g} MHz x 2 x {gpu.bus_bits} bit" if one.clock_mhz else ""
    why = f" ({one.standing}: {one.why})" if one.why else f" ({one.standing})"
    return Input(
        name=f"bandwidth, {gpu.name}",
        value=f"{gpu.gbs(one):,.6g} GB/s{clock}{why}",
        source="; ".join(one.sources) or "general knowledge, not confirmed",
    )


def _model(stated: Stated) -> list[Input]:
    arch, figures = stated.figures.architecture, stated.figures
    params = figures.params
    counted = f"{params.total / 1e9:.4g} billion parameters, {params.active / 1e9:.4g} billion a token"
    found = [Input(name="model", value=f"{figures.name}: {counted}", source=figures.source)]
    for layout in stated.choice.shown:
        small = "" if fits(stated, layout) else "; does not fit into the memory of the cards"
        sizes = f"{layout.token_bytes() / GB:.4g} GB a token, {layout.stored_bytes() / GB:.4g} GB in all{small}"
        found.append(Input(name=f"layout, {layout.title}", value=sizes, source=layout.source))
    element, source = stated.kv or (USUAL_KV_BYTES, "not stated: FP8, the smaller of the two usual formats")
    context = f"{stated.context:,} tokens" if stated.context else "not stated, none is read"
    growth = f"{cache_growth(arch, element):,.0f} bytes a token of context; context: {context}"
    found.append(Input(name="KV cache", value=growth, source=source))
    if arch.linear is not None:
        moved = f"{state_bytes(arch) / GB:.4g} GB a step and stream, read and written in FP32"
        found.append(Input(name="state of linear attention", value=moved, source=figures.source))
    return found


def assumptions_of(stated: Stated) -> tuple[str, ...]:
    """What the most favourable reading takes for granted, each at its upper end."""
    best = stated.choice.best
    words = [
        f"weights: {best.title}, {best.token_bytes() / GB:.4g} GB a token ({stated.choice.because})",
        f"bandwidth: {stated.best_gbs:,.5g} GB/s a card, the most that any source gives; no higher memory clock is "
        "allowed for",
        f"caches: {cache_bytes(stated) / GB:.4g} GB of each step come from the caches of all cards",
        "all tokens of a step use the same experts, drafts cost nothing, and all-reduces take no time",
        "operations: the highest dense rate that any source gives for any format; no higher clock is allowed for",
    ]
    if stated.figures.architecture.linear is not None:
        words.append("the state of linear attention is left out")
    if not stated.context:
        words.append("the context is not stated and left out")
    elif not stated.kv:
        words.append("the context is left out, for the number format of the KV cache is not stated")
    if not stated.is_off:
        words.append(f"tokens a step: at most {stated.longest:.4g} ({stated.longest_because})")
    if stated.usual_gbs != (stated.best_gbs, stated.best_gbs):
        usual = span(*stated.usual_gbs)
        words.append(f"the bounds by line take {usual} GB/s a card instead, as sources and memory clocks differ")
    return tuple(words)
