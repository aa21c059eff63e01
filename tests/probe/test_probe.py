"""The probe against real servers and scripted ones."""

import asyncio
import contextlib
import gzip
import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from auditor.capture import probe as probing
from auditor.capture.local import LocalServer
from auditor.capture.probe import ask, probe
from auditor.core.facts import ServerFacts
from auditor.core.observed import FACT_NAMES
from auditor.core.probing import Answers
from auditor.errors import ServerError, UsageError
from auditor.servers import load_adapters

Serve = Callable[..., str]


def look(url: str, headers: dict[str, str] | None = None, **more: Any) -> ServerFacts:
    return look_and_answers(url, headers, **more)[0]


def look_and_answers(url: str, headers: dict[str, str] | None = None, **more: Any) -> tuple[ServerFacts, Answers]:
    async def go() -> tuple[ServerFacts, Answers]:
        async with httpx.AsyncClient(headers=headers) as client:
            return await probe(client, base_url=url, key="subject", adapters=load_adapters(), **more)

    return asyncio.run(go())


def models(*cards: dict[str, object]) -> tuple[int, bytes]:
    return 200, json.dumps({"object": "list", "data": list(cards)}).encode()


# real servers


@pytest.mark.parametrize(
    ("fixture", "speculation", "method", "width"),
    [
        ("local_plain", False, "none", 0),
        ("local_ngram", True, "ngram-simple", 8),
        ("local_draft", True, "draft-simple", 4),
    ],
)
def test_the_embedded_server(
    fixture: str, speculation: bool, method: str, width: int, request: pytest.FixtureRequest
) -> None:
    server: LocalServer = request.getfixturevalue(fixture)
    found = look(f"{server.url}/v1/", launched=server.launched)
    assert (found.kind, found.url, found.model) == ("llamacpp", server.url, server.model)
    assert "owned_by llamacpp" in found.kind_reason
    assert found.embedded
    assert found.metrics
    assert found.value("speculation") is speculation
    assert found.value("speculation_method") == method
    assert found.value("draft_tokens") == width
    assert found.value("quantisation") == "Q4_1"
    assert found.value("context_length") == 2048
    assert found.value("streams_max") == 2
    assert found.value("gpu_count") == 0
    assert set(found.facts) == set(FACT_NAMES)
    for name, fact in found.facts.items():
        assert fact.source if fact.value is not None else fact.reason, name
    assert ServerFacts.from_json(found.to_json()) == found


def test_the_embedded_server_as_a_stranger_sees_it(local_draft: LocalServer) -> None:
    found = look(local_draft.url)
    assert not found.embedded
    assert found.value("speculation") is True
    assert found.facts["speculation"].source == "GET /slots speculative"


def test_the_files_of_this_machine_stay_out(local_plain: LocalServer) -> None:
    found = look(local_plain.url, launched=local_plain.launched)
    assert str(local_plain.settings.gguf.parent) not in found.to_json().decode()


# kinds


def vllm_script(data: Path) -> dict[str, tuple[int, bytes]]:
    return {
        "/v1/models": models({"id": "smol", "owned_by": "vllm", "root": "org/smol", "max_model_len": 2048}),
        "/metrics": (200, (data / "vllm-0.32-cpu" / "ngram_idle.metrics.txt").read_bytes()),
        "/version": (200, b'{"version":"0.32.0"}'),
    }


def test_vllm_is_asked_no_more_than_needed(serve: Serve, data: Path) -> None:
    asked: list[str] = []
    found = look(serve(vllm_script(data), asked))
    assert asked == ["/v1/models", "/metrics", "/version", "/server_info?config_format=json"]
    assert (found.kind, found.model) == ("vllm", "smol")
    assert found.value("version") == "0.32.0"
    assert found.value("draft_tokens") == 4
    assert found.request_fields["return_token_ids"] is True
    assert "VLLM_SERVER_DEV_MODE" in (found.facts["gpu"].reason or "")


def test_sglang_without_metrics_is_found_by_its_server_info(serve: Serve) -> None:
    info = {"tp_size": 4, "internal_states": [], "version": "0.5.3", "speculative_algorithm": None}
    url = serve(
        {"/v1/models": models({"id": "m", "owned_by": "me"}), "/get_server_info": (200, json.dumps(info).encode())}
    )
    found = look(url)
    assert found.kind == "sglang"
    assert found.kind_reason == "GET /get_server_info internal_states"
    assert found.value("tensor_parallel") == 4
    assert not found.metrics


