"""Run folders that are damaged: `audit judge` says what and where in one line, or judges what is left."""

import json
import shutil
from pathlib import Path

import pytest

from auditor.core import folder as names
from auditor.core.record import canonical_json


@pytest.fixture(scope="module")
def whole(module_tool, module_model) -> Path:
    """A good run, before it is damaged."""
    module_tool.prompts("good", "good")
    ran = module_tool(*module_tool.arguments(module_model().url))
    assert ran.code == 4, ran.err
    return ran.folder


@pytest.fixture
def broken(whole, tool) -> Path:
    """A copy to damage, without a manifest, as a killed run leaves it; with one, any change is refused."""
    return shutil.copytree(whole, tool.cwd / "broken", ignore=shutil.ignore_patterns(names.MANIFEST))


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x55]) + data[middle + 1 :]


def newer(field: str):
    return lambda data: canonical_json({**json.loads(data), field: 99})


def without_servers(data: bytes) -> bytes:
    return canonical_json({**json.loads(data), "servers": {}})


DAMAGES = [
    (names.PLAN, None, "is missing; this is no run folder, or its run ended before the first request"),
    (names.PLAN, cut, "is damaged"),
    (names.PLAN, newer("plan_version"), "is of version 99, which this tool does not read; use a newer version"),
    (names.PLAN, newer("seed"), "is not the plan that was hashed before measuring; restore the file"),
    (names.FACTS, None, "is missing"),
    (names.FACTS, cut, "is damaged"),
    (names.FACTS, without_servers, "says nothing of the server subject; restore the file"),
    (names.CLAIM, None, "is missing"),
    (names.CLAIM, cut, "is not the claim that was planned for; restore the file"),
    (names.CLAIM, lambda data: b"\xff\xfe", "is not the claim that was planned for; restore the file"),
    (names.RUN, None, "is missing"),
    (names.RUN, cut, "is damaged"),
    (names.RUN, lambda data: b"", "is damaged"),
    (names.WIRE, None, "cannot be read (No such file or directory)"),
    (names.WIRE, lambda data: b"not a log", "this is not a wire log"),
    (names.RECOUNT, lambda data: b"{", "is damaged"),
]


@pytest.mark.parametrize(("name", "damage", "words"), DAMAGES, ids=[f"{n}-{i}" for i, (n, _, _) in enumerate(DAMAGES)])
def test_a_folder_that_cannot_be_judged(name, damage, words, broken, tool):
    path = broken / name
    if damage is None:
        path.unlink()
    else:
        path.write_bytes(damage(path.read_bytes() if path.exists() else b""))
    ran = tool("judge", "broken", "--json")
    line = ran.line(1)
    assert name in line
    assert words in line
    assert json.loads(ran.out)["exit_code"] == 1


@pytest.mark.parametrize("damage", [cut, flip, lambda data: data[:-1], lambda data: data[:6], lambda data: b""])
def test_a_wire_log_of_which_something_is_left(damage, broken, tool):
    path = broken / names.WIRE
    path.write_bytes(damage(path.read_bytes()))
    ran = tool("judge", "broken", "--json")
    assert ran.code == 4, ran.err
    assert "Traceback" not in ran.err
    verdict = json.loads(ran.out)
    assert (verdict["kind"], verdict["run"]["partial"]) == ("inconclusive", True)


def test_derived_files_are_made_again(broken, tool):
    before = (broken / names.VERDICT).read_bytes()
    for name in (names.LEDGER, names.VERDICT, names.TOKENS, names.REPORT):
        (broken / name).unlink()
    assert tool("judge", "broken").code == 4
    assert (broken / names.VERDICT).read_bytes() == before
    assert (broken / names.REPORT).exists()
    assert (broken / names.MANIFEST).exists()


def test_no_folder(tool):
    assert "there is no run nowhere" in tool("judge", "nowhere").line(2)


def test_an_empty_folder(tool):
    (tool.cwd / "empty").mkdir()
    assert "is missing; this is no run folder" in tool("judge", "empty").line(1)
