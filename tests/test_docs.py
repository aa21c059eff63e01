"""The documentation says what the code does."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from auditor.cli.root import COMMANDS
from auditor.errors import Exit
from auditor.terms import VerdictKind

ROOT = Path(__file__).resolve().parent.parent


def _generator():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GENERATE = _generator()


@pytest.mark.parametrize("name", GENERATE.FILES)
def test_generated_parts_are_current(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert GENERATE.refreshed(text) == text, "stale: run `make docs`"


def test_every_verdict_and_exit_code_is_explained():
    assert all(kind.meaning for kind in VerdictKind)
    assert all(code.meaning for code in Exit)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_documents_its_exit_codes_and_takes_json(command):
    shown = subprocess.run([_audit(), command, "--help"], capture_output=True, text=True, check=True).stdout
    groups = re.findall(r"^  ([a-z-]+)  ", shown.partition("Commands:")[2], flags=re.MULTILINE)
    for path in [[command, group] for group in groups] or [[command]]:
        text = subprocess.run([_audit(), *path, "--help"], capture_output=True, text=True, check=True).stdout
        assert "Exit codes:" in text, path
        assert "--json" in text, path


def test_links_in_the_documentation_lead_somewhere():
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), ROOT / "claims" / "README.md"]:
        prose = re.sub("`[^`]*`", "", page.read_text(encoding="utf-8"))
        for target in re.findall(r"\]\(([^)#]+)\)", prose):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_help_imports_nothing_heavy():
    code = (
        "import sys; from auditor.cli.root import root\n"
        "try: root.main(['--help'], standalone_mode=False)\n"
        "except SystemExit: pass\n"
        "print('HEAVY', [m for m in ('pydantic', 'httpx', 'sqlalchemy', 'numpy', 'altair', 'transformers') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip().endswith("HEAVY []")


def test_a_mistyped_command_is_told_with_the_nearest_name():
    said = subprocess.run([_audit(), "lsit"], capture_output=True, text=True, check=False)
    assert said.returncode == 2
    assert said.stderr.endswith("Error: No such command 'lsit'; did you mean 'list'?\n")


def _audit() -> str:
    return str(Path(sys.executable).with_name("audit"))
