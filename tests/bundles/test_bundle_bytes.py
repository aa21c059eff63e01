"""A bundle is a function of the run, and no byte of it can change unseen."""

import io
import os
import random
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from auditor.bundles import make_bundle
from auditor.core.bundle.pack import NOTE, STATEMENT, pack, unpack
from auditor.core.folder import LEDGER, VERDICT, WIRE
from auditor.errors import EvidenceError, Exit
from auditor.terms import Outcome
from auditor.verifying import verify_bundle

SAMPLE = 200
"""Positions that are flipped within the run's files, and within the statement that the envelope holds."""


def members(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, start and end of each file's content, as the standard library reads the archive."""
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            yield member.name, member.offset_data, member.offset_data + member.size


def flipped(data: bytes, at: int) -> bytes:
    """The archive with one bit of one byte changed."""
    changed = bytearray(data)
    changed[at] ^= 1 << random.Random(at).randrange(8)
    return bytes(changed)


def test_every_changed_byte_between_files_is_placed(signed: bytes) -> None:
    """Headers, padding and the end of the archive: all of them."""
    content = {at for _, start, end in members(signed) for at in range(start, end)}
    for at in set(range(len(signed))) - content:
        with pytest.raises(EvidenceError) as caught:
            unpack(flipped(signed, at))
        first = int(str(caught.value).removeprefix("byte ").partition(":")[0].replace(",", ""))
        assert first <= at < first + 512, (at, str(caught.value))


@pytest.mark.parametrize("kind", ["signed", "unsigned"])
def test_every_changed_byte_of_a_file_is_told_with_its_name(kind: str, request: pytest.FixtureRequest) -> None:
    """Signature, key and frame of the envelope: all of them; of the statement and the run's files a seeded sample."""
    data: bytes = request.getfixturevalue(kind)
    payload = data.index(b'"payload": "'), data.index(b'"payloadType"')
    small, large = {}, {}
    for name, start, end in members(data):
        for at in range(start, end):
            is_large = name not in (STATEMENT, NOTE) or payload[0] <= at < payload[1]
            (large if is_large else small)[at] = name
    run = [at for at, name in large.items() if name != STATEMENT]
    rest = [at for at, name in large.items() if name == STATEMENT]
    sample = {at: large[at] for group in (run, rest) for at in random.Random(7).sample(group, SAMPLE)}
    for at, owner in {**small, **sample}.items():
        found = verify_bundle(flipped(data, at), "bundle")
        sentence = " ".join(check.sentence for check in found.checks if check.outcome is Outcome.FAILS)
        assert found.exit_code == Exit.REFUTED, at
        assert owner in sentence or STATEMENT in sentence, (at, owner, sentence)


@pytest.mark.parametrize(
    "change", [lambda d: d + b"\0", lambda d: d[:-1], lambda d: d + bytes(512), lambda d: d[:-512]]
)
def test_longer_and_shorter_archives_fail(signed: bytes, change) -> None:
    found = verify_bundle(change(signed), "bundle")
    assert [check.id for check in found.checks if check.outcome is Outcome.FAILS] == ["archive"]


def test_the_same_run_gives_the_same_bundle_on_another_machine(judged_run: Path, tmp_path: Path) -> None:
    """Another process, path, umask, time zone, language, hash seed and order of files."""
    place = tmp_path / "wo anders é"
    place.mkdir()
    for path in sorted(judged_run.iterdir(), reverse=True):
        (place / path.name).write_bytes(path.read_bytes())
        os.utime(place / path.name, (0, 86400))
        (place / path.name).chmod(0o600)
    code = (
        "import os, sys; from pathlib import Path; from auditor.bundles import make_bundle\n"
        "from auditor.verifying import verify_bundle\n"
        "os.umask(int(sys.argv[3], 8)); data = make_bundle(Path(sys.argv[1])); Path(sys.argv[2]).write_bytes(data)\n"
        "sys.exit(verify_bundle(data, 'x').exit_code)"
    )
    shared = {**os.environ, "PYTHONPATH": os.pathsep.join(part for part in sys.path if part)}
    other = {"PYTHONHASHSEED": "77", "TZ": "Asia/Tokyo", "LC_ALL": "C"}
    one, two = tmp_path / "one", tmp_path / "two"
    for made, folder, mask, env in ((one, judged_run, "022", shared), (two, place, "077", {**shared, **other})):
        words = [sys.executable, "-c", code, str(folder), str(made), mask]
        subprocess.run(words, check=True, cwd=tmp_path, env=env)
    assert one.read_bytes() == two.read_bytes()


def test_the_archive_is_spelled_the_same_in_every_version() -> None:
    """A fixed example: a library that wrote headers in another way would make old bundles fail."""
    data = pack({NOTE: b"{}\n", WIRE: b"wire"})
    header = data[:512]
    assert len(data) == 2 * 1024 + 1024
    assert header[:100] == b"bundle.json" + bytes(89)
    assert header[100:157] == b"0000644\x000000000\x000000000\x0000000000003\x0000000000000\x00010102\x00 0"
    assert header[257:265] == b"ustar\x0000"
    assert data[512:1024] == b"{}\n" + bytes(509)


def test_any_tar_reads_it(signed: bytes, judged_run: Path, tmp_path: Path) -> None:
    (tmp_path / "b.tar").write_bytes(signed)
    subprocess.run(["tar", "-xf", "b.tar"], check=True, cwd=tmp_path)
    for name in (WIRE, VERDICT, LEDGER):
        assert (tmp_path / name).read_bytes() == (judged_run / name).read_bytes()


def test_a_signature_changes_nothing_but_the_statement(signed: bytes, unsigned: bytes) -> None:
    one, other = dict(_contents(signed)), dict(_contents(unsigned))
    assert one.pop(STATEMENT) != other.pop(STATEMENT)
    assert one == other


def _contents(data: bytes) -> Iterator[tuple[str, bytes]]:
    for name, start, end in members(data):
        yield name, data[start:end]


def test_a_verdict_that_does_not_follow_from_the_wire_log_is_found(judged_run: Path, unsigned: bytes) -> None:
    """A bundle whose digests are right and whose verdict is made up."""
    from auditor.core.bundle.statement import run_statement
    from auditor.core.judging.verdict import Verdict
    from auditor.publish.envelope import sealed

    files = dict(_contents(unsigned))
    verdict = Verdict.from_json(files[VERDICT])
    files[VERDICT] = verdict.model_copy(update={"sentence": "reproduced: all of it was delivered"}).to_json()
    del files[STATEMENT]
    found = verify_bundle(pack({**files, STATEMENT: sealed(run_statement(files))}), "bundle")
    (failed,) = [check for check in found.checks if check.outcome is Outcome.FAILS]
    assert failed.id == "verdict"
    assert "sentence is 'reproduced: all of it was delivered'" in failed.sentence
    assert found.exit_code == Exit.REFUTED


def test_another_tool_that_judges_differently_is_no_tampering(unsigned: bytes) -> None:
    from auditor.core.bundle.statement import BundleNote, run_statement
    from auditor.core.judging.verdict import Verdict
    from auditor.publish.envelope import sealed

    files = dict(_contents(unsigned))
    note = BundleNote(tool_version="0.0.9", tool_digest="0" * 64)
    files[NOTE] = note.to_json()
    del files[STATEMENT]
    same = verify_bundle(pack({**files, STATEMENT: sealed(run_statement(files))}), "bundle")
    assert same.exit_code == Exit.OK
    assert any("auditor 0.0.9" in check.sentence for check in same.checks)
    files[VERDICT] = Verdict.from_json(files[VERDICT]).model_copy(update={"questions": ("an older one",)}).to_json()
    other = verify_bundle(pack({**files, STATEMENT: sealed(run_statement(files))}), "bundle")
    assert other.exit_code == Exit.UNDECIDED
    assert "another version of the tool made it" in " ".join(check.sentence for check in other.checks)


def test_a_changed_folder_is_not_bundled(own_run: Path) -> None:
    from auditor.errors import EvidenceError, UsageError

    data = bytearray((own_run / VERDICT).read_bytes())
    data[-10] ^= 1
    (own_run / VERDICT).write_bytes(data)
    with pytest.raises(EvidenceError, match="was changed since it was written"):
        make_bundle(own_run)
    (own_run / "manifest.json").unlink()
    with pytest.raises(UsageError, match="gives another verdict"):
        make_bundle(own_run)
