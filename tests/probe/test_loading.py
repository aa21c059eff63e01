"""Adapters of other packages: found, and never the end of an audit."""

import sys
import types
from importlib.metadata import EntryPoint

import pytest

from auditor import servers
from auditor.core.adapter import Adapter
from auditor.core.probing import Answers


def entries(*more: tuple[str, str]) -> list[EntryPoint]:
    ours = [("generic", "auditor.servers.generic:ADAPTER"), ("vllm", "auditor.servers.vllm:ADAPTER")]
    return [EntryPoint(name, value, servers.GROUP) for name, value in (*more, *ours)]


def load(monkeypatch: pytest.MonkeyPatch, *more: tuple[str, str]) -> tuple[list[str], list[str]]:
    monkeypatch.setattr(servers, "entry_points", lambda group: entries(*more))
    warnings: list[str] = []
    return list(servers.load_adapters(warnings.append)), warnings


def test_ours_are_installed_with_the_generic_one_last() -> None:
    assert list(servers.load_adapters()) == [
        *("dynamo", "ktransformers", "llamacpp", "lmdeploy", "lmstudio", "mlc", "ollama", "sglang"),
        *("tabbyapi", "tgi", "transformers", "trtllm", "vllm", "generic"),
    ]


def test_an_adapter_of_another_package_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("their_adapter")
    their = Adapter("their", "Theirs", (), lambda answers: "always", lambda answers, launched: {})
    module.ADAPTER = their  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "their_adapter", module)
    names, warnings = load(monkeypatch, ("their", "their_adapter:ADAPTER"))
    assert (names, warnings) == (["vllm", "their", "generic"], [])
    assert servers.load_adapters()["their"].recognise(Answers()) == "always"


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("their", "no_such_module_of_theirs:ADAPTER", "cannot be loaded: No module named"),
        ("their", "auditor.servers.vllm:no_such_thing", "cannot be loaded: module"),
        ("their", "auditor.servers.vllm:ADAPTER", "not an Adapter of that name"),
        ("their", "json:loads", "not an Adapter of that name"),
        ("vllm", "their_adapter:ADAPTER", "the name is taken"),
    ],
)
def test_a_broken_one_is_a_line(monkeypatch: pytest.MonkeyPatch, name: str, value: str, words: str) -> None:
    names, warnings = load(monkeypatch, (name, value))
    assert names == ["vllm", "generic"]
    assert len(warnings) == 1
    assert words in warnings[0]
    assert "\n" not in warnings[0]


def test_the_line_goes_to_standard_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(servers, "entry_points", lambda group: entries(("their", "json:loads")))
    servers.load_adapters()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("audit: adapter their of an unknown package is passed over")
