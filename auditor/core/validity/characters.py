"""Characters that nobody would write: bytes that were no text, a wrong code page, tokens left undecoded."""

import re
import unicodedata
from collections.abc import Callable

REPLACEMENT = "\ufffd"
_ODD = ("Cc", "Co", "Cs", "Cn")
_FEWEST, _LONG = 2, 12
"""Signs of a wrong decoding that it takes, or characters of one."""
_BYTE_TOKEN = re.compile(r"<0x[0-9A-F]{2}>")
_FOREIGN_RUN = re.compile(r"[^\x00-\x7f]{2,}")


def broken_characters(text: str) -> tuple[int, int]:
    """U+FFFD, and control, private and unassigned characters; a last one that was cut is not counted."""
    text = text.rstrip(REPLACEMENT) if text.count(REPLACEMENT) <= 3 else text
    odd = sum(1 for c in text if c not in "\t\n\r\f\x1b" and unicodedata.category(c) in _ODD)
    return text.count(REPLACEMENT), odd


def wrong_decoding(text: str) -> str | None:
    """In words, how the text was decoded wrongly; None where it does not seem so."""
    spaces = text.count(" ")
    for mark, name in (("\u0120", "byte-level tokens"), ("\u2581", "SentencePiece tokens")):
        if text.count(mark) > max(3 * _FEWEST, 2 * spaces):
            return f"the text is that of {name}, not decoded: {mark} in place of spaces"
    if len(_BYTE_TOKEN.findall(text)) >= _FEWEST:
        return "the text holds byte tokens, not decoded, as <0xE2>"
    runs = _FOREIGN_RUN.findall(text)
    for page, encode in _PAGES.items():
        found = [run for run in runs if _is_utf8(encode(run))]
        if (len(found) >= _FEWEST or len("".join(found)) >= _LONG) and sum(map(len, found)) >= 0.5 * sum(
            map(len, runs)
        ):
            return f"{len(found)} runs of characters are UTF-8 that was read as {page}, as {found[0][:8]!r}"
    return None


def _is_utf8(data: bytes | None) -> bool:
    """Whether bytes are UTF-8 of more than ASCII; a character cut at either end is passed over."""
    if data is None:
        return False
    for cut in range(4):
        piece = data[: len(data) - cut] if cut else data
        try:
            return len(piece) >= 2 and not piece.isascii() and bool(piece.decode())
        except UnicodeDecodeError:
            continue
    return False


def _western(text: str) -> bytes | None:
    """As Windows-1252 or, where that has no such character, as Latin-1."""
    found = bytearray()
    for char in text:
        try:
            found += char.encode("cp1252")
        except UnicodeEncodeError:
            if ord(char) > 0xFF:
                return None
            found.append(ord(char))
    return bytes(found)


def _cyrillic(text: str) -> bytes | None:
    try:
        return text.replace(REPLACEMENT, "\u0098").encode("cp1251", "replace")
    except UnicodeEncodeError:
        return None


_PAGES: dict[str, Callable[[str], bytes | None]] = {"a Western code page": _western, "Windows-1251": _cyrillic}