def test_an_unknown_server_is_generic(serve: Serve) -> None:
    found = look(serve({"/v1/models": models({"id": "gpt", "owned_by": "someone", "context_length": 8192})}))
    assert (found.kind, found.model, found.metrics) == ("generic", "gpt", False)
    assert found.value("context_length") == 8192
    assert found.facts["gpu"].reason == "OpenAI-compatible server does not tell it"


def test_a_kind_that_is_given_is_not_doubted(serve: Serve) -> None:
    found = look(serve({"/v1/models": models({"id": "m"})}), kind="vllm")
    assert (found.kind, found.kind_reason) == ("vllm", "given, and no sign of it")
    with pytest.raises(UsageError, match=r"no adapter for trt; give one of: .*vllm.*generic"):
        look("http://127.0.0.1:1", kind="trt")


# models


def test_the_only_model_is_taken_whatever_its_names(serve: Serve) -> None:
    url = serve(
        {
            "/v1/models": models(
                {"id": "short", "root": "org/long", "owned_by": "vllm"},
                {"id": "longer", "root": "org/long", "owned_by": "vllm"},
                {"id": "adapter", "root": "lora", "parent": "short", "owned_by": "vllm"},
            )
        }
    )
    assert look(url).model == "short"
    assert look(url, model="adapter").model == "adapter"
    with pytest.raises(UsageError, match="model other is not served; give one of: short, longer, adapter"):
        look(url, model="other")


def test_several_models_are_listed(serve: Serve) -> None:
    url = serve({"/v1/models": models(*({"id": f"m{i}"} for i in range(30)))})
    with pytest.raises(UsageError, match=r"30 models are served; give --model: m0, .* and 10 more"):
        look(url)
    assert look(url, model="m7").model == "m7"
    # A gateway may serve what it does not list.
    assert look(url, model="hidden").model == "hidden"


@pytest.mark.parametrize("answer", [(200, b"<html>"), (200, b'{"data": 3}'), (200, b'{"data":[{}, 3]}')])
def test_without_a_list_the_model_must_be_given(serve: Serve, answer: tuple[int, bytes]) -> None:
    url = serve({"/v1/models": answer})
    with pytest.raises(UsageError, match=r"no list of models .* give the model's name with --model"):
        look(url)
    found = look(url, model="mine")
    assert (found.kind, found.model, found.facts["model"].source) == ("generic", "mine", "given")


def test_what_is_no_server_of_a_model_is_said_to_be_none(serve: Serve) -> None:
    url = serve({"/v1/models": (404, b"<html>not found</html>")})
    with pytest.raises(ServerError, match="does not look like a server of a language model"):
        look(url)
    assert look(url, model="mine").model == "mine"


# refusals


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        (401, b"", "asks for a key .HTTP 401.; give --api-key or set AUDIT_API_KEY"),
        (403, b"", "asks for a key .HTTP 403."),
        (429, b"", "no more requests now"),
        (307, b"", "a redirect; give the address"),
        (500, b"oops", "HTTP 500; wait until"),
        (
            503,
            b'{"error":{"message":"Loading\\nmodel","code":503}}',
            "HTTP 503 .Loading model.; wait until it has loaded",
        ),
    ],
)
def test_a_server_that_refuses(serve: Serve, status: int, body: bytes, words: str) -> None:
    with pytest.raises(ServerError, match=words) as caught:
        look(serve({"/v1/models": (status, body)}))
    assert caught.value.exit_code == 5
    assert "\n" not in str(caught.value)


def test_a_refused_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(ServerError, match=f"^http://127.0.0.1:{port}: connection refused; start the server"):
        look(f"http://127.0.0.1:{port}")


def test_a_host_that_does_not_exist() -> None:
    with pytest.raises(ServerError, match=r"^http://nowhere\.invalid: no such host; check the name"):
        look("http://nowhere.invalid/v1")


