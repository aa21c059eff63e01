"""A last look for keys before a run leaves the machine: none is ever written down, and none must be found."""

import re
from collections.abc import Iterator, Mapping

from auditor.core.counting.evidence import Evidence

_HEADER = re.compile(
    rb"(?im)^(authorization|proxy-authorization|cookie|x-api-key|api-key):[ \t]*(?:bearer |basic )?([^\r\n]*)"
)
_PRIVATE = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")


def secrets_seen(files: Mapping[str, bytes], evidence: Evidence) -> Iterator[str]:
    """Where something looks like a key that was not struck out, a sentence each; the key itself is not told."""
    for name, data in files.items():
        if _PRIVATE.search(data):
            yield f"{name} holds a private key"
    for exchange in evidence.exchanges:
        head = exchange.request.partition(b"\r\n\r\n")[0]
        for found in _HEADER.finditer(head):
            if found[2].strip(b"* \t"):
                yield f"request {exchange.id} holds the header {found[1].decode().lower()}"
