"""The account: from evidence to the ledger. Pure; the adapters' readers are passed in."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from auditor.core.adapter import Adapter, Route
from auditor.core.counting.client import client_loads
from auditor.core.counting.deliveries import UNKNOWN
from auditor.core.counting.evidence import Evidence, Exchange, Passed, Readers, Response, not_a_stream
from auditor.core.counting.exchange import Counted, counts_of, rung_reason, tally_of
from auditor.core.counting.ledger import CellLedger, ExchangeLedger, Ledger, Status, Times
from auditor.core.counting.reading import Stream, StreamTaker
from auditor.core.counting.rounds import Scrape, cell_ledger, contradicted, read_scrapes
from auditor.core.counting.tally import check_identity
from auditor.core.folder import Recount
from auditor.core.plan.plan import Cell, Plan, schedule
from auditor.core.wording import plural
from auditor.terms import Rung

FINISHED = frozenset({"stop", "length", "tool_calls", "function_call", "eos_token", "eos", "stop_sequence"})
"""Finish reasons of an answer that came to its end."""


@dataclass(frozen=True, slots=True)
class Account:
    """The ledger, and the streams behind it."""

    ledger: Ledger
    counted: tuple[Counted, ...]
    scrapes: tuple[Scrape, ...]


def account_for(
    evidence: Evidence, plan: Plan, adapters: Mapping[str, Adapter], recount: Recount | None = None
) -> Account:
    """Make the ledger.

    `adapters` holds the adapter of each server key; `recount` the re-tokenised length of each exchange's text.
    """
    cells = {cell.key: cell for cell in plan.cells}
    prompts = {prompt.id: prompt.kind for prompt in plan.prompts}
    final = {exchange.id for exchange in final_attempts(evidence)}

    def count(exchange: Exchange, *, reads_steps: bool = True) -> Counted:
        cell = cells[str(exchange.meta["cell"])]
        again = recount.counts.get(exchange.id) if recount else None
        adapter = adapters[cell.server]
        adapter = adapter if reads_steps else replace(adapter, event_is_step=False)
        route = adapter.route(plan.api) or Route("")
        return _count(exchange, cell, adapter, route, prompts, again, is_final=exchange.id in final)

    items = [count(exchange) for exchange in evidence.exchanges if _is_measured(exchange, cells)]
    # An attempt that was put off is not shown; one that brought something is, though it was sent again.
    items = [item for item in items if item.exchange.id in final or item.stream.deliveries]
    scrapes = read_scrapes(evidence, cells, adapters)
    doubtful = contradicted(items, scrapes)
    counted = [count(item.exchange, reads_steps=False) if item.exchange.id in doubtful else item for item in items]
    measured = [cell for cell in plan.cells if cell.role != "warmup"]
    ledgers = [cell_ledger(cell, counted, scrapes) for cell in measured]
    ledger = Ledger(
        exchanges=tuple(item.line for item in counted),
        cells=tuple(_with_nominal(ledger, adapters[ledger.server]) for ledger in ledgers if ledger is not None),
        warmups=sum(1 for exchange in evidence.exchanges if exchange.purpose == "warmup"),
        damage=evidence.damage,
        finished=evidence.finished,
        planned_requests=sum(len(r.requests) for r in schedule(plan) if r.cell.role != "warmup"),
        clock_error_ns=evidence.clock_error_ns,
        recounted_by=recount.tokenizer if recount else None,
        is_recount_independent=recount.is_independent if recount else False,
        client=client_loads(evidence, [cell.key for cell in measured]),
    )
    return Account(ledger, tuple(counted), scrapes)


def readers_of(plan: Plan, adapters: Mapping[str, Adapter]) -> Readers:
    """What takes the reads of a log while it is read, so that they need not be held: streams that are measured are
    taken apart, warm-ups and probes passed over, and scrapes and the texts that are compared kept."""
    cells = {cell.key: cell for cell in plan.cells}

    def reader(exchange: Exchange) -> StreamTaker | Passed | None:
        if not _is_measured(exchange, cells):
            return None if exchange.purpose == "scrape" else Passed()
        cell = cells[str(exchange.meta["cell"])]
        adapter = adapters[cell.server]
        return None if cell.text else _taker(exchange, adapter, adapter.route(plan.api) or Route(""))

    return reader


def _taker(exchange: Exchange, adapter: Adapter, route: Route) -> StreamTaker:
    steps = adapter.event_is_step
    return StreamTaker(exchange.method, adapter.details, event_is_step=steps, shape=route.shape)


def answer_of(exchange: Exchange, adapter: Adapter, route: Route) -> tuple[Response, Stream]:
    """The answer, taken apart while the log was read, or now."""
    taker = exchange.taker
    if not isinstance(taker, StreamTaker):
        taker = _taker(exchange, adapter, route)
        for read in exchange.reads:
            taker.take(read.arrival_ns, read.data)
        taker.end(exchange.how)
        exchange.taker = taker
    response, stream = taker.result()
    if not adapter.event_is_step and not stream.deliveries.are_marked:
        stream = replace(stream, steps=None)
    return response, stream


def _with_nominal(ledger: CellLedger, adapter: Adapter) -> CellLedger:
    """The same, where each source says whether it only stands in for a count on this kind of server."""
    sources = {
        term: f"{source}; nominal: {note.why}"
        if (note := adapter.notes.get(term)) is not None and note.kind == "nominal"
        else source
        for term, source in ledger.sources.items()
        if term != "delivered"
    }
    return ledger.model_copy(update={"sources": {**ledger.sources, **sources}})


def _is_measured(exchange: Exchange, cells: Mapping[str, Cell]) -> bool:
    cell = cells.get(str(exchange.meta.get("cell")))
    return exchange.purpose == "measure" and cell is not None and cell.role != "warmup"


def final_attempts(evidence: Evidence) -> Sequence[Exchange]:
    """The measured exchanges; of a request that was sent again, the last attempt."""
    last: dict[tuple[object, ...], Exchange] = {}
    for exchange in evidence.exchanges:
        if exchange.purpose == "measure":
            last[tuple(exchange.meta.get(name) for name in ("cell", "repeat", "index"))] = exchange
    return list(last.values())


def _count(
    exchange: Exchange,
    cell: Cell,
    adapter: Adapter,
    route: Route,
    prompts: Mapping[str, str],
    recount: int | None,
    *,
    is_final: bool,
) -> Counted:
    response, stream = answer_of(exchange, adapter, route)
    status, problem = _status(exchange, response, stream)
    if not is_final:
        status, problem = "partial", "it was sent again after it had brought tokens"
    counts = counts_of(stream, recount)
    rung = next((rung for rung in Rung if rung in counts), None)
    delivered = None if rung is None else counts[rung]
    tally = tally_of(stream, delivered, requested=cell.max_tokens, event_is_step=adapter.event_is_step)
    text = stream.text
    line = ExchangeLedger(
        exchange=exchange.id,
        cell=cell.key,
        repeat=int(exchange.meta.get("repeat", 0)),
        index=int(exchange.meta.get("index", 0)),
        prompt=str(exchange.meta.get("prompt", "")),
        kind=prompts.get(str(exchange.meta.get("prompt")), "unknown"),
        attempt=int(exchange.meta.get("attempt", 0)),
        status=status,
        problem=problem,
        finish_reason=stream.finish_reason,
        rung=rung,
        rung_reason=rung_reason(rung, stream),
        counts=counts,
        tally=tally,
        identity=check_identity(tally, is_partial=status != "complete"),
        times=_times(exchange, stream, delivered),
        events_sharing_a_read=stream.deliveries.sharing_a_read,
        largest_event=stream.deliveries.largest,
        invisible_tokens=_invisible(stream, tally.delivered),
        reported=dict(stream.final.reported) if stream.final else {},
        notes=tuple(_notes(response, stream, ends_with_done=route.ends_with_done)),
        text_sha256=hashlib.sha256(text.encode()).hexdigest() if text else None,
    )
    return Counted(line, stream, exchange)


def _status(exchange: Exchange, response: Response, stream: Stream) -> tuple[Status, str | None]:
    """Complete means: HTTP 200, a known finish reason, no error within, and a clean end."""
    broken: Status = "partial" if stream.deliveries else "failed"
    if response.head is None:
        return "failed", exchange.words or response.problem or "no answer came"
    if response.status != 200:
        words = response.body[:300].decode("utf-8", "replace").strip()
        return "failed", f"HTTP {response.status}: {words}" if words else f"HTTP {response.status}"
    if problem := response.problem or not_a_stream(response.head):
        return broken, problem
    if stream.error:
        return broken, f"an error within the stream: {stream.error}"
    if exchange.how is None:
        return broken, "the record ends before the answer did"
    if exchange.how == "cancelled":
        return broken, "given up by the client"
    if not response.whole:
        return broken, exchange.words or "the connection closed before the answer was complete"
    if stream.finish_reason is None:
        return broken, "the stream ended without a finish reason"
    if stream.finish_reason not in FINISHED:
        return broken, f"the server ended the answer with {stream.finish_reason!r}"
    if not stream.deliveries:
        return "failed", "the answer is empty"
    return "complete", None


def _times(exchange: Exchange, stream: Stream, delivered: int | None) -> Times:
    """When it happened; an answer ends with its last byte, and not when the client came to close the exchange."""
    deliveries = stream.deliveries
    end_ns = exchange.close_ns
    if end_ns is not None and exchange.last_ns is not None:
        end_ns = exchange.last_ns
    if not deliveries:
        return Times(send_ns=exchange.send_ns, end_ns=end_ns)
    tokens = deliveries.tokens
    first = None if tokens[0] == UNKNOWN else int(tokens[0])
    after = None if delivered is None else delivered - (1 if first is None else first)
    if first is not None and deliveries.are_counted:
        after = int(tokens[1:].sum())
    return Times(
        send_ns=exchange.send_ns,
        first_ns=int(deliveries.at_ns[0]),
        last_ns=int(deliveries.at_ns[-1]),
        end_ns=end_ns,
        tokens_in_first_event=first,
        tokens_after_first=after,
    )


def _invisible(stream: Stream, delivered: int | None) -> int | None:
    if delivered is None or not stream.deliveries.are_counted:
        return None
    return delivered - stream.deliveries.visible_tokens


def _notes(response: Response, stream: Stream, *, ends_with_done: bool) -> list[str]:
    notes = []
    if ends_with_done and response.head is not None and stream.deliveries and not stream.is_done:
        notes.append("the stream ended without [DONE]")
    if response.unfinished_event:
        notes.append("the stream ended inside an event")
    if stream.unreadable:
        notes.append(f"{plural(stream.unreadable, 'event')} passed over: no JSON object")
    if stream.nan_events:
        notes.append(f"{plural(stream.nan_events, 'event')} held NaN or Infinity")
    if response.oversized_events:
        notes.append(f"{plural(response.oversized_events, 'event')} passed over: too large to read")
    if stream.choices > 1:
        notes.append(f"{stream.choices} choices came in one answer")
    return notes
