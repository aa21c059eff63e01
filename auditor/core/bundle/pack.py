"""The archive: a plain tar that can be written in one way only.

Names in order, every header as this module writes it, padding of zeros, two empty blocks at the end and nothing after
them. So a changed byte is either in the content of a file, which the statement's digest tells, or here. Nothing is
compressed: what a compressor writes depends on its version, and the wire log, which is most of it, is compressed as it
is. It also means that no archive unpacks to more than it is.
"""

import re
import tarfile
from collections.abc import Mapping

from auditor.core.folder import EVIDENCE, LEDGER, VERDICT, WITNESSES
from auditor.errors import EvidenceError

STATEMENT, NOTE = "statement.dsse.json", "bundle.json"
"""The envelope around the digests of all other files; and what made the bundle."""
RUN_FILES = frozenset({*EVIDENCE, LEDGER, VERDICT})
"""Files of a run folder that go into a bundle; what else a folder holds is made again from them."""
MAX_BYTES = 1 << 30
"""Largest bundle that is read."""
MAX_FILES = 1000
_BLOCK = 512
_END = bytes(2 * _BLOCK)
_WITNESS = re.compile(rf"{WITNESSES}/[0-9a-f]{{16}}\.(?:json|log)")


def is_run_file(name: str) -> bool:
    """Whether a bundle may hold a file of this name for the run."""
    return name in RUN_FILES or _WITNESS.fullmatch(name) is not None


def is_tar(data: bytes) -> bool:
    """Whether any header of a tar is in it. A bundle has several: no change of one makes it something else."""
    return b"ustar" in data


def pack(files: Mapping[str, bytes]) -> bytes:
    """The archive of these files; the same bytes for the same files on every machine."""
    parts = []
    for name in sorted(files, key=_place):
        data = files[name]
        parts += [_header(name, len(data)), data, bytes(-len(data) % _BLOCK)]
    return b"".join([*parts, _END])


def unpack(data: bytes) -> dict[str, bytes]:
    """The files of an archive that `pack` wrote.

    Raises EvidenceError for every other, with the byte from which on it is none; links, devices, paths, files twice or
    out of order and files of other names are such. Nothing is written.
    """
    if len(data) > MAX_BYTES:
        raise EvidenceError(f"is larger than {MAX_BYTES >> 20} MiB", remedy="a bundle is smaller")
    found: dict[str, bytes] = {}
    at, last = 0, ("", "")
    while (block := data[at : at + _BLOCK]) != _END[:_BLOCK]:
        name, size = _entry(block, at, found)
        if _place(name) <= last:
            raise _broken(at, f"the file {name} is there twice or out of order")
        last, start = _place(name), at + _BLOCK
        end = start + size
        at = end + -size % _BLOCK
        if at > len(data):
            raise _broken(len(data), f"the archive ends within {name}")
        _same(data[end:at], bytes(at - end), end, f"the padding after {name}")
        found[name] = data[start:end]
    _same(data[at:], _END, at, "the end of the archive")
    return found


def _place(name: str) -> tuple[str, str]:
    """The statement first, then what made the bundle, then the rest."""
    return {STATEMENT: "0", NOTE: "1"}.get(name, "2"), name


def _header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size = size
    return entry.tobuf(tarfile.USTAR_FORMAT, "ascii", "strict")


def _entry(block: bytes, at: int, found: Mapping[str, bytes]) -> tuple[str, int]:
    """Name and size from a header that is as `pack` writes it."""
    try:
        entry = tarfile.TarInfo.frombuf(block, "ascii", "strict")
        written = _header(entry.name, entry.size)
    except (tarfile.TarError, ValueError):
        raise _broken(at, "there is no header of a file of a bundle") from None
    if entry.name not in (STATEMENT, NOTE) and not is_run_file(entry.name):
        raise _broken(at, f"a bundle of this version holds no file {entry.name[:80]!r}")
    _same(block, written, at, f"the header of {entry.name}")
    if len(found) >= MAX_FILES:
        raise _broken(at, f"there are more than {MAX_FILES:,} files")
    return entry.name, entry.size


def _same(found: bytes, wanted: bytes, at: int, what: str) -> None:
    """Raises EvidenceError at the first byte that differs."""
    if found != wanted:
        pairs = enumerate(zip(found, wanted, strict=False))
        first = next((index for index, (one, other) in pairs if one != other), min(len(found), len(wanted)))
        raise _broken(at + first, f"{what} is not as a bundle has it")


def _broken(at: int, what: str) -> EvidenceError:
    return EvidenceError(what, where=f"byte {at:,}")
