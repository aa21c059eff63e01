"""Explains a claim from a measured cell."""

from collections.abc import Sequence

from auditor.core.bases import BasisValue, Load, find
from auditor.core.claim.record import Case
from auditor.core.claim.types import AcceptanceDefinition
from auditor.core.counting.ledger import CellLedger
from auditor.core.explain.acceptance import acceptance_of
from auditor.core.explain.backwards import backwards, factor_words
from auditor.core.explain.closedloop import Setting, setting_of
from auditor.core.explain.matching import explain, number_of, reading_of
from auditor.core.explain.record import Backward, Explanation, Witness
from auditor.core.explain.served import Served, Span, stated_of
from auditor.core.wording import plural

ELSEWHERE = (
    "This was not measured on what the claim is about: a rule that meets the claim's number here shows how counting "
    "works, and says nothing of the claim."
)


def explain_cell(
    case: Case,
    cell: CellLedger,
    load: Load,
    bases: Sequence[BasisValue],
    *,
    delivered_id: str,
    limit: float,
    is_comparable: bool = True,
    witnesses: Sequence[Witness] = (),
) -> Explanation | None:
    """Which rules turn what this cell delivered into the claim; None where the claim states no number.

    `bases` are those of the cell, `delivered_id` the one on which the claim is judged, and `limit` the relative
    half-width above which an interval matches nothing. Where `is_comparable` is false, something else was measured
    than the claim is about, and the words say so first.
    """
    claim = number_of(case.reported)
    if claim is None:
        return None
    delivered = find(bases, delivered_id)
    if delivered is None or delivered.estimate is None or not delivered.is_honest:
        delivered = find(bases, "delivered/decode")
    estimate = delivered.estimate if delivered else None
    setting = setting_of(cell, load)
    found = explain(
        claim,
        [reading_of(value, claim, limit) for value in bases],
        given=_given(cell, load),
        delivered=estimate,
        delivered_id=delivered.id if delivered and estimate else None,
        limit=limit,
        setting_of=lambda reading: setting,
        witnesses=witnesses,
    )
    if not is_comparable:
        found = found.model_copy(update={"words": (ELSEWHERE, *found.words)})
    if estimate is None or delivered is None:
        return found
    clocks = [delivered, *(one for one in bases if one.id.startswith(_DELIVERED) and one.id != delivered.id)]
    clocks = [one for one in clocks if one.estimate is not None]
    served = [_served(cell, load, one, setting) for one in clocks]
    words = (factor_words(claim, served[0].low, served[0].high), *found.words)
    sentences = _likeliest([backwards(claim, one, stated_of(case)) for one in served], clocks)
    return found.model_copy(update={"words": words, "backwards": sentences})


_DELIVERED = ("delivered/decode", "delivered/request", "delivered/system")
_RANK = {True: 2, None: 1, False: 0}


def _likeliest(found: Sequence[Sequence[Backward]], clocks: Sequence[BasisValue]) -> tuple[Backward, ...]:
    """Of the same sentence from several clocks, the one that is most possible; the clock of the judged rate first."""
    best = {one.id: one for one in found[0]}
    for others, clock in zip(found[1:], clocks[1:], strict=True):
        for one in others:
            if one.id in best and _RANK[one.is_possible] > _RANK[best[one.id].is_possible]:
                words = f"{one.sentence.rstrip('.')}, from {clock.name}."
                best[one.id] = one.model_copy(update={"sentence": words})
    return tuple(best.values())


def _served(cell: CellLedger, load: Load, rate: BasisValue, setting: Setting | None) -> Served:
    estimate, is_one_stream = rate.estimate, rate.id.endswith(("/decode", "/request"))
    assert estimate is not None  # only rates with a value are run backwards
    low = estimate.value if estimate.low is None else estimate.low
    high = estimate.value if estimate.high is None else estimate.high
    if setting is None:
        return Served(
            value=estimate.value,
            low=low,
            high=high,
            is_one_stream=is_one_stream,
            streams=load.streams,
            gpus=load.gpus,
        )
    tally = cell.tally
    lengths = [
        1 + one.tally.accepted / one.tally.target_steps
        for one in cell.rounds
        if one.complete and one.tally.accepted is not None and one.tally.target_steps
    ]
    drafted, target = tally.drafted, tally.target_steps
    return Served(
        value=estimate.value,
        low=low,
        high=high,
        width=setting.width,
        per_step=drafted / target if drafted is not None and target else None,
        lengths=((min(lengths), max(lengths)),) if lengths else (),
        spans=_spans(cell),
        acceptance_words="the acceptance measured",
        is_one_stream=is_one_stream,
        streams=load.streams,
        gpus=load.gpus,
        output_tokens=setting.output_tokens,
        prompt_tokens=setting.prompt_tokens,
        reasoning=setting.reasoning,
        decode_s=(setting.output_tokens - setting.first_tokens) * setting.token_ns / 1e9,
    )


def _given(cell: CellLedger, load: Load) -> str:
    return f"cell {cell.cell}, {plural(len(cell.rounds), 'repeat')}, {plural(load.streams, 'stream')}"


def _spans(cell: CellLedger) -> tuple[Span, ...]:
    """The acceptance by position that gives the same length, to try it at other widths."""
    tally = cell.tally
    if not tally.verify_steps or tally.accepted is None or not tally.draft_width:
        return ()
    length = 1 + tally.accepted / tally.verify_steps
    same = acceptance_of(length, tally.draft_width, AcceptanceDefinition.PER_POSITION)
    return () if same is None else (Span(AcceptanceDefinition.PER_POSITION, same, same),)
