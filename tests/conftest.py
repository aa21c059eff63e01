"""Fixtures for all rooms: real embedded servers, started when the first test asks, a scripted HTTP server, a browser."""

import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hypothesis import settings

from auditor.capture.local import LocalServer, Speculation, local_settings, start_local
from auditor.errors import UsageError

LOCAL_FIXTURES = {"local_plain", "local_ngram", "local_draft"}
DATA = Path(__file__).parent / "data"
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

Script = dict[str, tuple[int, bytes] | tuple[int, bytes, dict[str, str]]]
"""Status, body and headers by path; a path that is not there is a 404."""


def pytest_configure() -> None:
    """No proxy between the tests and this machine's own servers; a busy machine makes no example too slow."""
    settings.register_profile("house", deadline=None)
    settings.load_profile("house")
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        del os.environ[name]
    os.environ["COLUMNS"] = "80"  # text is wrapped to the terminal, and tests read it


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which every table has a line for each row."""
    monkeypatch.setenv("COLUMNS", "400")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the embedded server."""
    for item in items:
        if LOCAL_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("local")


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder of recordings."""
    return DATA


def _local(speculation: Speculation, folder: Path) -> Iterator[LocalServer]:
    try:
        settings = local_settings(speculation=speculation, context=2048, parallel=2)
    except UsageError as error:
        pytest.skip(str(error))
    with start_local(settings, log=folder / f"{speculation}.log") as server:
        yield server


@pytest.fixture(scope="session")
def local_plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """An embedded server without speculation; `.url` is its address."""
    yield from _local("none", tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="session")
def local_ngram(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """An embedded server that drafts from repeated text."""
    yield from _local("ngram", tmp_path_factory.mktemp("local"))


@pytest.fixture(scope="session")
def local_draft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """An embedded server that drafts with its own model."""
    yield from _local("draft", tmp_path_factory.mktemp("local"))


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Quiet about a client that left early."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@contextmanager
def _serving(script: Script, asked: list[str]) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            status, body, *more = script.get(self.path, (404, b'{"detail":"Not Found"}'))
            self.send_response(status)
            for name, value in (more[0] if more else {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    server = _Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def serve() -> Iterator[Callable[..., str]]:
    """`serve(script)` starts a server that answers GETs from the script; `serve(script, asked)` notes the paths."""
    with ExitStack() as stack:

        def start(script: Script, asked: list[str] | None = None) -> str:
            return stack.enter_context(_serving(script, [] if asked is None else asked))

        yield start


@pytest.fixture
def recorded_run(tmp_path: Path) -> Callable[..., Path]:
    """`recorded_run(Cells(...))` writes an unjudged run folder of recorded streams; see `runs.make_run`."""
    from runs import make_run

    return partial(make_run, tmp_path / "run")


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """Chromium, driven by Playwright, whose event loop runs in this thread until the module ends."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in CHROMIUM if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip("there is no Chromium on this machine")
    with api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()
