"""Acceptance under its three definitions, and the acceptance length that each means at a draft width.

Engines call different ratios by one name (`AcceptanceDefinition`). With a the acceptance and k the draft width, the
tokens per verify step L, the bonus token included, are

    per drafted token   L = 1 + k a
    per position        L = 1 + a + a^2 + ... + a^k
    with the bonus      L = (k + 1) a
"""

from auditor.core.claim.types import AcceptanceDefinition


def length_of(acceptance: float, width: float, definition: AcceptanceDefinition) -> float | None:
    """Tokens per verify step; None where the definition does not allow it: a step gives its bonus token at least.

    A width that is no integer is read linearly between its neighbours.
    """
    if definition is AcceptanceDefinition.PER_DRAFTED:
        return 1 + width * acceptance
    if definition is AcceptanceDefinition.PER_POSITION:
        whole = int(width)
        return float(sum(acceptance**i for i in range(whole + 1)) + (width - whole) * acceptance ** (whole + 1))
    length = (width + 1) * acceptance
    return length if length >= 1 else None


def acceptance_of(length: float, width: float, definition: AcceptanceDefinition) -> float | None:
    """The acceptance that means this length; None where none from 0 to 1 does."""
    if not width or not 1 <= length <= width + 1:
        return None
    if definition is AcceptanceDefinition.PER_DRAFTED:
        return (length - 1) / width
    if definition is AcceptanceDefinition.WITH_BONUS:
        return length / (width + 1)
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        reached = length_of(middle, width, definition)
        low, high = (middle, high) if reached is not None and reached < length else (low, middle)
    return (low + high) / 2
