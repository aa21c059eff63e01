"""How large a wire log is when it is read, found out without holding it."""

import zstandard

from auditor.core.wire.log import most_expanded
from auditor.errors import EvidenceError

_PIECE = 1 << 20


def expanded_size(data: bytes, where: str) -> int:
    """Bytes of a wire log without compression; raises EvidenceError when that is more than any run would give.

    A torn end is no error here: the reader of the log says it.
    """
    most, total = most_expanded(len(data)), 0
    reader = zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True)
    try:
        while piece := reader.read(_PIECE):
            total += len(piece)
            if total > most:
                raise EvidenceError(f"expands to more than {most >> 20:,} MiB, which no run does", where=where)
    except zstandard.ZstdError:
        pass
    return total
