"""The conductor of a verification: looks at a bundle, or a run folder, and judges its run again."""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

import orjson
from pydantic import ValidationError

from auditor import __version__
from auditor.audit import judged
from auditor.bundles import run_files, tool_digest, write_files
from auditor.core.amendment import Amendment, in_one_line, read_amendments
from auditor.core.bundle.differing import differences
from auditor.core.bundle.expanding import expanded_size
from auditor.core.bundle.pack import NOTE, STATEMENT, is_run_file, unpack
from auditor.core.bundle.statement import BundleNote, changed_files, digests_of, run_statement
from auditor.core.bundle.verification import FOLDER, SIGNED, TRUST, UNSIGNED, Check, Signer, Verification, exit_of
from auditor.core.challenge.answered import TRUST as CHALLENGE_TRUST
from auditor.core.folder import AMENDMENTS, CHALLENGE, LEDGER, MANIFEST, RUN, VERDICT, WIRE, RunFolder
from auditor.core.judging.verdict import Verdict
from auditor.core.record import sha256
from auditor.core.wording import plural
from auditor.errors import AuditError, EvidenceError, Exit
from auditor.publish.challenges import Asked, beside_challenge
from auditor.publish.envelope import opened
from auditor.publish.keys import PublicKey, fingerprint
from auditor.terms import Outcome

Beside = Callable[..., list[Check]]
"""Lays a judged run, given as `folder` and `account`, beside a challenge."""


def verify_bundle(
    data: bytes, what: str, trusted: Sequence[PublicKey] = (), *, asked: Asked | None = None, now_ns: int = 0
) -> Verification:
    """Look at every byte of a bundle and judge its run again. Never raises for what a bundle holds.

    `trusted` are keys one of which must have signed; without any, a signature only shows that nothing was changed.
    `asked` is the challenge that the run is to answer; without it, the bundle's own copy where it has one. `now_ns` is
    the time since the epoch, beside which the times of an answer are laid.
    """
    files: dict[str, bytes] = {}
    signers: tuple[Signer, ...] = ()
    try:
        files = unpack(data)
    except EvidenceError as error:
        checks = [_failed("archive", error)]
    else:
        checks = [_check("archive", f"{plural(len(files), 'file')}, and every byte between them is as it must be")]
        signers, found = _envelope(files, trusted)
        checks += found
    if exit_of(check.outcome for check in checks) is Exit.OK:
        checks += _recomputed(files, partial(beside_challenge, asked, files, trusted=trusted, now_ns=now_ns))
    answers = CHALLENGE_TRUST if asked or CHALLENGE in files else ()
    trust = (SIGNED if signers else UNSIGNED, *TRUST, *answers)
    return _verification(what, files, checks, trust, sha256=sha256(data), signers=signers)


def verify_folder(folder: Path) -> Verification:
    """Look at a run folder and judge it again; the folder is left as it is. Raises EvidenceError, UsageError."""
    run, files = RunFolder(folder), {}
    try:
        manifest = orjson.loads(run.read(MANIFEST))
        found = {name: digest for name, digest in run.manifest().items() if name in manifest or is_run_file(name)}
        checks = [_check("digests", one, Outcome.FAILS) for one in changed_files(manifest, found, MANIFEST)]
        if not checks:
            files = run_files(folder)
            checks = [_check("digests", f"{plural(len(manifest), 'file is', 'files are')} what the manifest says")]
            checks += _judged_again(folder, files, None)
    except EvidenceError as error:
        checks = [_failed("digests", error)]
    except (orjson.JSONDecodeError, AttributeError, TypeError):
        checks = [_failed("digests", EvidenceError("is damaged", where=MANIFEST))]
    return _verification(str(folder), files, checks, (FOLDER, *TRUST))


def _envelope(files: Mapping[str, bytes], trusted: Sequence[PublicKey]) -> tuple[tuple[Signer, ...], list[Check]]:
    """Signature, digests and statement."""
    try:
        seal = opened(files.get(STATEMENT, b""), STATEMENT)
        note = BundleNote.from_json(files.get(NOTE, b""))
        if note.to_json() != files[NOTE]:
            raise EvidenceError("is not as this tool writes it", where=NOTE)
        payload = orjson.loads(seal.payload)
        stated = {one["name"]: one["digest"]["sha256"] for one in payload["subject"]}
        changed = changed_files(stated, digests_of(files), STATEMENT)
        wanted = None if changed else run_statement(files)
    except EvidenceError as error:
        return (), [_failed("statement", error)]
    except (ValidationError, ValueError, KeyError, TypeError):
        return (), [_failed("statement", EvidenceError("is missing or damaged", where=f"{STATEMENT} or {NOTE}"))]
    if wanted is None:
        return (), [_check("digests", sentence, Outcome.FAILS) for sentence in changed]
    if wanted != seal.payload:
        path, found, own = next(differences(payload, orjson.loads(wanted)), ("its spelling", "another", "canonical"))
        words = f"{STATEMENT} does not say what follows from its files: {path} is {found}, not {own}"
        return (), [_check("statement", words, Outcome.FAILS)]
    names = {one.key: one.name for one in trusted}
    signers = tuple(Signer(key=key, fingerprint=fingerprint(key), name=names.get(key)) for key in seal.keys)
    checks = [_check("digests", f"{plural(len(stated), 'file is', 'files are')} what the statement says")]
    return signers, [*checks, _signature(signers, names)]


