"""The ledger: what every exchange, round and cell delivered, drafted, accepted and rejected, and when."""

from typing import Literal

from auditor.core.counting.client import ClientLoad
from auditor.core.counting.counters import Counters
from auditor.core.counting.tally import Identity, Tally
from auditor.core.record import Record, canonical_json
from auditor.terms import Rung

Status = Literal["complete", "partial", "failed"]


class Times(Record):
    """When an exchange happened, monotonic ns; None where the moment never came."""

    send_ns: int | None = None
    first_ns: int | None = None
    """First event with any token."""
    last_ns: int | None = None
    """Last event with any token."""
    end_ns: int | None = None
    tokens_in_first_event: int | None = None
    tokens_after_first: int | None = None
    """Tokens in the events after the first. Where events do not tell, delivered less those of the first event, one if
    unknown."""

    @property
    def ttft_ns(self) -> int | None:
        """Send to the first event with any token, reasoning included."""
        return _between(self.send_ns, self.first_ns)

    @property
    def e2e_ns(self) -> int | None:
        """Send to the end of the stream."""
        return _between(self.send_ns, self.end_ns)

    @property
    def decode_ns(self) -> int | None:
        """First to last event with any token."""
        return _between(self.first_ns, self.last_ns)


class ExchangeLedger(Record):
    """One measured request."""

    exchange: int
    cell: str
    repeat: int
    index: int
    prompt: str
    kind: str
    attempt: int = 0
    status: Status
    problem: str | None = None
    """What went wrong; None for a complete exchange."""
    finish_reason: str | None = None
    rung: Rung | None = None
    """Where the count of delivered tokens comes from."""
    rung_reason: str | None = None
    """Why there is no count, or why a better rung could not be had."""
    counts: dict[Rung, int] = {}
    """Every count that could be had."""
    tally: Tally
    identity: Identity
    times: Times
    events_sharing_a_read: int = 0
    """Events with tokens or text whose read brought another one too: they carry one time."""
    largest_event: int | None = None
    """Most tokens in one event."""
    invisible_tokens: int | None = None
    """Tokens that came without text: end of sequence, stop text, held characters; None where not known."""
    reported: dict[str, float] = {}
    """The server's own figures, under its own names."""
    notes: tuple[str, ...] = ()
    """What a reader of the counts must know: missing end mark, unreadable events, NaN."""
    text_sha256: str | None = None


class RoundLedger(Record):
    """One repeat of one cell: the unit of which intervals are made."""

    cell: str
    repeat: int
    exchanges: tuple[int, ...]
    complete: int
    """Exchanges that completed."""
    tally: Tally
    """Of the complete exchanges; terms that only the server's counters tell are filled from them."""
    counters: Counters | None = None
    """The server's counters over the round; None without."""
    counters_reason: str | None = None
    """Why there are none, or why they were not used."""
    other_traffic: int | None = None
    """Tokens that the server counted and this client did not receive; None where that cannot be told."""
    window_ns: int | None = None
    """First send to last token."""
    decode_tokens: int | None = None
    """Sum over streams of the tokens after the first event; those without an event are left out."""
    decode_ns: int | None = None
    """Sum over streams of first to last event."""
    e2e_ns: int | None = None
    """Sum over streams of send to end."""
    ttft_ns: tuple[int, ...] = ()
    peak_second_tokens: int | None = None
    """Most tokens in one of the consecutive seconds from the first send; None when it took less than two."""
    peak_second_total: int | None = None
    """The same with each prompt counted in the second of its first event."""
    peak_second_events: int | None = None
    """Most events in one of these seconds."""


class CellLedger(Record):
    """All rounds of one cell."""

    cell: str
    server: str
    role: str
    streams: int
    tally: Tally
    identity: Identity
    sources: dict[str, str] = {}
    """Where each term of the tally comes from."""
    rounds: tuple[RoundLedger, ...]
    accepted_by_position: tuple[int, ...] | None = None


class Ledger(Record):
    """`ledger.json`."""

    ledger_version: Literal[1] = 1
    exchanges: tuple[ExchangeLedger, ...]
    cells: tuple[CellLedger, ...]
    warmups: int
    """Warm-up requests, recorded and not counted."""
    damage: str | None = None
    """Why the wire log could not be read to its end."""
    finished: bool = True
    """Whether the run reached its end."""
    planned_requests: int
    """Measured requests of the plan."""
    clock_error_ns: int | None = None
    recounted_by: str | None = None
    """The tokenizer that counted the text again; None where none did."""
    is_recount_independent: bool = False
    """Whether that is another than the measured server's own."""
    client: tuple[ClientLoad, ...] = ()
    """How the client kept up in each cell; left out of the file where it did not record that."""

    def to_json(self) -> bytes:
        """The canonical JSON; ledgers of logs without marks of the client stay what they were."""
        return canonical_json(self.model_dump(mode="json", exclude=None if self.client else {"client"}))

    def cell(self, key: str) -> CellLedger | None:
        """The cell of that key, None when nothing of it was measured."""
        return next((cell for cell in self.cells if cell.cell == key), None)

    @property
    def is_partial(self) -> bool:
        """Whether something planned was not measured."""
        sent = {(line.cell, line.repeat, line.index) for line in self.exchanges}
        return not self.finished or self.damage is not None or len(sent) < self.planned_requests


def _between(start: int | None, end: int | None) -> int | None:
    return None if start is None or end is None else end - start
