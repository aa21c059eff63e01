"""The migrations inside the wheel: built, installed and used away from the checkout."""

import importlib.util
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from auditor.db.migrate import migrations_folder
from auditor.db.tables import REVISION

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree; where the build backend is not installed, pip fetches it."""
    target = tmp_path_factory.mktemp("wheel")
    isolation = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    _pip("wheel", "--no-deps", *isolation, "--wheel-dir", str(target), str(ROOT))
    (built,) = target.glob("*.whl")
    return built


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wheel_holds_every_migration(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name.removeprefix("auditor/_alembic/") for name in archive.namelist() if "_alembic/" in name}
    folder = migrations_folder()
    assert folder == ROOT / "alembic"
    assert names == {
        "env.py",
        "script.py.mako",
        *(f"versions/{path.name}" for path in (folder / "versions").glob("*.py")),
    }


def test_installed_tool_makes_its_database(wheel: Path, tmp_path: Path) -> None:
    home, work = tmp_path / "100% home", tmp_path / "work"
    work.mkdir()
    _pip("install", "--no-deps", "--no-index", "--target", str(home), str(wheel))
    environment = {**os.environ, "PYTHONPATH": str(home)}
    where = "from auditor.db.migrate import migrations_folder as f; print(f())"
    for command, words in (
        ([sys.executable, "-c", where], str(home / "auditor" / "_alembic")),
        ([home / "bin" / "audit", "db", "upgrade"], f"audit.db: upgraded from nothing to revision {REVISION}"),
    ):
        done = subprocess.run(command, cwd=work, env=environment, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout.strip(), done.stderr) == (0, words, "")
    assert (work / "audit.db").is_file()
