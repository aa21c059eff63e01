"""The words of the trade: one name, one symbol, one unit, one formula each.

Every time is an integer number of nanoseconds and its name ends in `_ns`. Nothing here computes; the formulas are
implemented once, in `auditor.core.counting.ledger` and `auditor.core.bases`, and named here for reports and docs.
"""

from dataclasses import dataclass
from enum import StrEnum

from auditor.errors import Exit


class Outcome(StrEnum):
    """What one check found."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_APPLICABLE = "not_applicable"
    NOT_AVAILABLE = "not_available"
    ERROR = "error"


class VerdictKind(StrEnum):
    """What a run says of a claim."""

    REPRODUCED = "reproduced"
    EXCEEDED = "exceeded"
    MISCOUNTED = "miscounted"
    NOT_REPRODUCED = "not-reproduced"
    INVALID_OUTPUT = "invalid-output"
    IMPOSSIBLE = "impossible"
    UNLABELLED = "unlabelled"
    NOT_COMPARABLE = "not-comparable"
    INCONCLUSIVE = "inconclusive"

    @property
    def exit_code(self) -> Exit:
        """The exit code of a command that ends with this verdict."""
        return _EXITS[self]

    @property
    def meaning(self) -> str:
        """When a run says this, in one line."""
        return _MEANINGS[self]


_EXITS = {
    VerdictKind.REPRODUCED: Exit.OK,
    VerdictKind.EXCEEDED: Exit.OK,
    VerdictKind.MISCOUNTED: Exit.REFUTED,
    VerdictKind.NOT_REPRODUCED: Exit.REFUTED,
    VerdictKind.INVALID_OUTPUT: Exit.REFUTED,
    VerdictKind.IMPOSSIBLE: Exit.REFUTED,
    VerdictKind.UNLABELLED: Exit.UNDECIDED,
    VerdictKind.NOT_COMPARABLE: Exit.UNDECIDED,
    VerdictKind.INCONCLUSIVE: Exit.UNDECIDED,
}


_MEANINGS = {
    VerdictKind.REPRODUCED: "delivered, on the claim's own basis, reaches it within the interval",
    VerdictKind.EXCEEDED: "delivered lies above the claim",
    VerdictKind.MISCOUNTED: "tokens that were not delivered were counted, and a witness backs it",
    VerdictKind.NOT_REPRODUCED: "everything that matters was observed equal, and the interval lies below the claim",
    VerdictKind.INVALID_OUTPUT: "the speed is there, the output is not",
    VerdictKind.IMPOSSIBLE: "the claim, read as favourably as can be, lies above the hard bound",
    VerdictKind.UNLABELLED: "the claim states no basis, and one of a usual label (total, aggregate, peak) reaches it",
    VerdictKind.NOT_COMPARABLE: "a field that matters differs, and the report says which; counting is still audited",
    VerdictKind.INCONCLUSIVE: "the evidence is too thin or too dirty",
}


class Rung(StrEnum):
    """Where a count of delivered tokens comes from, the most trusted first."""

    TOKEN_IDS = "token_ids"
    """Token ids in the stream."""
    EVENT_USAGE = "event_usage"
    """Running usage on each event (`continuous_usage_stats`)."""
    FINAL_USAGE = "final_usage"
    """Final usage less rejected prediction tokens."""
    SERVER_COUNTER = "server_counter"
    """Difference of a server counter; only without other traffic."""
    RETOKENISED = "retokenised"
    """Whole text through the model's own tokenizer."""
    EVENTS = "events"
    """Content-bearing events; a token may span events and an event may hold tokens."""


class Match(StrEnum):
    """How a field of the claim stands to what was observed."""

    EQUAL = "equal"
    DIFFERS = "differs"
    UNKNOWN = "unknown"
    """Stated, but not observed."""
    UNSTATED = "unstated"
    """Not stated by the claim."""


@dataclass(frozen=True, slots=True)
class Term:
    """A quantity with its one formula."""

    symbol: str
    name: str
    unit: str
    formula: str
    meaning: str


def _table(*terms: Term) -> dict[str, Term]:
    return {term.name: term for term in terms}


TERMS: dict[str, Term] = _table(
    Term("N", "delivered", "tokens", "F + P + S + A - O", "tokens that reached the client"),
    Term("S", "verify_steps", "steps", "", "target-model steps that verified a draft"),
    Term("D", "drafted", "tokens", "", "tokens that the drafter proposed"),
    Term(
        "A",
        "accepted",
        "tokens",
        "",
        "drafted tokens that the target accepted, counted before the cut at the end",
    ),
    Term("R", "rejected", "tokens", "D - A", "drafted tokens that the target refused"),
    Term("P", "plain_steps", "steps", "", "target-model steps without a draft, prefill excluded"),
    Term("O", "overshoot", "tokens", "F + P + S + A - N", "tokens of the last verify step past the end"),
    Term("k", "draft_width", "tokens", "", "most tokens proposed per verify step"),
    Term("E", "events", "events", "", "content-bearing events of the stream"),
    Term("I", "prompt_tokens", "tokens", "", "prompt tokens"),
    Term("I_c", "cached_tokens", "tokens", "", "prompt tokens that came from a cache"),
    Term("F", "first", "tokens", "", "tokens that the prefill emitted"),
    Term("W", "window", "ns", "end - start", "a named span of time"),
    Term("C", "streams", "streams", "", "streams in flight, as configured"),
    Term("C_eff", "effective_streams", "streams", "sum(e2e) / W", "streams in flight, as it was"),
    Term("A/D", "acceptance_rate", "", "A / D", "accepted per drafted token"),
    Term(
        "L",
        "acceptance_length",
        "tokens/step",
        "1 + A / S",
        "tokens per verify step, the bonus token included",
    ),
    Term(
        "",
        "ttft_ns",
        "ns",
        "first_event - send",
        "send to the first event with any token, reasoning included",
    ),
    Term("", "icl_ns", "ns", "event[i] - event[i-1]", "gap between content-bearing events"),
    Term(
        "",
        "itl_ns",
        "ns",
        "token[i] - token[i-1]",
        "gap between tokens; absent unless each event carries one",
    ),
    Term("", "tpot_ns", "ns/token", "(last - first) / (N - n_first)", "time per token after the first event"),
    Term("", "e2e_ns", "ns", "end - send", "send to the end of the stream"),
    Term(
        "",
        "decode_rate",
        "tokens/s",
        "(N - n_first) / (last - first)",
        "delivered after the first event; a token without an event, as the end of sequence, is left out",
    ),
    Term("", "request_rate", "tokens/s", "N / e2e", "delivered over the whole request"),
    Term("", "system_rate", "tokens/s", "sum(N) / W", "all streams over one window"),
)
