"""From exchanges to rounds and cells: sums, windows, and what the server's own counters say of the same time."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from auditor.core.adapter import Adapter
from auditor.core.counting.counters import Counters
from auditor.core.counting.evidence import Evidence, read_response
from auditor.core.counting.exchange import Counted
from auditor.core.counting.ledger import CellLedger, RoundLedger
from auditor.core.counting.tally import Tally, add, check_identity
from auditor.core.plan.plan import Cell
from auditor.terms import Rung

SECOND_NS = 10**9
COUNTED_BY_SERVER = (Rung.TOKEN_IDS, Rung.EVENT_USAGE, Rung.FINAL_USAGE)
"""Rungs that count the tokens which the server's own counter counts."""


@dataclass(frozen=True, slots=True)
class Scrape:
    """One reading of a server's counters."""

    cell: str
    repeat: int
    when: str
    """`before` or `after` the round."""
    at_ns: int
    counters: Counters | None
    problem: str | None


def read_scrapes(evidence: Evidence, cells: Mapping[str, Cell], adapters: Mapping[str, Adapter]) -> tuple[Scrape, ...]:
    """The scrapes of a run; of several at the same moment, as while waiting for a drain, the last.

    Where each scrape counts from the one before, their sum.
    """
    found: dict[tuple[str, int, str], Scrape] = {}
    for exchange in evidence.exchanges:
        if exchange.purpose != "scrape" or exchange.meta.get("cell") not in cells:
            continue
        cell, repeat = str(exchange.meta["cell"]), int(exchange.meta.get("repeat", 0))
        when = str(exchange.meta.get("when"))
        response = read_response(exchange)
        counters, problem = None, None
        if response.status != 200 or not response.whole:
            problem = f"HTTP {response.status}" if response.status else (exchange.words or "no answer")
        else:
            try:
                counters = adapters[cells[cell].server].counters(response.body.decode("utf-8", "replace"))
            except ValueError as error:
                problem = f"unreadable: {error}"
        earlier = found[cell, repeat, when].counters if (cell, repeat, when) in found else None
        if counters is not None and counters.is_since_last and earlier is not None:
            counters = earlier.and_then(counters)
        at_ns = exchange.close_ns or exchange.open_ns or 0
        found[cell, repeat, when] = Scrape(cell, repeat, when, at_ns, counters, problem)
    return tuple(found.values())


def scrape_lines(scrapes: Iterable[Scrape]) -> Iterator[dict[str, Any]]:
    """The scrapes as they are written to `metrics.jsonl`."""
    for scrape in scrapes:
        counters = scrape.counters.model_dump(mode="json", exclude_none=True) if scrape.counters else None
        yield {**asdict(scrape), "counters": counters}


def contradicted(counted: Sequence[Counted], scrapes: Iterable[Scrape]) -> set[int]:
    """Exchanges whose steps, as their events show them, are not those that the server counted: events were merged in a
    way that looks like steps."""
    at = {(scrape.cell, scrape.repeat, scrape.when): scrape for scrape in scrapes}
    rounds: dict[tuple[str, int], list[Counted]] = defaultdict(list)
    for item in counted:
        rounds[item.line.cell, item.line.repeat].append(item)
    found: set[int] = set()
    for key, items in rounds.items():
        counters, _ = _difference(at.get((*key, "before")), at.get((*key, "after")))
        tally = add(item.line.tally for item in items)
        if counters is None or counters.steps is None or tally.first is None or tally.target_steps is None:
            continue
        other, _ = _other_traffic(counters, items, tally.delivered)
        if other == 0 and tally.first + tally.target_steps != counters.steps:
            found |= {item.exchange.id for item in items}
    return found


def cell_ledger(cell: Cell, counted: Sequence[Counted], scrapes: Iterable[Scrape]) -> CellLedger | None:
    """All rounds of a cell, summed; None when nothing of it was measured."""
    own = [item for item in counted if item.line.cell == cell.key]
    if not own:
        return None
    at = {(scrape.repeat, scrape.when): scrape for scrape in scrapes if scrape.cell == cell.key}
    repeats = sorted({item.line.repeat for item in own})
    rounds = tuple(_round(cell, repeat, [item for item in own if item.line.repeat == repeat], at) for repeat in repeats)
    tally = add(one.tally for one in rounds)
    is_partial = any(item.line.status != "complete" for item in own)
    return CellLedger(
        cell=cell.key,
        server=cell.server,
        role=cell.role,
        streams=cell.streams,
        tally=tally,
        identity=check_identity(tally, is_partial=is_partial),
        sources=_sources(own, rounds, tally),
        rounds=rounds,
        accepted_by_position=_positions(rounds),
    )


def _round(cell: Cell, repeat: int, items: Sequence[Counted], at: Mapping[tuple[int, str], Scrape]) -> RoundLedger:
    complete = [item for item in items if item.line.status == "complete"]
    counters, reason = _difference(at.get((repeat, "before")), at.get((repeat, "after")))
    tally = add(item.line.tally for item in complete)
    other = None
    if counters is not None:
        other, reason = _other_traffic(counters, items, tally.delivered)
        if other == 0:
            tally = _filled(tally, counters, len(items))
    lines = [item.line for item in complete]
    sends = [line.times.send_ns for line in lines if line.times.send_ns is not None]
    lasts = [line.times.last_ns for line in lines if line.times.last_ns is not None]
    return RoundLedger(
        cell=cell.key,
        repeat=repeat,
        exchanges=tuple(item.line.exchange for item in items),
        complete=len(complete),
        tally=tally,
        counters=counters,
        counters_reason=reason,
        other_traffic=other,
        window_ns=max(lasts) - min(sends) if sends and lasts else None,
        decode_tokens=_total(line.times.tokens_after_first for line in lines),
        decode_ns=_total(line.times.decode_ns for line in lines),
        e2e_ns=_total(line.times.e2e_ns for line in lines),
        ttft_ns=tuple(line.times.ttft_ns for line in lines if line.times.ttft_ns is not None),
        **(_best_seconds(complete, min(sends)) if sends else {}),
    )


