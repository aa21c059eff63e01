"""When a line was printed, as far as it says.

Most engines print no year or no zone, so a date is rarely to be had; the differences between lines of one log are.
"""

import re
from datetime import UTC, datetime, timedelta

from auditor.core.record import Record

_HEAD = 240
"""Characters at the beginning of a line in which a time is looked for."""
_FULL = re.compile(r"(?<!\d)(\d{4})-(\d\d)-(\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?!\d)")
_AMERICAN = re.compile(r"\[(\d\d)/(\d\d)/(\d{4})-(\d\d):(\d\d):(\d\d)\]")
_NO_YEAR = re.compile(r"(?<![\d-])(\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?(?!\d)")
_MONTH = re.compile(r"^([A-Z][a-z]{2}) +(\d{1,2}) (\d\d):(\d\d):(\d\d) ")
_ELAPSED = re.compile(r"^(?:\[\d+\] |.{0,80}?\| )?(\d{1,6})\.(\d\d)\.(\d{3})\.(\d{3}) [A-Z] ")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_LEAP = 2000
"""Stands for a year that is not printed."""
_SECOND = 1_000_000_000

NO_STAMP = "the line prints no time"
NO_ZONE = "the line prints no time zone"
NO_YEAR = "the line prints no year"
NO_DATE = "the line prints the time since the start of the server"


class Stamp(Record):
    """The time that a line prints."""

    text: str | None = None
    """As printed."""
    epoch_ns: int | None = None
    """Since 1970 in UTC, where the line says enough for it."""
    reason: str | None = NO_STAMP
    """Why `epoch_ns` is absent."""
    log_ns: int | None = None
    """On the log's own clock: only differences within one log mean anything."""
    step_ns: int | None = None
    """Resolution of the printed time."""


def stamp_of(text: str) -> Stamp:
    """The best time in the head of a line: with a zone, else with a year, else without, else since the start."""
    head = text[:_HEAD]
    found = list(_FULL.finditer(head))
    zoned = next((match for match in found if match[8]), None)
    try:
        if zoned or found:
            return _full(zoned or found[0])
        if match := _AMERICAN.search(head):
            month, day, year, *clock = (int(part) for part in match.groups())
            return _made(match[0][1:-1], (year, month, day, *clock), None, NO_ZONE)
        if match := _NO_YEAR.search(head):
            month, day, *clock = (int(part) for part in match.groups()[:5])
            return _made(match[0], (_LEAP, month, day, *clock), match[6], NO_YEAR)
        if (match := _MONTH.match(head)) and match[1] in _MONTHS:
            parts = (_LEAP, _MONTHS.index(match[1]) + 1, *(int(part) for part in match.groups()[1:]))
            return _made(match[0].strip(), parts, None, NO_YEAR)
        if match := _ELAPSED.match(head):
            minutes, seconds, millis, micros = (int(part) for part in match.groups())
            since = ((minutes * 60 + seconds) * 1000 + millis) * 1000 + micros
            text = ".".join(match.groups())
            return Stamp(text=text, reason=NO_DATE, log_ns=since * 1000, step_ns=1000)
    except (ValueError, OverflowError):
        pass
    return Stamp()


def _full(match: re.Match[str]) -> Stamp:
    parts = tuple(int(part) for part in match.groups()[:6])
    made = _made(match[0], parts, match[7], NO_ZONE)
    if match[8] is None or made.log_ns is None:
        return made
    shift = _zone_ns(match[8])
    return made.model_copy(update={"epoch_ns": made.log_ns - shift, "log_ns": made.log_ns - shift, "reason": None})


def _zone_ns(zone: str) -> int:
    if zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[-2:])
    return (-1 if zone[0] == "-" else 1) * (hours * 60 + minutes) * 60 * _SECOND


def _made(text: str, parts: tuple[int, ...], fraction: str | None, reason: str) -> Stamp:
    year, month, day, hour, minute, second = parts
    since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    digits = fraction or ""
    whole = since // timedelta(seconds=1) * _SECOND + int(digits.ljust(9, "0"))
    return Stamp(text=text, reason=reason, log_ns=whole, step_ns=10 ** (9 - len(digits)))
