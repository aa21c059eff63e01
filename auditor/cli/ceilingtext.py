"""A ceiling as text for people: every figure with its unit and source."""

from auditor.cli.columns import Row, table, wrapped
from auditor.core.ceiling import Ceiling, Line, Span
from auditor.core.wording import figure, percent, span

_POSSIBLE = {True: "possible", False: "impossible", None: "no bound"}


def ceiling_text(found: Ceiling) -> str:
    """The verdict of the bounds, the bounds by line, every reading, and what it all rests on."""
    marks = () if found.low is None or found.high is None else (found.low, found.high)
    lines = wrapped(f"{found.sentence[0].upper()}{found.sentence[1:]}.")
    lines += [line for remark in found.remarks for line in wrapped(f"{remark}.", "Note: ")]
    if found.lines:
        lines += ["", "Bounds of memory bandwidth, tok/s of all streams:", *_lines(found.lines, marks)]
        lines += _sources(found.lines)
    if found.readings:
        lines += ["", "Read every way that is left open, as favourably as can be:"]
        for one in found.readings:
            head = f"  {_POSSIBLE[one.is_possible]:<12}" if found.claim_text else "  "
            lines += wrapped(f"{one.words}: {one.sentence.removeprefix('no bound: ')}.", head)
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


def _lines(lines: tuple[Line, ...], marks: tuple[float, ...]) -> list[str]:
    """One table of the bounds, parted by layout, and one with the time of all-reduces."""
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
    return [*table(rows, right=(1,)), *_all_reduce(lines, marks)]


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
    """Where the acceptance lengths and the all-reduce times come from, once each."""
    found = [f"L: {source}" for source in dict.fromkeys(line.length_source for line in lines if line.length_source)]
    found += [
        f"{bound.method}: {bound.count} x {bound.each_us:g} us a step {lines[0].conditions} [{bound.source}]"
        for bound in lines[0].all_reduce
    ]
    found += dict.fromkeys(f"no all-reduce: {line.reason}" for line in lines if line.reason)
    return [text for words in found for text in wrapped(words, "  ", "    ")]
