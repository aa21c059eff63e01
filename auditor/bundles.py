"""Makes a bundle of a judged run, and a run folder of a bundle."""

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import auditor
from auditor import __version__
from auditor.audit import judged
from auditor.core.bundle.pack import MAX_BYTES, NOTE, STATEMENT, is_run_file, pack, unpack
from auditor.core.bundle.secrets import secrets_seen
from auditor.core.bundle.statement import BundleNote, run_statement
from auditor.core.folder import LEDGER, VERDICT, WITNESSES, RunFolder
from auditor.core.record import sha256
from auditor.errors import UsageError
from auditor.publish.envelope import sealed

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

JUDGING = ("audit.py", "terms.py", "core", "reference", "servers")
"""The files and rooms of the tool from which a verdict follows."""
_CODE = (".py", ".json", ".toml")


@cache
def tool_digest() -> str:
    """SHA-256 over the code and tables from which a verdict follows: the same for the same tool on every machine."""
    root, total = Path(auditor.__file__).parent, hashlib.sha256()
    paths = [path for room in JUDGING for path in (root / room, *(root / room).rglob("*")) if path.suffix in _CODE]
    for name in sorted(path.relative_to(root).as_posix() for path in paths):
        total.update(f"{name}\n{sha256((root / name).read_bytes())}\n".encode())
    return total.hexdigest()


def run_files(folder: Path) -> dict[str, bytes]:
    """The files of a judged run folder that go into a bundle; raises UsageError or EvidenceError."""
    run = RunFolder(folder)
    if not (folder / VERDICT).exists():
        raise UsageError("the run was not judged yet", where=str(folder), remedy="`audit judge` it")
    paths = [*folder.iterdir(), *(folder / WITNESSES).glob("*")]
    names = sorted(path.relative_to(folder).as_posix() for path in paths if path.is_file())
    kept = [name for name in names if is_run_file(name)]
    run.check(*kept)
    return {name: run.read(name) for name in kept}


def make_bundle(folder: Path, signers: "Sequence[Ed25519PrivateKey]" = ()) -> bytes:
    """The bundle of a judged run, signed by each key; the same bytes for the same run and keys.

    Raises EvidenceError where the folder was changed, and UsageError where its verdict is not what this tool gives, or
    where it seems to hold a key.
    """
    files = run_files(folder)
    account, verdict = judged(folder)
    if (files.get(LEDGER), files[VERDICT]) != (account.ledger.to_json(), verdict.to_json()):
        what = "this tool gives another verdict or account for the run than the folder holds"
        raise UsageError(what, where=str(folder), remedy="`audit judge` it, then bundle it")
    if seen := next(secrets_seen(files, RunFolder(folder).evidence()), None):
        raise UsageError(seen, where=str(folder), remedy="a run that holds a key must not be published")
    files[NOTE] = BundleNote(tool_version=__version__, tool_digest=tool_digest()).to_json()
    data = pack({**files, STATEMENT: sealed(run_statement(files), signers)})
    if len(data) > MAX_BYTES:
        raise UsageError(f"the bundle would be larger than {MAX_BYTES >> 20:,} MiB", where=str(folder))
    return data


def unpack_run(data: bytes, folder: Path) -> None:
    """Write the run of a bundle that was verified into a new folder; raises UsageError."""
    files = {name: content for name, content in unpack(data).items() if name not in (STATEMENT, NOTE)}
    write_files(files, folder)


def write_files(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files that `unpack` gave, whose names lead nowhere else, into a new folder; raises UsageError."""
    try:
        folder.mkdir(parents=True)
        for name, data in files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(data)
    except OSError as error:
        raise UsageError(
            f"cannot be written ({error.strerror})", where=str(folder), remedy="name a new folder"
        ) from None
