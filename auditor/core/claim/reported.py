"""The published number: what it is, what it says that it counts, and how far its rounding lets it be read."""

from decimal import Decimal
from typing import Literal, Self

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from auditor.core.claim.types import Basis, Count, Counter, OutcomeStated, Part, Rate, RateRange, Window

NO_NUMBER: dict[OutcomeStated | None, str] = {
    OutcomeStated.NAN: "NaN, no rate",
    OutcomeStated.FAILED: "failed, no rate",
    OutcomeStated.UNSUPPORTED: "unsupported, no rate",
}


class Reported(Part):
    """The published number."""

    value: Rate | None = None
    """The number, written as published: its last written place says how it was rounded."""
    range: RateRange | None = None
    """[low, high] where a range was published."""
    rounded_to: Rate | None = None
    """Unit to which the number was rounded, where that is not its last written place."""
    about: bool | None = None
    """Whether the source says `about` or `~`: zeros that end a whole number are then not written places."""
    unit: Literal["tok/s"] = "tok/s"
    """Tokens per second; a time of t ms per token is 1000/t tok/s."""
    basis: Basis | None = None
    """What the number says that it counts."""
    streams: Count | None = None
    """Requests in flight when the number was measured."""
    window: Window | None = None
    """The marks between which it was measured."""
    counter: Counter | None = None
    """What counted the tokens."""
    per_gpu: bool | None = None
    """True if the number is for one GPU, false if for all together."""
    outcome: OutcomeStated | None = None
    """What came out, as far as the source says."""

    @property
    def has_number(self) -> bool:
        """Whether a rate was published."""
        return self.value is not None or self.range is not None

    def interval(self) -> tuple[float, float] | None:
        """The numbers that round to what was published, as lowest and highest; None without a number.

        Half a unit of the last written place to either side: 130 is 129.5 to 130.5, 50.5 is 50.45 to 50.55, and
        [130, 150] is 129.5 to 150.5. A whole number counts to its last digit (3740 is 3739.5 to 3740.5) unless
        `about` is true (3735 to 3745) or `rounded_to` is given.
        """
        ends = self._ends()
        if ends is None:
            return None
        low, high = ends
        return (float(max(Decimal(0), low - self._unit(low) / 2)), float(high + self._unit(high) / 2))

    def as_text(self) -> str:
        """The published number in words, as `130 to 150 tok/s`."""
        ends = self._ends()
        if ends is None:
            return NO_NUMBER.get(self.outcome, "no number stated")
        low, high = (f"{self._as_written(end):,}" for end in ends)
        text = f"{low} {self.unit}" if low == high else f"{low} to {high} {self.unit}"
        text = f"about {text}" if self.about else text
        return f"{text}, output garbage" if self.outcome is OutcomeStated.GARBAGE else text

    def _ends(self) -> tuple[Decimal, Decimal] | None:
        pair = (self.value, self.value) if self.value is not None else self.range
        if pair is None or pair[0] is None or pair[1] is None:
            return None
        return (Decimal(repr(pair[0])), Decimal(repr(pair[1])))

    def _unit(self, number: Decimal) -> Decimal:
        if self.rounded_to is not None:
            return Decimal(repr(self.rounded_to))
        if self.about and number == int(number) and number.as_tuple().exponent == 0:
            number = number.normalize()
        return Decimal(1).scaleb(int(number.as_tuple().exponent))

    def _as_written(self, number: Decimal) -> Decimal:
        if self.rounded_to is None:
            return number
        return number.quantize(min(Decimal(1), Decimal(repr(self.rounded_to)).normalize()))

    @model_validator(mode="after")
    def _one_number(self) -> Self:
        if self.value is not None and self.range is not None:
            raise PydanticCustomError("claim", "has a value and a range; keep one of the two")
        if self.outcome in NO_NUMBER and self.has_number:
            raise PydanticCustomError(
                "claim", "says outcome {outcome} and gives a number; keep one of the two", {"outcome": self.outcome}
            )
        return self
