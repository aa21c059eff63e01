"""The few numbers from which a claim can be explained without a run."""

from dataclasses import dataclass, replace

from auditor.core.claim.record import Case
from auditor.core.claim.types import AcceptanceDefinition
from auditor.core.explain.matching import Number
from auditor.core.explain.served import Span, stated_of
from auditor.core.wording import plural
from auditor.core.wording import span as spanned

_COUNTS = {"streams": "stream", "gpus": "GPU", "prompt_tokens": "prompt token", "output_tokens": "output token"}


@dataclass(frozen=True, slots=True)
class Given:
    """The numbers that were given, None where they were not."""

    rate: Number
    """Tokens per second, or events per second."""
    width: int | None = None
    acceptance: tuple[float, float] | None = None
    definitions: tuple[AcceptanceDefinition, ...] = tuple(AcceptanceDefinition)
    """What the acceptance may be; several where it is not said."""
    streams: int | None = None
    gpus: int | None = None
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    from_claim: tuple[str, ...] = ()
    """What was not given and taken from the claim, in words."""

    def with_claim(self, case: Case) -> "Given":
        """The same, with streams, GPUs and lengths that were not given as the claim states them."""
        stated = stated_of(case)
        missing = [name for name in _COUNTS if getattr(self, name) is None and getattr(stated, name) is not None]
        taken = {name: getattr(stated, name) for name in missing}
        return replace(self, **taken, from_claim=tuple(plural(value, _COUNTS[name]) for name, value in taken.items()))

    @property
    def knows_steps(self) -> bool:
        """Whether events can be turned into tokens."""
        return bool(self.spans())

    @property
    def acceptance_words(self) -> str | None:
        """`acceptance 0.61 to 0.85`."""
        return None if self.acceptance is None else f"acceptance {spanned(*self.acceptance)}"

    def spans(self) -> tuple[Span, ...]:
        """The acceptance under each definition that allows it; empty where none was given."""
        if self.acceptance is None or self.width is None:
            return ()
        spans = [Span(definition, *self.acceptance) for definition in self.definitions]
        return tuple(span for span in spans if span.lengths(self.width) is not None)

    def words(self, *, as_events: bool) -> str:
        """What was given, in words."""
        what = "events (steps) per second" if as_events else "delivered tokens per second"
        words = [f"{self.rate.text} {what}"]
        if self.width is not None:
            words.append(f"k = {self.width}")
        if self.acceptance_words is not None:
            names = [definition.value.replace("_", " ") for definition in self.definitions]
            words.append(f"{self.acceptance_words} ({' or '.join(names)})")
        counts = [(getattr(self, field), name) for field, name in _COUNTS.items()]
        words += [plural(count, name) for count, name in counts if count is not None]
        text = ", ".join(word for word in words if word not in self.from_claim)
        return f"{text}; as the claim states, {' and '.join(self.from_claim)}" if self.from_claim else text
