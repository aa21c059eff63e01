"""The figures of each cell that a report shows, and pairs of cells that differ only in speculation."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from auditor.core.checks.timing import effective_streams
from auditor.core.counting.ledger import CellLedger, ExchangeLedger, Ledger, RoundLedger
from auditor.core.facts import RunFacts, ServerFacts
from auditor.core.judging.verdict import CellSummary, PairSummary
from auditor.core.plan.plan import Plan
from auditor.core.record import six
from auditor.core.stats import Estimate, estimate, ratio_estimate


def cell_summaries(plan: Plan, facts: RunFacts, ledger: Ledger) -> tuple[CellSummary, ...]:
    """One summary a cell, in the order of the plan."""
    return tuple(_summary(cell, facts.servers[cell.server]) for cell in ledger.cells)


def _summary(cell: CellLedger, server: ServerFacts) -> CellSummary:
    tally = cell.tally
    drafted, accepted, steps = tally.drafted, tally.accepted, tally.verify_steps
    ttfts = [ns / 1e6 for one in cell.rounds for ns in one.ttft_ns]
    effective = effective_streams(cell)
    return CellSummary(
        cell=cell.cell,
        server=cell.server,
        role=cell.role,
        streams=cell.streams,
        repeats=len(cell.rounds),
        speculation=speculation_words(server),
        tally=tally,
        rejected=tally.rejected,
        identity=cell.identity,
        decode_rate=_rates(cell.rounds, _decode_rate),
        system_rate=_rates(cell.rounds, _system_rate),
        acceptance_rate=six(accepted / drafted) if accepted is not None and drafted else None,
        acceptance_length=six(1 + accepted / steps) if accepted is not None and steps else None,
        accepted_by_position=cell.accepted_by_position,
        ttft_ms=estimate(ttfts) if ttfts else None,
        effective_streams=None if effective is None else six(effective),
    )


def speculation_words(server: ServerFacts) -> str:
    """How a server speculates, in a few words."""
    speculation = server.value("speculation")
    if speculation is None:
        return "not known"
    if not speculation:
        return "off"
    method, width = server.value("speculation_method"), server.value("draft_tokens")
    return f"{method or 'on'}" + (f", k = {width}" if width is not None else "")


def pair_summaries(plan: Plan, facts: RunFacts, ledger: Ledger) -> tuple[PairSummary, ...]:
    """Each cell beside the reference cell of the same load, where there is one."""
    pairs = []
    references = [cell for cell in plan.cells if cell.role == "reference"]
    for cell in plan.cells:
        if cell.role not in ("subject", "extra"):
            continue
        match = next((r for r in references if (r.streams, r.max_tokens) == (cell.streams, cell.max_tokens)), None)
        one, other = ledger.cell(cell.key), ledger.cell(match.key) if match else None
        if one is not None and other is not None:
            pair = _pair(one, other, facts.servers[one.server], facts.servers[other.server])
            if pair is not None:
                pairs.append(pair)
    return tuple(pairs)


def _pair(
    cell: CellLedger, reference: CellLedger, server: ServerFacts, reference_server: ServerFacts
) -> PairSummary | None:
    """Ratio of decode rates, with an interval over the repeats that both have (t on the logarithms)."""
    by_repeat = {one.repeat: _decode_rate(one) for one in reference.rounds}
    ratios = [rate / base for one in cell.rounds if (rate := _decode_rate(one)) and (base := by_repeat.get(one.repeat))]
    if not ratios:
        return None
    found = ratio_estimate(ratios)
    is_plain = bool(server.value("speculation")) and reference_server.value("speculation") is False
    return PairSummary(
        cell=cell.cell,
        reference=reference.cell,
        ratio=found.value,
        low=found.low,
        high=found.high,
        sentence=_pair_words(found.value, found.low, found.high, None if is_plain else reference.server),
    )


def _pair_words(ratio: float, low: float | None, high: float | None, other: str | None) -> str:
    """`other` names the reference where the two servers differ in more, or less, than speculation."""
    beside, faster, slower = "without speculation", "speculation helps here", "speculation makes it slower here"
    if other is not None:
        beside, faster, slower = f"of {other}", "faster here", "slower here"
    if low is None or high is None:
        return f"{ratio:.2f} times the rate {beside}, in one repeat: no interval, so no conclusion"
    words = faster if low > 1 else slower if high < 1 else "no difference shown"
    return f"{ratio:.2f} times the rate {beside} ({low:.2f} to {high:.2f}): {words}"


def by_kind(plan: Plan, ledger: Ledger) -> dict[str, Estimate]:
    """Decode rate of the judged cell by kind of prompt, over single answers."""
    rates: dict[str, list[float]] = defaultdict(list)
    for line in ledger.exchanges:
        rate = line_decode_rate(line)
        if line.cell == plan.subject.key and line.status == "complete" and rate is not None:
            rates[line.kind].append(rate)
    return {kind: estimate(values) for kind, values in rates.items()}


def line_decode_rate(line: ExchangeLedger) -> float | None:
    """Tokens after the first event over first to last event, tokens per second."""
    tokens, decode_ns = line.times.tokens_after_first, line.times.decode_ns
    return None if tokens is None or not decode_ns else tokens * 1e9 / decode_ns


def _decode_rate(one: RoundLedger) -> float | None:
    return None if one.decode_tokens is None or not one.decode_ns else one.decode_tokens * 1e9 / one.decode_ns


def _system_rate(one: RoundLedger) -> float | None:
    delivered = one.tally.delivered
    return None if delivered is None or not one.window_ns else delivered * 1e9 / one.window_ns


def _rates(rounds: Sequence[RoundLedger], rate: Callable[[RoundLedger], float | None]) -> Estimate | None:
    values = [value for one in rounds if (value := rate(one)) is not None]
    return estimate(values) if values and len(values) == len(rounds) else None
