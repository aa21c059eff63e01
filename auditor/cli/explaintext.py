"""Explanations and counting rules as text for people."""

import re
from collections.abc import Iterable, Sequence

from auditor.cli.columns import Row, table, wrapped
from auditor.core.bases import BasisValue
from auditor.core.bases.numerators import CLOCKS
from auditor.core.explain.aliases import ends_of
from auditor.core.explain.chance import RANGE
from auditor.core.explain.matching import Number
from auditor.core.explain.record import Backward, Explanation, Reading
from auditor.core.wording import figure, percent, span
from auditor.terms import TERMS

_BESIDE = {
    "meets": "matches",
    "meets once": "matches, no interval",
    "misses": "misses",
    "too wide": "reaches it, too wide",
    "not counted": "not counted",
}
_POSSIBLE = {True: "possible", False: "not possible", None: "not known"}


def explanations_text(found: Sequence[Explanation], *, is_full: bool = True) -> str:
    """Explanations of one claim, each what is given, the rules, what may be said, and what would have to be true.

    Unless `is_full`, chance is said in a few words.
    """
    if not found:
        return ""
    first = found[0]
    head = f"Claimed: {first.claim_text}, read as {span(first.claim_low, first.claim_high)} tok/s."
    parts = [_one("Given" if one is first else "Or", one, is_full) for one in found]
    return "\n".join([head, "\n\n".join(parts), "", *_wrapped(first.caution)])


def _one(head: str, found: Explanation, is_full: bool) -> str:
    marks = (found.claim_low, found.claim_high)
    lines = [*_wrapped(f"{head}: {found.given}."), ""]
    has_definitions = any(reading.ends for reading in found.readings)
    lines += _by_definition(found, marks) if has_definitions else _nearest(found, marks)
    lines.append("")
    for words in (*found.words, found.chance_words if is_full else _chance(found)):
        lines += _wrapped(words)
    for alias in found.aliases:
        lines += _wrapped(alias.sentence)
        if alias.discriminator is not None:
            shown = [f"{one.rule} {span(one.low, one.high)}" for one in alias.discriminator.predictions]
            lines += _wrapped(f"At {alias.discriminator.change}: {'; '.join(shown)} tok/s.", indent="  ")
    if found.backwards:
        lines += ["", "What would have to be true:", *_backwards(found.backwards)]
    return "\n".join(lines)


def _by_definition(found: Explanation, marks: tuple[float, float]) -> list[str]:
    """Every rule under each definition, at both ends of the acceptance."""
    rows: list[Row] = [("rule", "acceptance is", "at lowest", "at highest", "interval", "the claim")]
    last = ""
    for reading in found.readings:
        ends = [figure(end, marks) for end in reading.ends] if reading.ends else ["", ""]
        definition = (reading.definition or "").replace("_", " ")
        name, last = "" if reading.name == last else reading.name, reading.name
        rows.append((name, definition, *ends, _interval(reading, marks), _beside(reading)))
    return table(rows, right=(2, 3))


def _nearest(found: Explanation, marks: tuple[float, float]) -> list[str]:
    """The rules that reach the claim, and the nearest below and above it."""
    reach = [reading for reading in found.readings if reading.state in ("meets", "meets once", "too wide")]
    rest = [reading for reading in found.readings if reading.state == "misses" and reading.estimate is not None]
    below = [reading for reading in rest if ends_of(reading)[1] < marks[0]]
    above = [reading for reading in rest if ends_of(reading)[0] > marks[1]]
    near = [
        *sorted(below, key=lambda reading: -ends_of(reading)[1])[:3],
        *sorted(above, key=lambda reading: ends_of(reading)[0])[:3],
    ]
    delivered = [reading for reading in found.readings if reading.id == found.delivered_id]
    rows: list[Row] = [("rule", "value", "interval", "factor", "the claim")]
    for reading in dict.fromkeys((reading.id, reading) for reading in (*delivered, *reach, *near)):
        one = reading[1]
        value = figure(one.estimate.value, marks) if one.estimate else ""
        rows.append((one.name, value, _interval(one, marks), _factor(one), _beside(one)))
    hidden = len(rest) - len({reading.id for reading in (*delivered, *near)} & {reading.id for reading in rest})
    missing = sum(reading.state == "not counted" for reading in found.readings)
    more = [f"{hidden} more rules miss it" if hidden else "", f"{missing} could not be counted" if missing else ""]
    said = [words for words in more if words]
    return table(rows, right=(1,)) + ([f"  {'; '.join(said)}."] if said else [])


