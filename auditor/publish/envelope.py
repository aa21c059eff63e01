"""DSSE envelopes around in-toto statements, written in one way only.

The id of a key in an envelope is its public half in OpenSSH's words. So a signature can be tried without any other
file, and a changed byte in it shows; whose key it is, is another question.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson

from auditor.core.record import canonical_json
from auditor.errors import EvidenceError
from auditor.publish.keys import parsed, spelled

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MOST_BYTES = 32 << 20
MOST_KEYS = 16


@dataclass(frozen=True, slots=True)
class Opened:
    """An envelope whose signatures are whole."""

    payload: bytes
    keys: tuple[str, ...]
    """The public keys that signed, as OpenSSH writes them."""


def sealed(payload: bytes, signers: Sequence["Ed25519PrivateKey"] = ()) -> bytes:
    """The payload in its envelope, signed by each key; without one it is unsigned."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.signer import CryptoSigner, SSlibKey

    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    for signer in signers:
        public = signer.public_key()
        envelope.sign(CryptoSigner(signer, SSlibKey.from_crypto(public, keyid=spelled(public))))
    return canonical_json(envelope.to_dict())


def opened(data: bytes, where: str) -> Opened:
    """Take the payload out; raises EvidenceError where the envelope or a signature is not whole."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import FormatError, VerificationError
    from securesystemslib.signer import SSlibKey

    if len(data) > MOST_BYTES:
        raise EvidenceError(f"is larger than {MOST_BYTES >> 20} MiB", where=where)
    try:
        envelope = Envelope.from_dict(orjson.loads(data))
        is_ours = envelope.payload_type == PAYLOAD_TYPE and canonical_json(envelope.to_dict()) == data
    except (ValueError, KeyError, TypeError, AttributeError, FormatError):
        is_ours = False
    if not is_ours:
        raise EvidenceError("is no envelope as this tool writes it: a byte of it was changed", where=where)
    if len(envelope.signatures) > MOST_KEYS:
        raise EvidenceError(f"has more than {MOST_KEYS} signatures", where=where)
    for line in envelope.signatures:
        public = parsed(line)
        if public is None:
            raise EvidenceError("names a key that is none: a byte of it was changed", where=where)
        try:
            envelope.verify([SSlibKey.from_crypto(public, keyid=line)], 1)
        except VerificationError:
            what = "the signature does not fit: a byte of what was signed, of the signature or of the key was changed"
            raise EvidenceError(what, where=where) from None
    return Opened(envelope.payload, tuple(envelope.signatures))
