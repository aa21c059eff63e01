"""`audit bundle` and `audit verify` as they are typed, with keys as ssh-keygen makes them."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from bundled import Audit

from auditor.core.folder import REPORT, VERDICT
from auditor.publish.keys import fingerprint


@pytest.fixture
def bundle_file(signed: bytes, tmp_path: Path) -> str:
    path = tmp_path / "b.audit.tar"
    path.write_bytes(signed)
    return str(path)


def test_a_bundle_is_made_and_verified_with_the_key_that_signed(
    audit: Audit, judged_run: Path, make_key: Callable[..., str], tmp_path: Path
) -> None:
    key, out = make_key("ann"), str(tmp_path / "b.tar")
    made = audit("bundle", str(judged_run), "--sign", key, "--out", out, "--json")
    assert made.returncode == 0, made.stderr
    printed = subprocess.run(["ssh-keygen", "-lf", f"{key}.pub"], capture_output=True, text=True, check=False).stdout
    assert json.loads(made.stdout)["signed_with"][0] in (printed or fingerprint(Path(f"{key}.pub").read_text()))
    found = audit("verify", out, "--key", f"{key}.pub", "--json")
    assert found.returncode == 0, found.stderr
    document = json.loads(found.stdout)
    assert document["signers"][0]["name"] == "ann@example"
    assert {check["id"]: check["outcome"] for check in document["checks"]} == dict.fromkeys(
        ("archive", "digests", "signature", "tool", "ledger", "verdict"), "holds"
    )
    again = audit("bundle", str(judged_run), "--sign", key, "--out", out)
    assert again.returncode == 2
    assert "is there already" in again.stderr


def test_who_signed_is_looked_up_in_allowed_signers(
    audit: Audit, bundle_file: str, make_key: Callable[..., str], tmp_path: Path
) -> None:
    ann, bob = (Path(f"{make_key(name)}.pub").read_text().split()[:2] for name in ("ann", "bob"))
    signers = tmp_path / "allowed_signers"
    signers.write_text(f"# who may\nbob@example {' '.join(bob)}\nann@reviews.example {' '.join(ann)}\n")
    found = audit("verify", bundle_file, "--key", str(signers))
    assert found.returncode == 0
    assert "signed with the given key of ann@reviews.example" in found.words
    other = audit("verify", bundle_file, "--key", f"{make_key('bob')}.pub")
    assert other.returncode == 3
    assert "none of the given keys" in other.words
    signers.write_text(f'ann@x namespaces="git" {" ".join(ann)}\n')
    options = audit("verify", bundle_file, "--key", str(signers))
    assert options.returncode == 2
    assert "allowed_signers:1: has the option namespaces" in options.stderr


def test_without_a_key_a_signature_says_that_it_is_nobodys(audit: Audit, bundle_file: str) -> None:
    found = audit("verify", bundle_file)
    assert found.returncode == 0
    assert "whose key that is was not asked" in found.words


def test_an_unsigned_bundle_says_so_and_fails_where_a_key_is_expected(
    audit: Audit, unsigned: bytes, make_key: Callable[..., str], tmp_path: Path
) -> None:
    path = tmp_path / "u.tar"
    path.write_bytes(unsigned)
    plain = audit("verify", str(path))
    assert plain.returncode == 0
    assert "the bundle is not signed" in plain.stdout
    assert "can be made anew by anyone" in plain.words
    assert audit("verify", str(path), "--key", f"{make_key('ann')}.pub").returncode == 3


def test_keys_with_a_passphrase_pem_keys_and_keys_that_are_none(
    audit: Audit, monkeypatch: pytest.MonkeyPatch, judged_run: Path, make_key: Callable[..., str], tmp_path: Path
) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

    locked, out = make_key("locked", "open sesame"), str(tmp_path / "locked.tar")
    monkeypatch.setenv("AUDIT_KEY_PASSPHRASE", "closed")
    wrong = audit("bundle", str(judged_run), "--sign", locked, "--out", out)
    assert (wrong.returncode, Path(out).exists()) == (2, False)
    assert "the passphrase is wrong" in wrong.stderr
    monkeypatch.setenv("AUDIT_KEY_PASSPHRASE", "open sesame")
    right = audit("bundle", str(judged_run), "--sign", locked, "--out", out)
    assert right.returncode == 0, right.stderr
    assert audit("verify", out, "--key", f"{locked}.pub").returncode == 0
    pem = Ed25519PrivateKey.generate()
    (tmp_path / "k.pem").write_bytes(pem.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    (tmp_path / "k.pub.pem").write_bytes(pem.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    out = str(tmp_path / "pem.tar")
    assert audit("bundle", str(judged_run), "--sign", str(tmp_path / "k.pem"), "--out", out).returncode == 0
    assert audit("verify", out, "--key", str(tmp_path / "k.pub.pem")).returncode == 0
    rsa = generate_private_key(65537, 2048)
    (tmp_path / "rsa").write_bytes(rsa.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()))
    for path, words in ((tmp_path / "rsa", "is not an Ed25519 key"), (judged_run / VERDICT, "is no private key")):
        bad = audit("bundle", str(judged_run), "--sign", str(path), "--out", str(tmp_path / "no.tar"))
        assert bad.returncode == 2
        assert words in bad.stderr
    assert "is a private key" in audit("verify", out, "--key", str(tmp_path / "k.pem")).stderr


def test_a_new_key_signs_and_only_its_owner_reads_it(audit: Audit, judged_run: Path, tmp_path: Path) -> None:
    key, out = str(tmp_path / "new"), str(tmp_path / "b.tar")
    assert audit("bundle", "--new-key", key).returncode == 0
    assert Path(key).stat().st_mode & 0o077 == 0
    assert audit("bundle", "--new-key", key).returncode == 2
    assert audit("bundle", str(judged_run), "--sign", key, "--out", out).returncode == 0
    assert audit("verify", out, "--key", f"{key}.pub").returncode == 0


def test_a_verified_bundle_unpacks_to_a_run_with_its_report(
    audit: Audit, signed: bytes, judged_run: Path, tmp_path: Path
) -> None:
    path, out = tmp_path / "b.tar", tmp_path / "there" / "run"
    path.write_bytes(signed)
    assert audit("verify", str(path), "--out", str(out)).returncode == 0
    assert (out / VERDICT).read_bytes() == (judged_run / VERDICT).read_bytes()
    assert (out / REPORT).exists()
    assert audit("verify", str(out)).returncode == 0
    path.write_bytes(signed.replace(b"forum.example", b"forum.exbmple"))
    changed = audit("verify", str(path), "--out", str(tmp_path / "other"))
    assert changed.returncode == 3
    assert not (tmp_path / "other").exists()


def test_a_changed_run_folder_does_not_verify(audit: Audit, own_run: Path) -> None:
    assert audit("verify", str(own_run)).returncode == 0
    data = (own_run / "tokens.jsonl").read_bytes()
    (own_run / "tokens.jsonl").write_bytes(data.replace(b"1", b"2", 1))
    found = audit("verify", str(own_run))
    assert found.returncode == 3
    assert "tokens.jsonl" in found.stdout


def test_a_bundle_is_read_from_an_address(audit: Audit, serve: Callable[..., str], signed: bytes) -> None:
    url = serve(
        {
            "/b.tar": (200, signed),
            "/moved": (302, b"", {"Location": "/b.tar"}),
            "/file": (302, b"", {"Location": "file:///etc/passwd"}),
            "/loop": (302, b"", {"Location": "/loop"}),
            "/zipped": (200, b"x", {"Content-Encoding": "gzip"}),
        }
    )
    assert audit("verify", f"{url}/b.tar").returncode == 0
    assert audit("verify", f"{url}/moved").returncode == 0
    for path in ("/file", "/loop", "/zipped", "/none"):
        found = audit("verify", f"{url}{path}")
        assert found.returncode == 5, path
        assert found.stderr.startswith("audit: "), path
        assert found.stderr.count("\n") == 1, path
    assert audit("verify", "http://127.0.0.1:1/b.tar").returncode == 5
    assert audit("verify", "no-such-file").returncode == 2


def test_an_answer_that_never_ends_is_cut_off(serve: Callable[..., str]) -> None:
    from auditor.errors import ServerError
    from auditor.publish.fetching import fetch

    url = serve({"/b": (200, bytes(3 << 20))})
    with pytest.raises(ServerError, match="is larger than 1 MiB"):
        fetch(f"{url}/b", 1 << 20)


def test_a_tool_that_lacks_a_part_says_so_and_nothing_of_the_bundle(bundle_file: str) -> None:
    lacking = "import sys; sys.modules['numpy'] = None; from auditor.cli import main; main(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", lacking, "verify", bundle_file], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "this installation is not whole" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_that_is_no_bundle_is_a_slip_and_no_forgery(audit: Audit, tmp_path: Path) -> None:
    page = tmp_path / "README.md"
    for text in ("# a page\n" * 100, ""):
        page.write_text(text)
        said = audit("verify", str(page))
        assert (said.returncode, said.stdout) == (2, "")
        assert said.stderr == f"audit: {page}: is no bundle; `audit bundle` makes one of a run\n"
