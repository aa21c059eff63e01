"""From the output of `git diff-tree --raw -p` to files and hunks, whatever names and lines they have. Pure.

A hunk's lines are counted by its header, so that no line of a file is taken for the patch's own.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MOST_LINES = 20_000
"""Lines of a hunk that are kept; of what is longer the rest is counted."""
MOST_CHARACTERS = 2_000
"""Bytes of a line that are kept."""
_RAW = re.compile(rb":(\d{6}) (\d{6}) ([0-9a-f]+) ([0-9a-f]+) ([A-Z])\d*")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)", re.DOTALL)
_ESCAPES = {b"a": 7, b"b": 8, b"t": 9, b"n": 10, b"v": 11, b"f": 12, b"r": 13, b'"': 34, b"\\": 92}
_MODULE = "160000"
"""Mode of a pinned commit."""


@dataclass(slots=True)
class ChangedFile:
    """A file that differs by its path: one that was renamed is one that is gone and one that is new."""

    path: str
    """Bytes that are not UTF-8 are written as `\\xff`."""
    status: str
    """`A` added, `D` deleted, `M` modified, `T` of another type."""
    old_mode: str
    new_mode: str
    old_id: str
    new_id: str

    @property
    def is_module(self) -> bool:
        """Whether it is a pinned commit of another repository."""
        return _MODULE in (self.old_mode, self.new_mode)

    @property
    def is_mode_only(self) -> bool:
        """Whether nothing but its mode changed."""
        return self.old_id == self.new_id


@dataclass(slots=True)
class Hunk:
    """Changed lines that lie together, with up to three unchanged ones around them."""

    path: str
    status: str
    old_start: int
    new_start: int
    context: str = ""
    """The line that git names as the function or section that it lies in."""
    lines: list[str] = field(default_factory=list)
    """Each with its sign, without its end."""
    more_added: int = 0
    """Added lines beyond those kept."""
    more_removed: int = 0

    @property
    def added(self) -> int:
        """Added lines."""
        return sum(line[:1] == "+" for line in self.lines) + self.more_added

    @property
    def removed(self) -> int:
        """Removed lines."""
        return sum(line[:1] == "-" for line in self.lines) + self.more_removed

    @property
    def id(self) -> str:
        """Path, start and a digest of the lines: what a label is given to."""
        text = "".join(f"{line}\n" for line in self.lines)
        return f"{self.path}:{self.new_start}:{hashlib.sha256(text.encode('utf-8', 'replace')).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Unread:
    """A file of which git compares no lines: it is no text, or too large."""

    path: str


@dataclass(frozen=True, slots=True)
class Renamed:
    """A file that lies elsewhere than before; hunks follow where it changed besides."""

    path: str
    is_same: bool


def read_raw(records: Iterator[bytes]) -> Iterator[ChangedFile]:
    """Files of `git diff-tree -r -z --raw --no-renames`, from its NUL-ended records."""
    for record in records:
        match = _RAW.fullmatch(record)
        if match is None:
            continue
        path = _text(next(records, b""))
        old_mode, new_mode, old_id, new_id, status = (part.decode() for part in match.groups())
        yield ChangedFile(path, status, old_mode, new_mode, old_id, new_id)


def read_patch(lines: Iterator[bytes]) -> Iterator[Hunk | Unread | Renamed]:
    """What `git diff-tree -p -M` says, file after file."""
    path, status, old, is_same = "", "M", "", False
    for raw in lines:
        if raw.startswith(b"diff --git "):
            path, status, old, is_same = "", "M", "", False
        elif raw.startswith(b"new file mode "):
            status = "A"
        elif raw.startswith(b"deleted file mode "):
            status = "D"
        elif raw.startswith(b"similarity index "):
            is_same = b" 100%" in raw
        elif raw.startswith(b"rename to "):
            path = _text(unquoted(raw.removeprefix(b"rename to ").rstrip(b"\n")))
            yield Renamed(path, is_same)
        elif raw.startswith(b"--- "):
            old = _side(raw)
        elif raw.startswith(b"+++ "):
            path = _side(raw) or old
        elif raw.startswith(b"Binary files "):
            yield Unread(path or _binary(raw, status))
        elif (match := _HUNK.fullmatch(raw.rstrip(b"\n"))) is not None:
            old_start, old_count, new_start, new_count = (int(part or 1) for part in match.groups()[:4])
            hunk = Hunk(path, status, old_start, new_start, match[5].decode("utf-8", "replace").strip())
            _fill(hunk, lines, old_count, new_count)
            yield hunk


def _fill(hunk: Hunk, lines: Iterator[bytes], old: int, new: int) -> None:
    """Take the lines that the header announces."""
    while old > 0 or new > 0:
        raw = next(lines, None)
        if raw is None:
            return
        sign = raw[:1]
        if sign == b"\\":
            continue
        old -= sign in (b" ", b"-")
        new -= sign in (b" ", b"+")
        if len(hunk.lines) < MOST_LINES:
            hunk.lines.append(raw[:MOST_CHARACTERS].rstrip(b"\n").decode("utf-8", "replace"))
        elif sign == b"+":
            hunk.more_added += 1
        elif sign == b"-":
            hunk.more_removed += 1


def _side(raw: bytes) -> str:
    """The path of a `---` or `+++` line; empty for `/dev/null`."""
    name = raw[4:].rstrip(b"\n")
    if name.endswith(b"\t"):  # git ends a name that has blanks with a tab
        name = name[:-1]
    name = unquoted(name)
    return "" if name == b"/dev/null" else _text(name[2:])


def _binary(raw: bytes, status: str) -> str:
    """The path of a `Binary files ... differ` line."""
    words = raw.rstrip(b"\n").removeprefix(b"Binary files ").removesuffix(b" differ")
    if status == "A":
        name = words.removeprefix(b"/dev/null and ")
    elif status == "D":
        name = words.removesuffix(b" and /dev/null")
    else:
        half = (len(words) - len(b" and ")) // 2  # both sides have the same name
        name = words[:half]
    return _text(unquoted(name)[2:])


def _text(name: bytes) -> str:
    """A name as text; bytes that are not UTF-8 are written as `\\xff`."""
    return name.decode("utf-8", "backslashreplace")


def unquoted(name: bytes) -> bytes:
    """A name as git quotes it in C's manner, without the quotes."""
    if not (name.startswith(b'"') and name.endswith(b'"') and len(name) > 1):
        return name

    def character(match: re.Match[bytes]) -> bytes:
        word = match[1]
        return bytes([_ESCAPES[word] if word in _ESCAPES else int(word, 8) & 255])

    return re.sub(rb'\\([abtnvfr"\\]|[0-7]{3})', character, name[1:-1])