def _signature(signers: Sequence[Signer], trusted: Mapping[str, str | None]) -> Check:
    """Whether a key that is trusted signed."""
    if not signers:
        if trusted:
            return _check("signature", "the bundle is not signed, and a key was given", Outcome.FAILS)
        return _check("signature", "the bundle is not signed", Outcome.NOT_APPLICABLE)
    for one in signers:
        if one.key in trusted:
            whose = f" of {one.name}" if one.name else ""
            return _check("signature", f"signed with the given key{whose}, {one.fingerprint}")
    prints = " and ".join(one.fingerprint for one in signers)
    if trusted:
        return _check("signature", f"signed with {prints}, which is none of the given keys", Outcome.FAILS)
    words = f"fits the key {prints}: nothing was changed since; whose key that is was not asked"
    return _check("signature", words, remedy="give --key FILE with the key that you expect")


def _recomputed(files: Mapping[str, bytes], beside: Beside) -> list[Check]:
    """The run of a bundle, judged again in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="audit-") as place:
        folder = Path(place) / "run"
        write_files({name: data for name, data in files.items() if name not in (STATEMENT, NOTE)}, folder)
        return _judged_again(folder, files, BundleNote.from_json(files[NOTE]), beside)


def _judged_again(
    folder: Path, files: Mapping[str, bytes], note: BundleNote | None, beside: Beside | None = None
) -> list[Check]:
    """What this tool makes of the evidence, beside what the files say and what a challenge asks."""
    is_same = note is None or note.tool_digest == tool_digest()
    differs = Outcome.FAILS if is_same else Outcome.ERROR
    checks = [] if note is None else [_tool(note)]
    try:
        expanded_size(files.get(WIRE, b""), WIRE)
        account, verdict = judged(folder)
        answers = beside(folder=folder, account=account) if beside else []
    except ImportError as error:  # says something of this installation, nothing of the bundle
        raise AuditError(f"this installation is not whole: {error}", remedy="install auditor again") from None
    except Exception as error:  # noqa: BLE001 - whatever a stranger's evidence does to the judge, it does not verify
        words = (str(error) if isinstance(error, AuditError) else repr(error)).replace(f"{folder}/", "")
        return [*checks, _check("judged again", f"the run cannot be judged: {words}", differs)]
    for name, made in ((LEDGER, account.ledger.to_json()), (VERDICT, verdict.to_json())):
        checks.append(_beside(name, files.get(name), made, differs))
    return [*checks, *_amended(files), *answers]


def _beside(name: str, stated: bytes | None, made: bytes, differs: Outcome) -> Check:
    """A derived file beside the one that this tool makes."""
    title = name.partition(".")[0]
    if stated is None:
        return _check(title, f"{name} is missing", Outcome.FAILS)
    if stated == made:
        return _check(title, f"made again from the wire log, {name} is the same byte for byte")
    try:
        path, found, own = next(
            differences(orjson.loads(stated), orjson.loads(made)), ("its spelling", "one", "another")
        )
    except orjson.JSONDecodeError:
        path, found, own = "the whole", "no JSON", "a record"
    words = f"{name} is not what follows from the wire log: {path} is {found}, and {own} when made again"
    if differs is Outcome.ERROR:
        words += "; another version of the tool made it, which may be all that differs"
        return _check(title, words, differs, remedy="verify with the version that made it")
    return _check(title, words, differs)


def _tool(note: BundleNote) -> Check:
    if note.tool_digest == tool_digest():
        return _check("tool", f"made by this version, auditor {note.tool_version}")
    which = "other code of the same version" if note.tool_version == __version__ else f"auditor {note.tool_version}"
    words = (
        f"made by {which}, verified with auditor {__version__}: where the two judge differently, that is no tampering"
    )
    return _check("tool", words, Outcome.NOT_APPLICABLE)


def _amended(files: Mapping[str, bytes]) -> list[Check]:
    """Whether the amendments hang together."""
    if AMENDMENTS not in files:
        return []
    try:
        found = read_amendments(files[AMENDMENTS], files[RUN], AMENDMENTS)
    except EvidenceError as error:
        return [_failed("amendments", error)]
    return [_check("amendments", f"{plural(len(found), 'amendment')}, each bound to the one before")]


def _verification(
    what: str,
    files: Mapping[str, bytes],
    checks: Sequence[Check],
    trust: Sequence[str],
    sha256: str | None = None,
    signers: tuple[Signer, ...] = (),
) -> Verification:
    """The result, with what the files say of themselves as far as they can be read."""
    verdict: Verdict | None = None
    amendments: tuple[Amendment, ...] = ()
    try:
        verdict = Verdict.from_json(files[VERDICT])
        amendments = read_amendments(files.get(AMENDMENTS, b""), files[RUN], AMENDMENTS)
    except (KeyError, ValidationError, EvidenceError):
        pass
    return Verification(
        what=what,
        sha256=sha256,
        run=verdict.run.run if verdict else None,
        claim=verdict.claimed.claim if verdict else None,
        verdict=verdict.kind.value if verdict else None,
        sentence=verdict.sentence if verdict else None,
        signers=signers,
        checks=tuple(checks),
        amendments=tuple(map(in_one_line, amendments)),
        trust=tuple(trust),
    )


def _check(name: str, sentence: str, outcome: Outcome = Outcome.HOLDS, remedy: str | None = None) -> Check:
    return Check(id=name, outcome=outcome, sentence=sentence, remedy=remedy)


def _failed(name: str, error: EvidenceError) -> Check:
    return _check(name, str(EvidenceError(error.what, where=error.where)), Outcome.FAILS)
