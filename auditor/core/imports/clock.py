"""Times as texts: seconds, milliseconds, microseconds or nanoseconds since 1970 by their size, seconds since a start
where they have a point, or ISO 8601."""

from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from auditor.core.imports.decoding import clean
from auditor.core.imports.fields import MAX_NS
from auditor.errors import UsageError

_DIGITS = {10: 10**9, 13: 10**6, 16: 10**3, 19: 1}
"""Nanoseconds of the last place of a whole number of so many digits: moments of our time."""


def time_of_text(text: str, where: str) -> int:
    """A moment as ns; raises UsageError where its unit cannot be told."""
    words = text.strip()
    try:
        number = Decimal(words)
    except InvalidOperation:
        return _iso(words, where)
    whole, _, places = words.partition(".")
    factor = 10**9 if places else _DIGITS.get(len(whole.lstrip("-")))
    if factor is None or not number.is_finite() or not 0 <= number * factor <= MAX_NS:
        remedy = "write seconds with a point, or the time since 1970"
        raise UsageError(f"{clean(words, 40)!r} is no time whose unit is known", where=where, remedy=remedy)
    return int(number * factor)


def _iso(words: str, where: str) -> int:
    try:
        moment = datetime.fromisoformat(words)
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"{clean(words, 40)!r} is no time", where=where, remedy="write ISO 8601 or seconds") from None
    time = (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
    if not 0 <= time <= MAX_NS:
        raise UsageError(f"{clean(words, 40)!r} is no time of our century", where=where)
    return time
