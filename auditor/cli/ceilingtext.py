"""A ceiling as text for people: every figure with its unit and source."""

from collections.abc import Sequence

from auditor.cli.columns import Row, table, wrapped
from auditor.core.judging.ceiling import Ceiling, Line, Reading, Span
from auditor.core.wording import figure, percent, span

_POSSIBLE = {True: "possible", False: "impossible", None: "no bound"}


def ceiling_text(found: Ceiling, *, is_full: bool = True) -> str:
    """The verdict of the bounds and the bounds by line; if `is_full` every reading and what it all rests on, else the
    readings that the claim is above."""
    marks = () if found.low is None or found.high is None else (found.low, found.high)
    lines = wrapped(f"{found.sentence[0].upper()}{found.sentence[1:]}.")
    lines += [line for remark in found.remarks for line in wrapped(f"{remark}.", "Note: ")]
    if found.lines:
        lines += ["", "Bounds of memory bandwidth, tok/s of all streams:", *_lines(found.lines, marks)]
        lines += [*_all_reduce(found.lines, marks), *_sources(found.lines)] if is_full else _lengths(found.lines)
    if not is_full:
        return "\n".join([*lines, *_short(found)])
    if found.readings:
        lines += ["", "Read every way that is left open, as favourably as can be:"]
        lines += _readings(found.readings, has_claim=found.claim_text is not None)
    if found.assumptions:
        lines += ["", "That takes for granted:"]
        lines += [line for words in found.assumptions for line in wrapped(f"{words}.", "  ")]
    if found.sides:
        lines += ["", "Beside memory bandwidth:"]
        for side in found.sides:
            rate = f"at most {span(*side.rate, marks)} tok/s" if side.rate else "no bound"
            source = f" [{side.source}]" if side.source else ""
            lines += wrapped(f"{side.by}: {rate}: {side.sentence}{source}", "  ", "    ")
    if found.inputs:
        lines += ["", "What it rests on:"]
        for one_input in found.inputs:
            lines += wrapped(f"{one_input.name}: {one_input.value} [{one_input.source}]", "  ", "    ")
    return "\n".join(lines)


def _short(found: Ceiling) -> list[str]:
    """What the claim is above, and where the rest is."""
    above = [one for one in found.readings if one.is_possible is False]
    lines = ["", "Read as favourably as can be:", *_readings(above, has_claim=True)] if above else []
    if found.readings:
        lines += ["", *wrapped("--full shows every reading, what is taken for granted, and the sources.")]
    return lines


def _readings(readings: Sequence[Reading], *, has_claim: bool) -> list[str]:
    lines = []
    for one in readings:
        head = f"  {_POSSIBLE[one.is_possible]:<12}" if has_claim else "  "
        lines += wrapped(f"{one.words}: {one.sentence.removeprefix('no bound: ')}.", head)
    return lines


def _lines(lines: tuple[Line, ...], marks: tuple[float, ...]) -> list[str]:
    """A table of the bounds, parted by layout."""
    has_claim = any(line.of_expected for line in lines)
    head: Row = ("", "GB a step", "expected", "hard", *(("claim/expected", "claim/hard") if has_claim else ()))
    rows, last = [head], ""
    for line in lines:
        if line.layout != last:
            rows.append((f"{line.layout}:", *[""] * (len(head) - 1)))
            last = line.layout
        shares = (_share(line.of_expected), _share(line.of_hard)) if has_claim else ()
        bounds = (span(*line.expected, marks), span(*line.hard, marks))
        rows.append((f"  {_conditions(line)}", figure(line.step_gb), *bounds, *shares))
    return table(rows, right=(1,))


def _conditions(line: Line) -> str:
    return line.conditions if line.streams == 1 else f"{line.streams:,} streams, {line.conditions}"


def _all_reduce(lines: tuple[Line, ...], marks: tuple[float, ...]) -> list[str]:
    methods = list(dict.fromkeys(bound.method for line in lines for bound in line.all_reduce))
    if not methods:
        return []
    rows: list[Row] = [("", *methods)]
    for line in lines:
        floors = {bound.method: span(*bound.rate, marks) for bound in line.all_reduce}
        rows.append((f"{line.layout}, {_conditions(line)}", *(floors.get(method, "") for method in methods)))
    return ["", "The expected bound with the least time that all-reduces were measured to take, tok/s:", *table(rows)]


def _share(share: Span | None) -> str:
    if share is None:
        return ""
    low, high = percent(share[0]), percent(share[1])
    return low if low == high else f"{low.removesuffix(' %')} to {high}"


def _sources(lines: tuple[Line, ...]) -> list[str]:
    """Where the acceptance lengths and the all-reduce times come from."""
    found = [
        f"{bound.method}: {bound.count} x {bound.each_us:g} us a step {lines[0].conditions} [{bound.source}]"
        for bound in lines[0].all_reduce
    ]
    found += dict.fromkeys(f"no all-reduce: {line.reason}" for line in lines if line.reason)
    return [*_lengths(lines), *(text for words in found for text in wrapped(words, "  ", "    "))]


def _lengths(lines: tuple[Line, ...]) -> list[str]:
    """Where the acceptance lengths come from, once each."""
    sources = dict.fromkeys(line.length_source for line in lines if line.length_source)
    return [text for source in sources for text in wrapped(f"L: {source}", "  ", "    ")]
