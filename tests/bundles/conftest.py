"""A judged run of recorded streams, keys as ssh-keygen makes them, and the bundle of the run, once for the room."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from bundled import Audit, Said
from runs import Cells, make_run, recording

from auditor.audit import judge_folder
from auditor.bundles import make_bundle
from auditor.cli import main
from auditor.publish.keys import make_private, read_private

DRAFT = recording("llamacpp", "draft/chat_stream_tpt")


@pytest.fixture(scope="session")
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small judged run folder; read only."""
    folder = make_run(tmp_path_factory.mktemp("bundled") / "run", Cells(subject=((DRAFT,),)))
    judge_folder(folder)
    return folder


@pytest.fixture
def own_run(judged_run: Path, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(judged_run, tmp_path / "run"))


@pytest.fixture(scope="session")
def make_key(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """`make_key("ann")` gives the private key's path; its public half is beside it. By ssh-keygen where it is there."""
    folder = tmp_path_factory.mktemp("keys")

    def make(name: str, passphrase: str = "") -> str:
        path = str(folder / name)
        if not Path(path).exists():
            if shutil.which("ssh-keygen"):
                asked = ["ssh-keygen", "-q", "-t", "ed25519", "-C", f"{name}@example", "-N", passphrase, "-f", path]
                subprocess.run(asked, check=True)
            elif passphrase:
                pytest.skip("ssh-keygen makes keys with a passphrase, and is not installed")
            else:
                make_private(path)
        return path

    return make


def no_passphrase() -> str:
    """For keys that have none."""
    raise AssertionError("the key has no passphrase")


@pytest.fixture(scope="session")
def signed(judged_run: Path, make_key: Callable[..., str]) -> bytes:
    """The run's bundle, signed with the key `ann`."""
    return make_bundle(judged_run, [read_private(make_key("ann"), no_passphrase)])


@pytest.fixture(scope="session")
def unsigned(judged_run: Path) -> bytes:
    """The run's bundle without a signature."""
    return make_bundle(judged_run)


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Audit:
    """`audit("verify", path)` runs the command in this process."""

    def run(*words: str) -> Said:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        return Said(int(ended.value.code or 0), *capsys.readouterr())

    return run
