"""Which patterns may match a line of a text, found in one pass over it rather than one a line. Pure."""

import functools
import re
from collections.abc import Iterable

from auditor.reference.linepatterns import LinePattern


def present(patterns: Iterable[LinePattern], text: str) -> list[LinePattern]:
    """The patterns that match some line of the text, and perhaps some that do not."""
    return [one for one in patterns if one.needle in text and _over_lines(one.text).search(text) is not None]


@functools.cache
def _over_lines(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
