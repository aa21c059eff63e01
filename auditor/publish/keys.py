"""Ed25519 keys from files: as OpenSSH writes them, or as PEM. A key is named by its public half in OpenSSH's words."""

import base64
import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from auditor.errors import AuditError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KIND = "ssh-ed25519"
MOST_BYTES = 1 << 16
_MAKE = "make one with `ssh-keygen -t ed25519 -f FILE`"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """A key that is trusted."""

    key: str
    """`ssh-ed25519 AAAA...`, without a comment."""
    name: str | None
    """The principal of an allowed_signers file, or the comment."""


def read_private(path: str, passphrase: Callable[[], str]) -> "Ed25519PrivateKey":
    """The private key in a file; `passphrase` is asked only where it is encrypted. Raises UsageError."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    data = _read(path)
    is_ssh = b"BEGIN OPENSSH PRIVATE KEY" in data
    load = serialization.load_ssh_private_key if is_ssh else serialization.load_pem_private_key
    try:
        try:
            key = load(data, None)
        except TypeError:
            key = load(data, passphrase().encode())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        what = "is no private key that can be read, or the passphrase is wrong"
        raise UsageError(what, where=path, remedy=f"give an Ed25519 key, or {_MAKE}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise UsageError("is not an Ed25519 key", where=path, remedy=_MAKE)
    return key


def make_private(path: str) -> str:
    """Write a new private key, as OpenSSH does, and its public half beside it; the public half.

    Raises UsageError where a file is there already.
    """
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    line = spelled(key.public_key())
    for name, data, mode in ((path, private, 0o600), (f"{path}.pub", f"{line}\n".encode(), 0o644)):
        try:
            with os.fdopen(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
                file.write(data)
        except FileExistsError:
            raise UsageError("is there already", where=name, remedy="give another name") from None
        except OSError as error:
            raise AuditError(f"cannot be written ({error.strerror})", where=name) from None
    return line


def read_public(path: str) -> tuple[PublicKey, ...]:
    """The keys in a file: OpenSSH's `.pub` or allowed_signers, or a public key as PEM. Raises UsageError."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_pem_public_key

    data = _read(path)
    if data.lstrip().startswith(b"-----BEGIN PUBLIC KEY"):
        try:
            key = load_pem_public_key(data)
        except (ValueError, UnsupportedAlgorithm):
            raise UsageError("is no public key that can be read", where=path) from None
        if not isinstance(key, Ed25519PublicKey):
            raise UsageError("is not an Ed25519 key", where=path, remedy=_MAKE)
        return (PublicKey(spelled(key), None),)
    if b"PRIVATE KEY" in data:
        raise UsageError("is a private key", where=path, remedy="give its public half, which ends in .pub")
    lines = data.decode("utf-8", "replace").splitlines()
    found = [
        _of_line(line, f"{path}:{n}") for n, line in enumerate(lines, 1) if line.strip() and line.strip()[0] != "#"
    ]
    if not found:
        raise UsageError("holds no key", where=path, remedy="give a .pub file or an allowed_signers file")
    return tuple(found)


def spelled(key: "Ed25519PublicKey") -> str:
    """The public key as OpenSSH writes it."""
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def parsed(line: str) -> "Ed25519PublicKey | None":
    """The public key that `spelled` gives this line for; None for any other line."""
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    from cryptography.hazmat.primitives.serialization import load_ssh_public_key

    try:
        key = load_ssh_public_key(line.encode())
    except (ValueError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, Ed25519PublicKey) and spelled(key) == line else None


def fingerprint(line: str) -> str:
    """The fingerprint of a public key, as `ssh-keygen -l` prints it."""
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def _of_line(line: str, where: str) -> PublicKey:
    """`ssh-ed25519 KEY [comment]`, or with names before it."""
    words = line.split()
    at = words.index(KIND) if KIND in words else -1
    if at < 0 or at + 1 >= len(words) or parsed(key := f"{KIND} {words[at + 1]}") is None:
        raise UsageError("holds no Ed25519 key", where=where, remedy="give lines such as `NAME ssh-ed25519 AAAA...`")
    if at > 1:
        what = f"has the option {words[1][:40]}, which is not read here"
        raise UsageError(what, where=where, remedy="give the key in a line without options")
    return PublicKey(key, (words[0] if at else " ".join(words[2:])) or None)


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror})", where=path, remedy="name a key file") from None
    if len(data) > MOST_BYTES:
        raise UsageError("is too large for a key", where=path, remedy="name a key file")
    return data