def bases_text(values: Sequence[BasisValue], readings: Sequence[Reading], number: Number | None, cell: str) -> str:
    """Every rule that has a value, then what the others need."""
    marks = (number.low, number.high) if number else ()
    by_id = {reading.id: reading for reading in readings}
    rows: list[Row] = [("basis", "", "value", "interval", "unit", "to the claim", "counts")]
    missing: dict[str, list[str]] = {}
    for value in values:
        if value.estimate is None:
            missing.setdefault(value.reason or "not known", []).append(value.id)
            continue
        reading = by_id.get(value.id)
        rows.append(
            (
                value.id,
                "*" if value.is_honest else "",
                figure(value.estimate.value, marks),
                _span_of(value, marks),
                value.unit,
                _factor(reading) if reading else "",
                _counted(value),
            )
        )
    lines = [f"Cell {cell}; claimed: {number.text if number else 'no number'}.", "", *table(rows, right=(2,))]
    lines += ["", *_legend([row[-1] for row in rows[1:]])]
    if missing:
        lines += ["", "Not counted:"]
        for reason, names in missing.items():
            lines += _wrapped(f"{reason}: {', '.join(names)}", indent="  ")
    return "\n".join(lines)


def _counted(value: BasisValue) -> str:
    """The formula, without the clock that the id of the rule has already."""
    clock = value.id.rpartition("/")[2]
    is_plain = any(value.name.endswith(words) for words, _ in CLOCKS.values())
    return value.formula.removesuffix(f" per s of {clock}") if is_plain else value.formula


def _legend(formulas: Iterable[str]) -> list[str]:
    """What the marks, clocks and letters of the table mean."""
    used = {letter for formula in formulas for letter in re.findall(r"[A-Za-z_]+", formula)}
    letters = [f"{term.symbol} {term.name.replace('_', ' ')}" for term in TERMS.values() if term.symbol in used]
    clocks = "; ".join(f"{clock}: {words}" for clock, (words, _) in CLOCKS.items())
    return [
        *_wrapped("* is a usual label for delivered tokens."),
        *_wrapped(f"Clocks: {clocks}. What came in the first event is left out of decode."),
        *_wrapped(f"Letters: {', '.join(letters)}. --json has each rule in words."),
    ]


def _chance(found: Explanation) -> str:
    """How easily any number would match, in a few words."""
    if found.chance is None or found.delivered is None:
        return found.chance_words
    low, high = (figure(found.delivered.value * end) for end in RANGE)
    rules = "the rule that can match" if found.tried == 1 else f"one of the {found.tried} rules that can match"
    return f"By chance alone, {percent(found.chance)} of numbers from {low} to {high} tok/s would match {rules}."


def _backwards(sentences: Iterable[Backward]) -> list[str]:
    lines = []
    for one in sentences:
        head = f"  {_POSSIBLE[one.is_possible]:<14}"
        words = f"{one.sentence.rstrip('.')} ({one.why})."
        lines += wrapped(words, head)
    return lines


def _interval(reading: Reading, marks: Iterable[float]) -> str:
    if reading.estimate is None:
        return reading.reason or ""
    if reading.estimate.low is None:
        return "no interval"
    return span(*ends_of(reading), marks)


def _span_of(value: BasisValue, marks: Iterable[float]) -> str:
    estimate = value.estimate
    if estimate is None or estimate.low is None or estimate.high is None:
        return "no interval"
    return span(estimate.low, estimate.high, marks)


def _factor(reading: Reading) -> str:
    return "" if reading.factor is None else f"x {span(*reading.factor, (1.0,), digits=3)}"


def _beside(reading: Reading) -> str:
    return _BESIDE[reading.state]


def _wrapped(words: str, indent: str = "") -> list[str]:
    return wrapped(words, indent, indent + ("  " if indent else ""))
