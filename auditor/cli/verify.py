"""`audit verify`: look at a bundle or a run folder, and judge its run again."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from auditor.cli.output import Output, json_option
from auditor.errors import UsageError

if TYPE_CHECKING:
    from auditor.core.bundle.verification import Verification

EPILOG = """\b
Exit codes:
  0  everything that could be looked at is as stated
  1  the tool failed
  2  no such file, a bad key or option
  3  something was changed, does not follow from the wire log, or is not what the challenge asks or the key signed
  4  not settled: another version of the tool made it and judges differently, or an answer is incomplete
  5  the address cannot be reached"""


@click.command(epilog=EPILOG)
@click.argument("what", metavar="BUNDLE|URL|FOLDER")
@click.option(
    "--key", metavar="FILE", help="Whose signature is expected: a .pub or PEM file, or OpenSSH's allowed_signers."
)
@click.option("--challenge", metavar="FILE", help="The challenge that the run is to answer; see `audit challenge`.")
@click.option("--out", type=click.Path(path_type=Path), help="Unpack a bundle that verifies there, with its report.")
@json_option
def verify(what: str, key: str | None, challenge: str | None, out: Path | None, as_json: bool) -> int:
    """Verify a bundle, whoever made it and wherever, or a run folder.

    Every byte is looked at, the signature is tried, and ledger and verdict are made again from the wire log. With a
    challenge, the run is laid beside what was asked. Nothing is written but with --out.
    """
    from auditor.publish.keys import read_public

    said = Output(as_json)
    trusted = () if key is None else read_public(key)
    folder = Path(what)
    if folder.is_dir():
        if trusted or challenge or out:
            raise UsageError(
                "--key, --challenge and --out are for bundles", where=what, remedy="`audit bundle` it first"
            )
        from auditor.verifying import verify_folder

        found = verify_folder(folder)
    else:
        import time

        from auditor.publish.challenges import load_challenge
        from auditor.verifying import verify_bundle

        asked = None if challenge is None else load_challenge(challenge)
        data = read_bundle(what)
        found = verify_bundle(data, what, trusted, asked=asked, now_ns=time.time_ns())
        if out is not None and found.exit_code == 0:
            _unpack(data, out)
    _say(found, said)
    if out is not None:
        said.note(f"Unpacked in {out}" if found.exit_code == 0 else "Not unpacked.")
    said.document({**found.model_dump(mode="json"), "exit_code": int(found.exit_code)})
    return found.exit_code


def read_bundle(what: str) -> bytes:
    """The bytes of a bundle, from a file or an address; raises UsageError or ServerError."""
    from auditor.core.bundle.pack import MAX_BYTES, is_tar

    if what.startswith(("http://", "https://")):
        from auditor.publish.fetching import fetch

        data = fetch(what, MAX_BYTES)
    else:
        try:
            with Path(what).open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(
                f"cannot be read ({reason})", where=what, remedy="name a bundle, its address or a run"
            ) from None
    if not is_tar(data):
        raise UsageError("is no bundle", where=what, remedy="`audit bundle` makes one of a run")
    return data


def _unpack(data: bytes, folder: Path) -> None:
    from auditor.audit import judge_folder
    from auditor.bundles import unpack_run

    unpack_run(data, folder)
    judge_folder(folder)


def _say(found: "Verification", said: Output) -> None:
    """The result in words: what was looked at first, what stays a matter of trust last."""
    from auditor.cli.columns import wrapped
    from auditor.terms import Outcome

    words = {
        Outcome.HOLDS: "holds",
        Outcome.FAILS: "FAILS",
        Outcome.ERROR: "NOT SETTLED",
        Outcome.NOT_APPLICABLE: "-",
        Outcome.NOT_AVAILABLE: "not there",
    }
    headline = {0: "VERIFIED", 3: "NOT VERIFIED", 4: "NOT SETTLED"}[found.exit_code]
    named = f"run {found.run} of {found.claim}: {found.sentence}" if found.run else found.what
    lines = wrapped(f"{headline}: {named}", rest="  ")
    lines += [f"  SHA-256 {found.sha256}"] if found.sha256 else []
    for one in found.checks:
        sentence = f"{one.sentence}; {one.remedy}" if one.remedy else one.sentence
        lines += wrapped(sentence, f"  {words[one.outcome]:<11}  {one.id:<13}  ")
    for amendment in found.amendments:
        lines += wrapped(amendment, "  ! ")
    lines.append("What no file can show:")
    for sentence in found.trust:
        lines += wrapped(sentence, "  - ")
    for line in lines:
        said.say(_plain(line))


def _plain(line: str) -> str:
    """A line of foreign words without control characters."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in line)
