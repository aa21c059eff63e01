"""`audit bundle`: a run in one file that anyone can verify."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from auditor.cli.judge import reports_option, run_folder
from auditor.cli.output import Output, json_option
from auditor.errors import AuditError, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

EPILOG = """\b
Keys are Ed25519: `ssh-keygen -t ed25519 -f KEY`, or `audit bundle --new-key KEY`.

\b
Exit codes:
  0  the bundle, or the key, is written
  1  the tool failed, or the folder is damaged
  2  no such run, it was not judged by this version, it holds a secret, or a bad key"""

sign_option = click.option(
    "--sign", "sign", metavar="KEY", help="Private Ed25519 key: OpenSSH or PEM. Its passphrase is asked for."
)


def signers(path: str | None) -> "tuple[Ed25519PrivateKey, ...]":
    """The key that `--sign` names; asks for its passphrase where it has one, unless AUDIT_KEY_PASSPHRASE tells it."""
    import os

    from auditor.publish.keys import read_private

    def ask() -> str:
        told = os.environ.get("AUDIT_KEY_PASSPHRASE")
        return told if told is not None else str(click.prompt(f"Passphrase of {path}", hide_input=True, err=True))

    return () if path is None else (read_private(path, ask),)


def save(path: Path, data: bytes) -> None:
    """Write a file that is not there yet; raises UsageError or AuditError."""
    try:
        with path.open("xb") as file:
            file.write(data)
    except FileExistsError:
        raise UsageError("is there already", where=str(path), remedy="name another file with --out") from None
    except OSError as error:
        raise AuditError(f"cannot be written ({error.strerror})", where=str(path)) from None


@click.command(epilog=EPILOG)
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--out", type=click.Path(dir_okay=False, path_type=Path), help="File to write. Default: RUN.audit.tar.")
@sign_option
@click.option("--new-key", metavar="FILE", help="Make a key to sign with, and nothing else.")
@reports_option
@json_option
def bundle(
    run: str | None, out: Path | None, sign: str | None, new_key: str | None, reports: str, as_json: bool
) -> None:
    """Put RUN into one file with everything that is needed to judge it again: claim, plan, wire log, verdict.

    The same run gives the same bytes on every machine. With a key it is signed, as an in-toto statement in a DSSE
    envelope: that shows who made the file and that nobody changed it, and not that what it says is true.
    """
    said = Output(as_json)
    if new_key is not None:
        _new_key(new_key, said)
        return
    if run is None:
        raise UsageError("no run was given", remedy="give its folder, or an id from `audit list`")
    from auditor.bundles import make_bundle
    from auditor.core.record import sha256
    from auditor.publish.keys import fingerprint, spelled

    folder = run_folder(run, reports)
    keys = signers(sign)
    data = make_bundle(folder, keys)
    path = out or Path(f"{folder.resolve().name}.audit.tar")
    save(path, data)
    prints = [fingerprint(spelled(key.public_key())) for key in keys]
    said.say(str(path))
    said.note(f"{len(data):,} bytes, {f'signed with {prints[0]}' if prints else 'not signed'}")
    said.document({"bundle": str(path), "bytes": len(data), "sha256": sha256(data), "signed_with": prints})


def _new_key(path: str, said: Output) -> None:
    from auditor.publish.keys import fingerprint, make_private

    line = make_private(path)
    said.say(f"{path}.pub")
    said.note(f"{fingerprint(line)}, without a passphrase; `ssh-keygen -p -f {path}` gives it one")
    said.document({"private": path, "public": f"{path}.pub", "key": line, "fingerprint": fingerprint(line)})
