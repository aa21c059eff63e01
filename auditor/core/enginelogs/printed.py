"""Numbers as a log prints them: a text, and everything that rounds to it.

A log rounds, so a printed number stands for an interval: 130.2 for 130.15 to 130.25. Bounds are exact fractions, ends
included, and nothing that is computed from them is shown with more places than they allow.
"""

from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import ceil, floor, log10

NUMBER = r"[-+]?(?:\d+(?:\.\d+)?(?:e[-+]?\d+)?|nan|inf)"
"""Pattern of a number as C and Python print it."""
COUNT = r"\d{1,12}"
"""Pattern of a count; a longer one is noise."""
MAX_DIGITS = 24
"""A longer number is noise."""
EXACT = Context(prec=200)
"""For sums and quotients of printed numbers: no digit of theirs is lost."""


@dataclass(frozen=True)
class Printed:
    """A number, as it was printed."""

    text: str

    @cached_property
    def value(self) -> Decimal:
        """The number itself."""
        return Decimal(self.text)

    @cached_property
    def decimals(self) -> int:
        """Places after the point; negative where an exponent hides places before it."""
        return -int(self.value.as_tuple().exponent)

    @cached_property
    def low(self) -> Fraction:
        """The least number that is printed so."""
        return self._off(-1)

    @cached_property
    def high(self) -> Fraction:
        """The greatest number that is printed so."""
        return self._off(1)

    def _off(self, halves: int) -> Fraction:
        """The number and so many halves of its last place."""
        places = self.decimals
        twice = 2 * int(self.value.scaleb(places, context=EXACT)) + halves
        return Fraction(twice, 2 * 10**places) if places >= 0 else Fraction(twice * 10**-places, 2)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Span:
    """A quantity between two exact bounds, both included."""

    low: Fraction
    high: Fraction

    @property
    def is_empty(self) -> bool:
        """Whether nothing lies between the bounds."""
        return self.low > self.high

    def meet(self, other: "Span") -> "Span":
        """What lies in both; may be empty."""
        return Span(max(self.low, other.low), min(self.high, other.high))

    def join(self, other: "Span") -> "Span":
        """From the lower of the low ends to the higher of the high ends."""
        return Span(min(self.low, other.low), max(self.high, other.high))

    def plus(self, other: "Span", times: int | Fraction = 1) -> "Span":
        """The sum of both, the other taken so many times."""
        return Span(self.low + other.low * times, self.high + other.high * times)

    def text(self, most: int = 3) -> str:
        """Both bounds in words, with as many places as tell them apart, `most` at the most."""
        width = self.high - self.low
        places = min(most, max(0, ceil(-log10(width)) + 1)) if width > 0 else most
        low, high = (rounded(end, places) for end in (self.low, self.high))
        return low if low == high else f"{low} to {high}"


NOTHING = Span(Fraction(0), Fraction(0))


def printed(text: str | None) -> Printed | None:
    """The number, None for what is absent, not a number, infinite or absurdly long."""
    if text is None or len(text) > MAX_DIGITS or text.lstrip("+-")[:1] in ("n", "i", ""):
        return None
    number = Printed(text)
    return number if -MAX_DIGITS < number.decimals < MAX_DIGITS else None


def of_per_cent(number: Printed) -> Printed:
    """The same as a fraction, with its rounding: 60.9 % is 0.609."""
    return Printed(f"{number.value.scaleb(-2):f}")


def span(number: Printed, per: int = 1) -> Span:
    """The bounds of a printed number, divided by `per`."""
    return Span(number.low / per, number.high / per)


def rounded(number: Fraction, places: int) -> str:
    """The number with so many places, half to even."""
    return str(quantized(EXACT.divide(Decimal(number.numerator), Decimal(number.denominator)), places))


def quantized(number: Decimal, places: int) -> Decimal:
    """The number with so many places, half to even."""
    return number.quantize(Decimal(1).scaleb(-places), context=EXACT)


def sure(bounds: Span, most: int) -> str:
    """The middle of the bounds with no more places than they are sure of, `most` at the most."""
    middle = (bounds.low + bounds.high) / 2
    width = bounds.high - bounds.low
    if width <= 0:
        return rounded(middle, most)
    places = min(most, floor(-log10(width)))
    if places >= 0:
        return rounded(middle, places)
    unit = 10**-places
    return str(round(middle / unit) * unit)
