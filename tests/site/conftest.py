"""The site of a dozen audits, made once for the room by the command itself."""

import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import orjson
import pytest
from published import ROOT, Audit, Said, make_tree

from auditor.cli import main

BENCH = ROOT / "tests" / "data" / "imports" / "vllm" / "ngram-detailed.json"


@pytest.fixture
def audit(capsys: pytest.CaptureFixture[str]) -> Audit:
    """`audit("publish", "--out", path)` runs the command in this process."""

    def run(*words: str) -> Said:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        return Said(int(ended.value.code or 0), *capsys.readouterr())

    return run


def quietly(*words: str) -> None:
    """Run a command that must end with 0."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    assert ended.value.code == 0, words


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The reports and the address of a database that knows claims, a run and an import of them; read only."""
    root = tmp_path_factory.mktemp("tree")
    reports, database = make_tree(root / "reports"), f"sqlite:///{root / 'audit.db'}"
    quietly("db", "upgrade", "--database", database)
    quietly("claims", "add", *map(str, sorted((ROOT / "claims").glob("*.yaml"))), "--database", database)
    for words in (("judge", str(reports / "two-runs" / "second-2")), ("import", str(BENCH), "--reports", str(reports))):
        with pytest.raises(SystemExit):
            main([*words, "--database", database])
    return reports, database


@pytest.fixture(scope="session")
def site(tree: tuple[Path, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The published site; read only."""
    reports, database = tree
    out = tmp_path_factory.mktemp("published") / "site"
    quietly("publish", "--out", str(out), "--reports", str(reports), "--database", database)
    return out


@pytest.fixture
def own_tree(tree: tuple[Path, str], tmp_path: Path) -> tuple[Path, str]:
    """A copy of it to change."""
    shutil.copytree(tree[0].parent, tmp_path / "tree")
    return tmp_path / "tree" / "reports", f"sqlite:///{tmp_path / 'tree' / 'audit.db'}"


@pytest.fixture
def publish(own_tree: tuple[Path, str], tmp_path: Path, audit: Audit) -> Callable[..., tuple[Path, dict[str, object]]]:
    """`publish()` makes a site of the own tree, and gives its folder and what the command said as JSON."""
    reports, database = own_tree

    def run(*words: str) -> tuple[Path, dict[str, object]]:
        out = tmp_path / "site"
        said = audit("publish", "--out", str(out), "--reports", str(reports), "--database", database, "--json", *words)
        assert said.code == 0, said.stderr
        return out, orjson.loads(said.stdout)

    return run


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args: object) -> None:
        """Quiet."""


@pytest.fixture(scope="session")
def served(site: Path) -> Iterator[str]:
    """The site on a web server, under a path of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(site.parent)))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/site/"
    server.shutdown()
    thread.join()
    server.server_close()
