"""What `audit import` says to people."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.cli.columns import Row, table, wrapped
from auditor.core.imports.formats import FORMATS
from auditor.core.imports.measured import Measured
from auditor.core.imports.quantities import RULES, quantity
from auditor.core.imports.record import Figure, ImportFinding, Result
from auditor.core.wording import figure as shown
from auditor.core.wording import plural
from auditor.terms import Outcome

if TYPE_CHECKING:
    from auditor.core.claim.record import Case
    from auditor.core.imports.claimed import Beside
    from auditor.review.imports import Taken

_SHOWN_RESULTS = 6
_SAID = "figures-recomputed"
"""The finding that is said also where it holds."""
_RATES = (("decode", "delivered/decode"), ("request", "delivered/request"), ("all streams", "delivered/system"))


def text_of(taken: "Taken", folder: Path, case: "Case | None", *, is_full: bool = False) -> str:
    """A result: what it is, its figures with the right ones beside, what does not add up, and the claim."""
    imported = taken.imported
    version = f" {imported.tool_version}" if imported.tool_version else ""
    names = ", ".join(f"{one.name} (SHA-256 {one.sha256[:12]})" for one in imported.originals)
    lines = wrapped(f"{imported.tool}{version}: {names}")
    results = imported.results if is_full else imported.results[:_SHOWN_RESULTS]
    for result in results:
        lines += ["", *_result(result, len(imported.results) > 1, is_full)]
    if len(results) < len(imported.results):
        lines += ["", f"{len(imported.results) - len(results)} more results; --full shows them."]
    for words in known_of(imported.format) if is_full else ():
        lines += wrapped(f"Known of {imported.tool}: {words}.")
    for words in imported.notes:
        lines += wrapped(f"Note: {words}.")
    if case is not None:
        lines += ["", *_claim(case, taken.beside)]
    kept = [one for one in imported.originals if one.stored]
    lines += ["", *wrapped(f"Kept in {folder}." if kept else f"The record is in {folder}.")]
    for one in imported.originals:
        if one.not_kept_because:
            lines += wrapped(f"{one.name} itself was not kept: {one.not_kept_because}.")
    return "\n".join(lines)


def known_of(name: str) -> tuple[str, ...]:
    """What a format's own counting is known to get wrong."""
    return next((one.wrong for one in FORMATS if one.name == name), ())


def _result(result: Result, is_one_of_several: bool, is_full: bool) -> list[str]:
    lines = wrapped(f"Result {result.name}") if is_one_of_several else []
    lines += wrapped(f"Evidence: {result.grade}: {result.grade_because}.")
    lines += wrapped(f"Load: {_load(result)}.")
    lines += wrapped(f"Count of tokens: {result.counted_by}.")
    if result.requests and (counted := _counted(result)):
        lines += wrapped(f"Counted anew: {counted}.")
    if result.missing:
        lines += wrapped(f"Missing: {'; '.join(result.missing)}.")
    rows = list(_figures(result, is_full))
    if any(beside for _, _, beside, _ in rows):
        lines += ["", *table([("figure", "printed", "right", "unit"), *rows], right=(1, 2))]
    elif rows:
        plain = [(name, printed, unit) for name, printed, _, unit in rows]
        lines += ["", *table([("figure", "printed", "unit"), *plain], right=(1,))]
    said = [one for one in result.findings if is_full or one.outcome is not Outcome.HOLDS or one.id == _SAID]
    lines += [""] if said else []
    for finding in said:
        lines += _finding(finding)
    return lines


def _load(result: Result) -> str:
    settings = result.settings
    parts = [
        settings.model or "model not said",
        f"served by {settings.server}" if settings.server else "",
        plural(len(result.requests), "request") if result.requests else "",
        f"{plural(settings.concurrency, 'stream')} configured" if settings.concurrency else "",
        f"{settings.request_rate} requests/s" if settings.request_rate else "",
        f"{settings.prompt_tokens:,} prompt tokens asked for" if settings.prompt_tokens else "",
        f"{settings.output_tokens:,} output tokens asked for" if settings.output_tokens else "",
        plural(settings.gpus, "GPU") if settings.gpus else "",
        f"speculation {settings.speculation}" if settings.speculation else "",
        f"{result.duration_ns / 1e9:.2f} s" if result.duration_ns else "",
    ]
    return ", ".join(part for part in parts if part)


def _counted(result: Result) -> str:
    """What the requests add up to."""
    measured = Measured(result)
    counts = measured.sample.counts
    rates = [(name, quantity(measured, rule, "tokens/s")) for name, rule in _RATES]
    parts = [
        f"{counts.delivered:,} output tokens" if counts.delivered is not None else "",
        f"{measured.events:,} events" if measured.events else "",
        f"{counts.prompt_tokens:,} prompt tokens" if counts.prompt_tokens else "",
        f"{measured.drafts.drafted:,} drafted" if measured.drafts.drafted is not None else "",
        f"{measured.drafts.accepted:,} accepted" if measured.drafts.accepted is not None else "",
        *(f"{name} {shown(rate)} tok/s" for name, rate in rates if rate),
    ]
    return ", ".join(part for part in parts if part)


def _figures(result: Result, is_full: bool) -> Iterator[Row]:
    right = {one.figure: one.right for one in result.findings if one.figure and one.outcome is Outcome.FAILS}
    for one in result.figures:
        if is_full or one.name in right or _is_headline(one):
            beside = right.get(one.name)
            yield (one.name, shown(one.value), "" if beside is None else shown(beside), one.unit)


def _is_headline(one: Figure) -> bool:
    return (
        one.quantity in RULES
        or one.quantity == "requests/second"
        or (one.quantity or "").endswith((":mean", ":median"))
        or one.quantity is None
    )


def _finding(finding: ImportFinding) -> list[str]:
    marks = {Outcome.HOLDS: "holds", Outcome.FAILS: "fails"}
    words = finding.sentence if finding.remedy is None else f"{finding.sentence} {_capital(finding.remedy)}."
    return wrapped(words, first=f"  {marks.get(finding.outcome, 'unknown'):<8} ")


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _claim(case: "Case", beside: "Sequence[Beside]") -> list[str]:
    if not beside:
        return wrapped(f"Claim {case.claim_id} states no number to look for.")
    first = beside[0]
    lines = wrapped(f"Claim {case.claim_id}: {case.reported.as_text()}, judged on {first.judged_on}: "
                    f"{first.judged_because}.")  # fmt: skip
    for one in [one for one in beside if one.figures or one.explanation.matches][:_SHOWN_RESULTS] or [first]:
        where = f"Result {one.result}: " if len(beside) > 1 else ""
        met = [f"`{name}`" for name in one.figures] + list(one.explanation.matches)
        lines += wrapped(f"{where}meets {', '.join(met)}." if met else f"{where}nothing meets the number.", first="  ")
    model = {True: "the claim's model", False: "another model", None: "whether it is the claim's model is not known"}
    lines += wrapped(f"The file is of {model[first.is_same_model]}." if first.is_same_model is not None
                     else f"{_capital(model[None])}.", first="  ")  # fmt: skip
    lines += wrapped(f"Verdict: {first.verdict}: {first.sentence}.")
    for reason in first.reasons:
        lines += wrapped(reason, first="  ")
    return lines + wrapped(first.explanation.chance_words)
