"""What may have been counted: every counting rule beside the claim, forwards and backwards, with what would tell."""

from collections.abc import Iterable, Iterator
from typing import Any

from auditor.core.bases import BasisValue
from auditor.core.explain.record import Alias, Backward, Explanation, Witness
from auditor.core.judging.verdict import Verdict
from auditor.core.wording import plural
from auditor.report.rates import (
    LONG,
    NO_INTERVAL,
    bare_interval,
    explained,
    factor,
    interval_row,
    is_comparable,
    marks_of,
    short_text,
    span,
)
from auditor.report.shown import NOT_KNOWN, figure
from auditor.report.views import Block, Cell, Chart, Key, Row, Section, Table, cells, columns

CLOCKS = ("decode", "request", "system")


def counting_section(verdict: Verdict) -> Section:
    """The counting rules side by side, what may be said of them, and the claim run backwards."""
    title, found = "What may have been counted", verdict.explanation
    main = [basis for basis in verdict.bases if _is_main(verdict, basis)]
    if not main:
        return Section("counting", title, ("Nothing was measured that could be counted in another way.",))
    lead = ["Each rule by which a published number may have been counted, applied to this measurement."]
    words = explained(verdict)
    lead += [text for text in words if len(text) <= LONG]
    longer = tuple(text for text in words if len(text) > LONG)
    if verdict.matching or (found and found.matches_once):
        lead.append(verdict.matching_caution)
    blocks = [Block(paragraphs=longer, summary="Rules within reach, all of them")] if longer else []
    blocks += [*_rules(verdict, main), *(_explained(found) if found else ())]
    return Section("counting", title, tuple(lead), tuple(blocks))


def _rules(verdict: Verdict, main: list[BasisValue]) -> Iterator[Block]:
    """The rules that matter in a chart and a table; the others folded away."""
    claimed, marks = verdict.claimed, marks_of(verdict.claimed)
    rows = [_basis_point(verdict, basis, marks) for basis in _sorted(main)]
    words = "; ".join(f"{row['label']} {row['text']}" for row in rows)
    text = f"Tokens per second by counting rule, claimed {claimed.text}: {words}."
    keys = (Key("delivered", "the judged basis"), Key("quiet", "other counting rules"), Key("claim", "the claim"))
    options = {"low": claimed.low, "high": claimed.high}
    yield Block(
        chart=Chart("bases", "bases", text, tuple(rows), keys if claimed.low is not None else keys[:2], options),
        table=_basis_table(verdict, main, marks, "Counting rules, the largest first"),
        note="Usual label: counts delivered tokens under a label that is in use for them. Symbols are in the glossary.",
    )
    others = [basis for basis in verdict.bases if basis not in main]
    if others:
        table = _basis_table(verdict, others, marks, "Further counting rules")
        words = f"{plural(len(others), 'further rule')}: what misses the claim, other clocks, and what has no figure"
        yield Block(table=table, summary=words)


def _explained(found: Explanation) -> Iterator[Block]:
    """What would tell the rules apart, what speaks for one, and what the claim would take."""
    if found.aliases:
        yield Block("Rules that this evidence cannot tell apart", items=tuple(map(_alias, found.aliases)))
    if found.witnesses:
        heads = columns("Rule", "Where it comes from", "Figures", "SHA-256")
        rows = tuple(_witness(witness) for witness in found.witnesses)
        yield Block("Witnesses", table=Table("What speaks for a rule", heads, rows))
    if found.backwards:
        order = (True, None, False)
        ways = sorted(found.backwards, key=lambda one: order.index(one.is_possible))
        heads = columns("Possible?", "What it takes")
        words = "What would have to be true for the claim to come from what was delivered."
        open_ways = tuple(_backward(one) for one in ways if one.is_possible is not False)
        table = Table("The claim run backwards", heads, open_ways) if open_ways else None
        yield Block("The claim run backwards", (words,), table=table)
        if closed := tuple(_backward(one) for one in ways if one.is_possible is False):
            table = Table("The claim run backwards: what does not fit", heads, closed)
            yield Block(table=table, summary=f"{plural(len(closed), 'way')} in which it cannot have come about")


def _alias(alias: Alias) -> str:
    parts = alias.discriminator
    if parts is None:
        return f"{alias.sentence}; no further measurement is known that would part them"
    figures = ", ".join(f"{one.rule} {figure(one.value)}" for one in parts.predictions)
    return f"{alias.sentence}; {parts.change} would part {'them' if parts.parts_all else 'some of them'}: {figures}"