def _difference(before: Scrape | None, after: Scrape | None) -> tuple[Counters | None, str | None]:
    if before is None or after is None:
        return None, "the server's counters were not read"
    problem = before.problem or after.problem
    if before.counters is None or after.counters is None:
        return None, f"the server's counters could not be read: {problem}"
    try:
        return after.counters.since(before.counters), None
    except ValueError as error:
        return None, str(error)


def _other_traffic(
    counters: Counters, items: Sequence[Counted], delivered: int | None
) -> tuple[int | None, str | None]:
    """Tokens that the server counted beside those received, or None where that cannot be told; and why the counters are
    not used."""
    if any(item.line.status != "complete" for item in items):
        return None, "not used: an exchange did not complete, and the server may have counted what nobody read"
    if counters.delivered is None and counters.requests is not None:
        # A server that counts requests and not tokens: as many as were sent are all our own.
        is_shared = counters.requests != len(items)
        return (None, "not used: the server served others too") if is_shared else (0, _unused(counters))
    if counters.delivered is None or delivered is None:
        return None, "not used: they do not count delivered tokens"
    if any(item.line.rung not in COUNTED_BY_SERVER for item in items):
        return None, "not used: the client could not count tokens as the server does"
    other = counters.delivered - delivered
    return other, "not used: the server served others too" if other else _unused(counters)


def _unused(counters: Counters) -> str | None:
    """Which of its counters are passed over, and why."""
    return "; ".join(f"{name.replace('_', ' ')}: {why}" for name, why in counters.reasons.items()) or None


def _filled(tally: Tally, counters: Counters, requests: int) -> Tally:
    """Terms that the streams do not show, from the server's counters over the same time."""
    values: dict[str, int | None] = {}
    for name in ("drafted", "accepted", "verify_steps", "cached_tokens"):
        if getattr(tally, name) is None:
            values[name] = getattr(counters, name)
    if counters.steps is not None and tally.target_steps is None:
        values |= {"first": requests, "target_steps": counters.steps - requests, "merged_steps": 0}
    if tally.draft_width is None and counters.accepted_by_position is not None:
        values["draft_width"] = len(counters.accepted_by_position)
    filled = tally.model_copy(update=values)
    if filled.plain_steps is None and filled.target_steps is not None and filled.verify_steps is not None:
        filled = filled.model_copy(update={"plain_steps": filled.target_steps - filled.verify_steps})
    return filled


def _sources(own: Sequence[Counted], rounds: Sequence[RoundLedger], tally: Tally) -> dict[str, str]:
    """Where each known term of the tally comes from."""
    rungs = Counter(str(item.line.rung) for item in own if item.line.status == "complete")
    sources = {"delivered": ", ".join(f"{rung} ({count} exchanges)" for rung, count in sorted(rungs.items()))}
    streams = add(item.line.tally for item in own if item.line.status == "complete")
    for name in ("first", "plain_steps", "verify_steps", "target_steps", "drafted", "accepted", "overshoot"):
        if getattr(tally, name) is None:
            continue
        sources[name] = "the streams" if getattr(streams, name) is not None else "the server's counters"
    return sources


def _best_seconds(items: Sequence[Counted], start_ns: int) -> dict[str, int | None]:
    """The most tokens, prompt and delivered tokens, and events in one second."""
    import numpy as np

    shown = [(item.line.tally.prompt_tokens, item.stream.deliveries) for item in items if item.stream.deliveries]
    last = max([start_ns, *(int(one.at_ns.max()) for _, one in shown)])
    whole = (last - start_ns) // SECOND_NS
    if whole < 2:
        return {}
    tokens, prompts, events = (np.zeros(whole + 1, np.int64) for _ in range(3))
    for prompt_tokens, one in shown:
        seconds = (one.at_ns - start_ns) // SECOND_NS
        # A stamp before the first request is clock error, and belongs to no second.
        is_within = seconds >= 0
        seconds, counts = seconds[is_within], np.maximum(one.tokens, 0)[is_within]
        np.add.at(events, seconds, 1)
        np.add.at(tokens, seconds, counts)
        if is_within[0]:
            prompts[seconds[0]] += prompt_tokens or 0
    knows_tokens = all(one.are_counted for _, one in shown)
    knows_prompts = all(item.line.tally.prompt_tokens is not None for item in items)
    both = int((tokens + prompts)[:whole].max())
    return {
        "peak_second_tokens": int(tokens[:whole].max()) if knows_tokens else None,
        "peak_second_total": both if knows_tokens and knows_prompts else None,
        "peak_second_events": int(events[:whole].max()),
    }


def _positions(rounds: Sequence[RoundLedger]) -> tuple[int, ...] | None:
    """Accepted drafts by position, summed over the rounds, from the server's counters."""
    all_positions = [one.counters.accepted_by_position for one in rounds if one.counters and one.other_traffic == 0]
    known = [positions for positions in all_positions if positions is not None]
    if not known or len(known) < len(rounds):
        return None
    width = max(map(len, known))
    return tuple(sum(p[i] if i < len(p) else 0 for p in known) for i in range(width))


def _total(values: Iterable[int | None]) -> int | None:
    known = list(values)
    return sum(v or 0 for v in known) if known and None not in known else None
