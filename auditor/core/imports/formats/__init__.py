"""Every format that is known, in the order in which a file is tried: the narrow ones first."""

from auditor.core.imports.format import Format
from auditor.core.imports.formats import (
    aiperf,
    genaiperf,
    har,
    llamabatched,
    llamabench,
    sglang,
    sse,
    table,
    vllm,
    wire,
)

FORMATS: tuple[Format, ...] = (
    vllm.FORMAT,
    sglang.FORMAT,
    aiperf.FORMAT,
    genaiperf.FORMAT,
    llamabench.FORMAT,
    llamabatched.FORMAT,
    har.FORMAT,
    wire.FORMAT,
    table.FORMAT,
    sse.FORMAT,
)
"""One line a format; a file is of the first that recognises it."""
