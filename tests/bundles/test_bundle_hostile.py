"""Archives that mean harm are refused at the first header that is not a bundle's; nothing of them is written."""

import io
import tarfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from auditor.bundles import make_bundle
from auditor.core.bundle.pack import MAX_FILES, NOTE, STATEMENT, pack, unpack
from auditor.core.bundle.statement import run_statement
from auditor.core.folder import VERDICT, WIRE
from auditor.core.wire.log import MAGIC
from auditor.errors import EvidenceError, Exit, UsageError
from auditor.publish.envelope import sealed
from auditor.verifying import verify_bundle, verify_folder


def tarred(*entries: tuple[str, bytes], form: int = tarfile.USTAR_FORMAT, **fields: object) -> bytes:
    """An archive by the standard library, with these fields on every entry."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=form) as archive:
        for name, content in entries:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            for field, value in fields.items():
                setattr(entry, field, value)
            archive.addfile(entry, io.BytesIO(content))
    return file.getvalue()


HOSTILE = {
    "absolute path": tarred(("/etc/passwd", b"x")),
    "path that climbs": tarred(("../../verdict.json", b"x")),
    "path that climbs within": tarred(("witnesses/../../verdict.json", b"x")),
    "backslashes": tarred(("witnesses\\..\\verdict.json", b"x")),
    "symbolic link": tarred((VERDICT, b""), type=tarfile.SYMTYPE, linkname="/etc/passwd"),
    "hard link": tarred((VERDICT, b""), type=tarfile.LNKTYPE, linkname="wire.zst"),
    "device": tarred((VERDICT, b""), type=tarfile.CHRTYPE),
    "pipe": tarred((VERDICT, b""), type=tarfile.FIFOTYPE),
    "folder": tarred((VERDICT, b""), type=tarfile.DIRTYPE),
    "sparse file": tarred((VERDICT, b""), type=tarfile.GNUTYPE_SPARSE),
    "twice": tarred((VERDICT, b"a"), (VERDICT, b"b")),
    "other case": tarred(("Verdict.json", b"a")),
    "huge name": tarred(("a" * 90_000, b"x"), form=tarfile.GNU_FORMAT),
    "pax header": tarred(("é" * 200, b"x"), form=tarfile.PAX_FORMAT),
    "out of order": tarred((WIRE, b"a"), (VERDICT, b"b")),
    "set-uid": tarred((VERDICT, b"a"), mode=0o4755),
    "owner": tarred((VERDICT, b"a"), uid=1000, uname="me"),
    "time": tarred((VERDICT, b"a"), mtime=1),
    "unknown file": tarred(("report.html", b"<script>")),
    "zip": b"PK\x03\x04" + bytes(600),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(2000),
    "nothing": b"",
    "zeros": bytes(10_240),
    "text": b"not a bundle\n" * 100,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_no_bundle_holds_is_refused(name: str) -> None:
    found = verify_bundle(HOSTILE[name], "bundle")
    assert found.exit_code == Exit.REFUTED
    assert all(
        "byte " in check.sentence or "statement" in check.sentence for check in found.checks if check.outcome == "fails"
    )


def test_a_size_that_lies_is_refused() -> None:
    data = bytearray(tarred((VERDICT, b"a")))
    data[124:136] = b"77777777777\0"
    data[148:156] = b"%06o\0 " % sum(data[:148] + b" " * 8 + data[156:512])
    with pytest.raises(EvidenceError, match=r"ends within verdict\.json"):
        unpack(bytes(data))


def test_ten_million_entries_cost_nothing() -> None:
    """The second entry is refused, however many follow; here as many as fit the largest bundle that is read."""
    one = tarred((VERDICT, b""))[:512]
    data = one * (1 << 17)
    tracemalloc.start()
    with pytest.raises(EvidenceError, match="twice or out of order"):
        unpack(data)
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_too_many_witnesses_are_refused() -> None:
    files = {f"witnesses/{number:016x}.log": b"" for number in range(MAX_FILES + 1)}
    with pytest.raises(EvidenceError, match="more than 1,000 files"):
        unpack(pack(files))


def test_a_wire_log_that_is_a_bomb_is_refused_without_being_held(unsigned: bytes) -> None:
    """Digests and statement are right: only its size tells."""
    files = unpack(unsigned)
    files.pop(STATEMENT)
    body = zstandard.ZstdCompressor(level=1).compressobj()
    parts = [body.compress(MAGIC)]
    parts += [body.compress(bytes(1 << 20)) for _ in range(200)]
    files[WIRE] = b"".join([*parts, body.flush()])
    data = pack({**files, STATEMENT: sealed(run_statement(files))})
    tracemalloc.start()
    found = verify_bundle(data, "bundle")
    assert tracemalloc.get_traced_memory()[1] < 64 << 20
    tracemalloc.stop()
    assert found.exit_code == Exit.REFUTED
    assert "expands to more than 64 MiB" in found.checks[-1].sentence


@pytest.mark.parametrize(
    "payload",
    [b"", b"[]", b"{}", b'{"subject": 1}', b'{"subject": [{"name": 1}]}', b"[" * 100_000, b'{"subject": {"a": NaN}}'],
)
def test_statements_that_are_none_are_refused(unsigned: bytes, payload: bytes) -> None:
    files = unpack(unsigned)
    files[STATEMENT] = sealed(payload)
    assert verify_bundle(pack(files), "bundle").exit_code == Exit.REFUTED


@pytest.mark.parametrize("missing", [STATEMENT, NOTE, VERDICT, WIRE, "plan.json", "ledger.json", "run.json"])
def test_a_file_left_out_is_missed(unsigned: bytes, missing: str) -> None:
    files = unpack(unsigned)
    del files[missing]
    assert verify_bundle(pack(files), "bundle").exit_code == Exit.REFUTED
    if missing not in (STATEMENT, NOTE, VERDICT):
        files.pop(STATEMENT)
        again = verify_bundle(pack({**files, STATEMENT: sealed(run_statement(files))}), "bundle")
        assert again.exit_code == Exit.REFUTED
        assert missing in " ".join(check.sentence for check in again.checks)


def test_a_key_in_the_evidence_stops_the_bundle(own_run: Path) -> None:
    from auditor.core.wire.log import Kind, WireRecord, frame

    request = b"POST / HTTP/1.1\r\nAuthorization: Bearer sk-12345678\r\n\r\n{}"
    more = [WireRecord(Kind.OPEN, 90, 1, 0, b'{"purpose": "probe"}'), WireRecord(Kind.SEND, 90, 1, 0, request)]
    with (own_run / WIRE).open("ab") as file:
        file.write(frame(more))
    (own_run / "manifest.json").unlink()
    from auditor.audit import judge_folder

    judge_folder(own_run)
    with pytest.raises(UsageError, match="request 90 holds the header authorization") as caught:
        make_bundle(own_run)
    assert "12345678" not in str(caught.value)


def test_signed_envelopes_are_bound_to_their_run(signed: bytes, unsigned: bytes, make_key: Callable[..., str]) -> None:
    """A signature of one bundle on the files of another."""
    files = unpack(unsigned)
    files[NOTE] = files[NOTE].replace(b"0.1.0", b"0.1.1")
    files[STATEMENT] = unpack(signed)[STATEMENT]
    found = verify_bundle(pack(files), "bundle")
    assert found.exit_code == Exit.REFUTED
    assert "bundle.json is not what statement" in found.checks[-1].sentence


@pytest.mark.parametrize(
    "manifest", [b"", b"[]", b"1", b"null", b'{"/dev/zero": "0"}', b'{"../run.json": "0"}', b'{"wire.zst": 1}', b"{}"]
)
def test_manifests_that_are_none_are_refused(own_run: Path, manifest: bytes) -> None:
    (own_run / "manifest.json").write_bytes(manifest)
    found = verify_folder(own_run)
    assert found.exit_code == Exit.REFUTED
    assert {check.id for check in found.checks} == {"digests"}


def test_evidence_that_breaks_the_judge_does_not_verify(unsigned: bytes) -> None:
    """A plan without a judged cell, with every digest right."""
    import orjson

    from auditor.core.record import canonical_json, sha256

    files = unpack(unsigned)
    plan = {**orjson.loads(files["plan.json"]), "cells": []}
    files["plan.json"] = canonical_json(plan)
    run = {**orjson.loads(files["run.json"]), "plan_digest": sha256(files["plan.json"])}
    files["run.json"] = canonical_json(run)
    del files[STATEMENT]
    found = verify_bundle(pack({**files, STATEMENT: sealed(run_statement(files))}), "bundle")
    assert found.exit_code == Exit.REFUTED
    assert found.checks[-1].sentence.startswith("the run cannot be judged")
