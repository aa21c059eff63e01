"""Numbers in sentences. Rounding never reaches a mark, such as an end of a claim, that the value does not reach."""

from collections.abc import Iterable, Sequence
from decimal import Decimal


def figure(value: float, marks: Iterable[float] = (), digits: int = 4) -> str:
    """A number with `digits` significant digits and its whole part in full; more where a mark is near."""
    limits = tuple(marks)
    for number in range(digits, 16):
        text = _rounded(value, number)
        if all(_side(float(text.replace(",", "")), mark) == _side(value, mark) for mark in limits):
            return text
    return f"{value:,}"


def span(low: float, high: float, marks: Iterable[float] = (), digits: int = 4) -> str:
    """`2.562 to 2.983`, or one number where both are shown alike."""
    limits = tuple(marks)
    ends = [figure(end, limits, digits) for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def percent(share: float) -> str:
    """A share in per cent; 0 and 100 only where it is exactly that."""
    return f"{figure(share * 100, (0, 100), 2)} %"


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def plural(number: int, noun: str, several: str | None = None) -> str:
    """`1 repeat`, `3 repeats`; `several` is the plural where an s alone does not make it."""
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"


def numbers(found: Sequence[int]) -> str:
    """`3`, `3 to 7`, or `3, 5`."""
    if len(found) > 1 and list(found) == list(range(found[0], found[-1] + 1)):
        return f"{found[0]} to {found[-1]}"
    return ", ".join(map(str, found))


def _rounded(value: float, digits: int) -> str:
    whole = len(f"{abs(value):.0f}")
    if abs(value) >= 1 and digits <= whole:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return (
        f"{float(text):,.{max(0, digits - whole)}f}".rstrip("0").rstrip(".")
        if abs(value) >= 1
        else f"{Decimal(text):f}"
    )


def _side(value: float, mark: float) -> int:
    return (value > mark) - (value < mark)