def _witness(witness: Witness) -> Row:
    kind = {"claimant": "the claimant’s own record", "printed": "what the fork itself prints"}[witness.kind]
    figures = "; ".join(f"{one.text} ({one.setting})" if one.setting else one.text for one in witness.figures)
    return cells(Cell(witness.rule, kind), Cell(witness.origin, witness.at), figures, witness.artefact_sha256)


def _backward(one: Backward) -> Row:
    word, mark = {True: ("possible", "warn"), False: ("no", "plain"), None: ("not known", "plain")}[one.is_possible]
    return cells(Cell(word, "", mark), Cell(one.sentence, f"Because {one.why}" if one.why else ""))


def _clock(verdict: Verdict) -> str:
    """The clock of the judged basis; decode where it has none."""
    clock = verdict.claimed.judged_on.partition("/")[2]
    return clock if clock in CLOCKS else CLOCKS[0]


def _is_main(verdict: Verdict, basis: BasisValue) -> bool:
    if basis.estimate is None:
        return False
    once = verdict.explanation.matches_once if verdict.explanation else ()
    return basis.is_honest or basis.id in (*verdict.matching, *once) or basis.id == verdict.claimed.judged_on


def _sorted(bases: Iterable[BasisValue]) -> list[BasisValue]:
    """The largest first; those without a value last."""
    return sorted(bases, key=lambda basis: (basis.estimate is None, -basis.estimate.value if basis.estimate else 0.0))


def _basis_point(verdict: Verdict, basis: BasisValue, marks: tuple[float, ...]) -> dict[str, Any]:
    assert basis.estimate is not None
    color = "delivered" if basis.id == verdict.claimed.judged_on else "quiet"
    clock = basis.id.partition("/")[2]
    like = next((one.name for one in verdict.bases if one.id == f"delivered/{clock}"), "")
    name = basis.name.removesuffix(f", {like.partition(', ')[2]}") if clock == _clock(verdict) else basis.name
    return interval_row(name, basis.estimate, marks, color)


def _basis_table(verdict: Verdict, bases: Iterable[BasisValue], marks: tuple[float, ...], caption: str) -> Table:
    """Sorted rules with the claim in its place; without intervals, where no rule has one."""
    found = _sorted(bases)
    estimates = [basis.estimate for basis in found if basis.estimate is not None]
    has_intervals = any(estimate.low is not None for estimate in estimates)
    numbers = sorted({estimate.n for estimate in estimates})
    if numbers:
        n = f"n = {' or '.join(map(str, numbers))}"
        caption = f"{caption} ({n})" if has_intervals else f"{caption} ({NO_INTERVAL}, {n})"
    rows = [_basis_row(verdict, basis, marks, has_intervals) for basis in found]
    claimed = verdict.claimed
    if claimed.low is not None and claimed.high is not None and estimates:
        middle = (claimed.low + claimed.high) / 2
        at = sum(estimate.value >= middle for estimate in estimates)
        spans = (span(claimed),) if has_intervals else ()
        blank = ("", "") if is_comparable(verdict) else ("",)
        rows.insert(at, cells("claimed", short_text(claimed), *spans, *blank, mark="claim"))
    heads = ("#tok/s", "#95 % interval") if has_intervals else ("#tok/s",)
    heads = (*heads, "#Claim / value") if is_comparable(verdict) else heads
    return Table(caption, columns("Counting rule", *heads, "Formula"), tuple(rows))


def _basis_row(verdict: Verdict, basis: BasisValue, marks: tuple[float, ...], has_intervals: bool) -> Row:
    estimate = basis.estimate
    name = _basis_name(verdict, basis)
    if estimate is None:
        blank = ("",) * (has_intervals + is_comparable(verdict))
        return cells(Cell(name.text, basis.reason or ""), NOT_KNOWN, *blank, basis.formula)
    value = Cell(figure(estimate.value, marks), "" if basis.unit == "tokens/s" else basis.unit)
    spans = (bare_interval(estimate, marks),) if has_intervals else ()
    mark = "strong" if basis.id == verdict.claimed.judged_on else "met" if basis.id in verdict.matching else ""
    times = (factor(verdict, basis) or "",) if is_comparable(verdict) else ()
    return cells(name, value, *spans, *times, basis.formula, mark=mark)


def _basis_name(verdict: Verdict, basis: BasisValue) -> Cell:
    once = verdict.explanation.matches_once if verdict.explanation else ()
    notes = [
        "meets the claim" if basis.id in verdict.matching else "",
        "reaches the claim once, without an interval" if basis.id in once else "",
        "judged" if basis.id == verdict.claimed.judged_on else "",
        "usual label" if basis.is_honest else "",
    ]
    return Cell(basis.name, ", ".join(note for note in notes if note))
