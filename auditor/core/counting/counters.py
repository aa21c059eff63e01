"""What a server's own counters say, and the difference between two scrapes."""

import math
from collections import defaultdict
from collections.abc import Mapping

from auditor.core.record import Record
from auditor.core.wire.prometheus import samples


class Counters(Record):
    """Cumulative counts since a server started; None where it has no such counter."""

    delivered: int | None = None
    """Tokens generated and handed to clients."""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    """Counted before the cut at the end of a request on every engine read so far."""
    verify_steps: int | None = None
    accepted_by_position: tuple[int, ...] | None = None
    steps: int | None = None
    """F + P + S: one per request and target step that gave it tokens, prefill included."""
    decode_calls: int | None = None
    """Calls of the target model, prefill batches included (llama.cpp)."""
    requests: int | None = None
    """Requests finished."""
    running: int | None = None
    """Requests in flight when scraped; a gauge, not a counter."""
    started: float | None = None
    """A stamp that changes when the server restarts."""
    is_since_last: bool = False
    """Whether these are the counts since the last scrape: reading them empties them (TensorRT-LLM's JSON)."""
    reasons: dict[str, str] = {}
    """Why a counter that the server has is not used."""

    @property
    def has_any(self) -> bool:
        """Whether there is a counter, or a place where one will be."""
        return self.is_since_last or bool(self.model_dump(exclude_none=True, exclude={"is_since_last", "reasons"}))

    def and_then(self, later: "Counters") -> "Counters":
        """The sum of two scrapes that each count from the last; what neither tells stays unknown.

        What one of them does not use, the sum does not use either.
        """
        reasons = {**self.reasons, **later.reasons}
        values: dict[str, object] = {}
        for name in _CUMULATIVE:
            known = [value for value in (getattr(self, name), getattr(later, name)) if value is not None]
            values[name] = sum(known) if known and name not in reasons else None
        return Counters.model_validate(
            {**values, "running": later.running, "is_since_last": True, "reasons": reasons},
        )

    def since(self, before: "Counters") -> "Counters":
        """Counts between two scrapes; raises ValueError when a counter ran backwards (restart)."""
        if self.is_since_last:
            return self
        if None not in (self.started, before.started) and self.started != before.started:
            raise ValueError("the server restarted between the scrapes")
        values: dict[str, object] = {}
        for name in _CUMULATIVE:
            after, earlier = getattr(self, name), getattr(before, name)
            if after is None:
                continue
            # A labelled counter is absent until it is first used, so absent before counts from zero.
            delta = after - (earlier or 0)
            if delta < 0:
                raise ValueError(f"the counter {name} ran backwards, from {earlier} to {after}")
            values[name] = delta
        if self.accepted_by_position is not None:
            earlier_positions = before.accepted_by_position or ()
            padded = (*earlier_positions, *(0,) * len(self.accepted_by_position))
            values["accepted_by_position"] = tuple(
                now - then for now, then in zip(self.accepted_by_position, padded, strict=False)
            )
        return Counters.model_validate({**values, "reasons": self.reasons})


MAX_POSITIONS = 1024
"""Draft positions that are believed."""
_CUMULATIVE = (
    "delivered",
    "prompt_tokens",
    "cached_tokens",
    "drafted",
    "accepted",
    "verify_steps",
    "steps",
    "decode_calls",
    "requests",
)


def read_counters(
    text: str, names: Mapping[str, tuple[str, ...]], *, positions: str | None = None, started: str | None = None
) -> Counters:
    """Counters from a Prometheus text.

    `names` maps a field of `Counters` to the series whose samples, over all labels, add up to it; a series that is
    missing leaves its field None. `positions` names the series with a `position` label, `started` one that holds the
    time of the start. Raises ValueError when the text is not a Prometheus text or a value is not a number.
    """
    wanted = {series for group in names.values() for series in group} | {positions, started}
    sums: dict[str, float] = defaultdict(float)
    by_position: dict[int, float] = defaultdict(float)
    stamps: list[float] = []
    for sample in samples(text):
        if sample.name not in wanted:
            continue
        if not math.isfinite(sample.value):
            raise ValueError(f"{sample.name} is {sample.value}")
        if sample.name == started:
            stamps.append(sample.value)
            continue
        sums[sample.name] += sample.value
        if sample.name == positions:
            by_position[int(sample.labels.get("position", -1))] += sample.value
    if by_position and not 0 <= min(by_position) <= max(by_position) < MAX_POSITIONS:
        raise ValueError(f"{positions} has the position {max(by_position)}")
    values: dict[str, object] = {
        field: round(sum(sums[series] for series in group))
        for field, group in names.items()
        if all(series in sums for series in group)
    }
    if by_position:
        values["accepted_by_position"] = tuple(round(by_position[i]) for i in range(max(by_position) + 1))
    return Counters.model_validate({**values, "started": min(stamps, default=None)})
