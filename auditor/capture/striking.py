"""Keeps secrets out of whatever is written down or said: strikes them out of bytes, of text and of errors."""

import base64
import json
import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import TypeVar
from urllib.parse import quote

from auditor.errors import AuditError

# Between two chunks of a chunked body; a secret may be cut by it.
_SEAM = rb"\r\n[0-9A-Fa-f]{1,8}(?:;[^\r\n]*)?\r\n"
_SEAMS = re.compile(_SEAM)
_COOKIE = re.compile(rb"(?i)(\nset-cookie2?:)([^\r\n]*)")

E = TypeVar("E", bound=AuditError)


def is_secret(word: str) -> bool:
    """Whether a key or password is one: eight characters, or five with letters and digits.

    The `EMPTY`, `none` and `1234` that people give where a key is asked for but not needed hide nothing, and striking
    them out would eat the words and numbers of the evidence.
    """
    mixed = any(c.isdigit() for c in word) and any(c.isalpha() for c in word)
    return len(word) >= 8 or (len(word) >= 5 and mixed)


def basic(user: str, password: str) -> str:
    """What HTTP basic authentication sends for them."""
    return base64.b64encode(f"{user}:{password}".encode()).decode()


class Striker:
    """Strikes out the secrets that it was given, as they are and as JSON and addresses spell them."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = dict.fromkeys(form for word in secrets if is_secret(word) for form in _spellings(word))
        self._words = sorted(forms, key=len, reverse=True)
        encoded = [word.encode() for word in self._words]
        # A secret cut by one seam still has one of its halves whole; looking for those is cheap.
        self._halves = [half for word in encoded for half in (word[: len(word) // 2], word[len(word) // 2 :])]
        self._patterns = [re.compile((rb"(?:%s)?" % _SEAM).join(_letters(word))) for word in encoded]

    @property
    def has_secrets(self) -> bool:
        """Whether there is anything to strike out."""
        return bool(self._halves)

    def in_bytes(self, data: bytes) -> bytes:
        """The bytes with a star for each byte of a secret, also of one that two chunks share."""
        return self._without(data) if any(half in data for half in self._halves) else data

    def in_reads(self, reads: Sequence[bytes]) -> Sequence[bytes]:
        """Reads that follow each other, struck also where a secret spans two."""
        if not self._halves:
            return reads
        whole = b"".join(reads)
        struck = self.in_bytes(whole)
        return reads if struck == whole else _cut(struck, reads)

    def in_answer(self, reads: Sequence[bytes]) -> Sequence[bytes]:
        """The same for a whole answer or its beginning, in chunks of any size; its cookies are struck out too."""
        whole = b"".join(reads)
        end = whole.find(b"\r\n\r\n")
        head = whole if end < 0 else whole[:end]
        struck = _COOKIE.sub(lambda found: found[1] + b"*" * len(found[2]), head) + whole[len(head) :]
        if any(half in _SEAMS.sub(b"", struck) for half in self._halves):
            struck = self._without(struck)
        return reads if struck == whole else _cut(struck, reads)

    def _without(self, data: bytes) -> bytes:
        for pattern in self._patterns:
            data = pattern.sub(_stars, data)
        return data

    def in_text(self, text: str) -> str:
        """The text with `***` for each secret."""
        for word in self._words:
            text = text.replace(word, "***")
        return text

    def in_error(self, error: E) -> E:
        """The same error without secrets in its words."""
        where, remedy = (None if word is None else self.in_text(word) for word in (error.where, error.remedy))
        return type(error)(self.in_text(error.what), where=where, remedy=remedy)

    def finds(self, text: str) -> bool:
        """Whether the text holds a secret."""
        return any(word in text for word in self._words)


def _cut(whole: bytes, reads: Sequence[bytes]) -> list[bytes]:
    """The bytes in pieces as long as the reads."""
    return [whole[start:end] for start, end in pairwise(accumulate(map(len, reads), initial=0))]


def _spellings(word: str) -> tuple[str, ...]:
    plain, ascii_only = json.dumps(word, ensure_ascii=False)[1:-1], json.dumps(word)[1:-1]
    return word, plain, ascii_only, ascii_only.replace("/", r"\/"), quote(word, safe="")


def _letters(word: bytes) -> list[bytes]:
    return [re.escape(word[i : i + 1]) for i in range(len(word))]


def _stars(found: re.Match[bytes]) -> bytes:
    pieces = re.split(rb"(%s)" % _SEAM, found[0])
    return b"".join(piece if i % 2 else b"*" * len(piece) for i, piece in enumerate(pieces))