@pytest.mark.parametrize("host", ["a" * 70 + ".example", "a..b"])
def test_a_host_that_cannot_be(host: str) -> None:
    with pytest.raises((UsageError, ServerError)) as caught:
        look(f"http://{host}")
    assert "\n" not in str(caught.value)


def test_tls_towards_a_server_without(serve: Serve) -> None:
    url = serve({}).replace("http:", "https:")
    with pytest.raises(ServerError, match=r"TLS failed: .*check http against https"):
        look(url)


def test_a_certificate_that_is_not_trusted(tmp_path: Path) -> None:
    certificate, key = _self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with (
        Listener(lambda connection: _handshake(context, connection)) as port,
        pytest.raises(ServerError, match="TLS failed: self-signed certificate"),
    ):
        look(f"https://127.0.0.1:{port}")


def test_a_server_that_does_not_speak_http() -> None:
    with (
        Listener(lambda connection: connection.sendall(b"220 mail ESMTP\r\n")) as port,
        pytest.raises(ServerError, match=r"/v1/models: .*check port and http or https"),
    ):
        look(f"http://127.0.0.1:{port}")


def test_a_server_that_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "ASK_TIMEOUT_S", 0.05)
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        pytest.raises(ServerError, match=r"no answer within 0\.05 s"),
    ):
        look(f"http://127.0.0.1:{silent.getsockname()[1]}")


# answers


def test_a_slow_answer_is_only_one_fact_less(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "ASK_TIMEOUT_S", 0.2)
    # Promises more than it sends.
    url = serve({"/slow": (200, b"x", {"Content-Length": "10"}), "/quick": (200, b"{}")})
    answers = asked_of(url, "/slow", "/quick", "/none")
    assert answers["/slow"].error
    assert answers["/quick"].is_ok
    assert answers["/none"].status == 404
    assert answers.why_not("/none") == "GET /none: HTTP 404"


def test_a_long_answer_is_cut(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = gzip.compress(bytes(8 << 20))
    url = serve({"/big": (200, bomb, {"Content-Encoding": "gzip"}), "/bad": (200, b"xx", {"Content-Encoding": "gzip"})})
    answers = asked_of(url, "/big", "/bad")
    assert len(answers["/big"].body) == probing.BODY_LIMIT_BYTES
    assert not answers["/big"].is_ok
    assert "4 MiB" in answers.why_not("/big")
    assert "compression" in answers.why_not("/bad")


def test_credentials_are_used_and_not_written_down(serve: Serve) -> None:
    url = serve({"/v1/models": models({"id": "m"})}).replace("//", "//me:hidden@")
    found, _ = look_and_answers(url + "/v1?token=abc")
    assert "hidden" not in found.to_json().decode()
    assert "abc" not in found.to_json().decode()
    assert found.url.startswith("http://127.0.0.1:")


def test_a_server_under_a_path(serve: Serve) -> None:
    asked: list[str] = []
    url = serve({"/llm/v1/models": models({"id": "m"})}, asked)
    assert look(f"{url}/llm/v1").url == f"{url}/llm"
    assert asked[0] == "/llm/v1/models"


@pytest.mark.parametrize(
    "text",
    ["", "localhost:8000", "ftp://host", "http://", "http://host:x", "http://[::1", "http://host:99999", "http://a b"],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(UsageError, match="not a server address"):
        look(text)


def asked_of(url: str, *paths: str) -> Answers:
    async def go() -> Answers:
        async with httpx.AsyncClient() as client:
            return await ask(client, url, paths)

    return asyncio.run(go())


class Listener:
    """A socket that does one thing to whoever connects; gives its port."""

    def __init__(self, act: Callable[[socket.socket], None]) -> None:
        self._act = act

    def __enter__(self) -> int:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        port: int = self._server.getsockname()[1]
        return port

    def _run(self) -> None:
        connection, _ = self._server.accept()
        with connection:
            self._act(connection)

    def __exit__(self, *exception: object) -> None:
        self._thread.join()
        self._server.close()


def _handshake(context: ssl.SSLContext, connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        context.wrap_socket(connection, server_side=True).close()


def _self_signed(folder: Path) -> tuple[Path, Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed: no certificate to refuse")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    command += ["-keyout", str(key), "-out", str(certificate), "-days", "2", "-subj", "/CN=127.0.0.1"]
    command += ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key
