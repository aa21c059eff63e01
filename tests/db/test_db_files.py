"""`audit db export` and `audit db import`: all rows to files and back, and files that no export can have written."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from auditor.core.record import sha256
from auditor.db.engine import locate, make_engine
from auditor.db.files import TABLES
from auditor.db.merging import DERIVED_TABLES, HISTORIES
from auditor.db.migrate import upgrade
from auditor.db.moving import export_database, import_database
from auditor.db.rows import (
    AmendmentRow,
    ArtefactRow,
    ExchangeRow,
    FindingRow,
    ImportRow,
    LedgerRow,
    RunRow,
    ServerRow,
    VerdictRow,
)
from auditor.db.store import open_store
from auditor.db.tables import REVISION, Base
from auditor.errors import DatabaseError, UsageError

NOW = 1_900_000_000_123_456_789
DOCUMENT = {"z": 0.1, "a": [1e300, -0.0, 2**70, None, True], "words": "caf\u00e9 \u0000 \ud800 \U0001f680"}
RUN = RunRow("run-1", "fork", 1, "p" * 64, "reports/fork/run-1", NOW, NOW + 5, quick=True)
VERDICT = VerdictRow("not-comparable", 4, "other\nhardware", NOW, DOCUMENT, "d1", 129.5, 150.5, 39.6, 39.0, None)
REPLY = AmendmentRow(1, "reply", "no", "me", None, NOW, "e1")
IMPORT = ImportRow("reports/i", "i", None, "vllm", "vllm", "b", "f" * 64, 7, NOW, None, None)
IDS = ("run-1", "Run-1", "run_1", "r\u00e4n", "\U0001f680", "\ufffd")
"""A server that sorts by the rules of a language has them in another order than SQLite, and UTF-16 in a third."""


@pytest.fixture(scope="session")
def without_rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("without-rows") / "audit.db"
    upgrade(locate(f"sqlite:///{file}"))
    return file


@pytest.fixture
def make(tmp_path: Path, without_rows: Path) -> Callable[[str], str]:
    """A new SQLite database; its address."""

    def call(name: str) -> str:
        file = shutil.copy(without_rows, tmp_path / f"{name}.db")
        return f"sqlite:///{file}"

    return call


Make = Callable[[str], str]


def claim(url: str, *texts: str) -> None:
    with open_store(url) as store:
        for words in texts:
            store.add_claim(claim_id="fork", title=words, text=words, digest=sha256(words.encode()), added_ns=NOW)


def run(url: str, row: RunRow = RUN, *, verdict: VerdictRow = VERDICT, delivered: int = 1000) -> None:
    with open_store(url) as store:
        store.save_run(
            row,
            exchanges=[ExchangeRow(2, "code", "cut"), ExchangeRow(1, "code", "ok", delivered=delivered, decode_rate=1)],
            ledgers=[LedgerRow("code", DOCUMENT, delivered=delivered)],
            findings=[FindingRow("identity", "holds", "N is what it must be"), FindingRow("identity", "error", "?")],
            verdict=verdict,
            artefacts=[ArtefactRow("wire.log", "a" * 64, 2**40)],
            servers=[ServerRow("subject", "http://me:pass@gpu/?key=sk#x", "vllm", None, row.started_ns)],
        )


def amend(url: str, *rows: AmendmentRow) -> None:
    with open_store(url) as store:
        store.save_amendments("run-1", rows)


def fill(url: str) -> None:
    claim(url, "one", "two", "one")
    for number, name in enumerate(IDS):
        run(url, replace(RUN, run_id=name, started_ns=NOW + number))
    run(url, verdict=replace(VERDICT, digest="d2"))
    amend(url, REPLY, replace(REPLY, seq=2, digest="e2"))
    with open_store(url) as store:
        store.save_import(IMPORT)


def export(url: str, path: Path) -> str:
    return sha256(export_database(locate(url), path).line())


def refused(url: str, path: Path) -> str:
    before = digest(url, path.parent)
    with pytest.raises(UsageError) as caught:
        import_database(locate(url), path, skip_conflicts=True)
    assert digest(url, path.parent) == before
    assert "\n" not in str(caught.value)
    return str(caught.value)


def digest(url: str, folder: Path) -> str:
    """Of all rows."""
    path = folder / "to-compare.jsonl"
    found = export(url, path)
    path.unlink()
    return found


def take(url: str, path: Path, *, skip: bool = False) -> Any:
    return import_database(locate(url), path, skip_conflicts=skip)


def test_every_table_is_moved() -> None:
    own = {"claims", "claim_revisions", "servers", "imports", "runs"}
    assert own | {*DERIVED_TABLES} | {*HISTORIES} == set(TABLES) == set(Base.metadata.tables)


@pytest.mark.postgresql
@pytest.mark.parametrize("suffix", ["", ".jsonl"])
def test_from_sqlite_to_postgresql_and_back_gives_the_same_bytes(
    make: Make, postgresql_url: str, tmp_path: Path, suffix: str
) -> None:
    first, last = make("first"), make("last")
    upgrade(locate(postgresql_url))
    fill(first)
    paths = [tmp_path / f"{name}{suffix}" for name in ("a", "b", "c")]
    export(first, paths[0])
    for source, (before, after) in zip((postgresql_url, last), (paths[:2], paths[1:]), strict=True):
        merged = take(source, before)
        assert merged.present.total() == 0
        export(source, after)
        again = take(source, before)
        assert (again.added.total(), again.conflicts) == (0, [])
    files = [[(one.name, one.read_bytes()) for one in contents(path)] for path in paths]
    assert [data for _, data in files[0]] == [data for _, data in files[1]] == [data for _, data in files[2]]
    assert {name for name in TABLES if merged.added[name]} == set(TABLES)
    with open_store(last) as store:
        assert store.claim_text("fork") == "one"
        assert {one.run_id for one in store.runs()} == set(IDS)
        assert store.imports() == [IMPORT]


def contents(path: Path) -> list[Path]:
    return sorted(path.iterdir()) if path.is_dir() else [path]


def test_one_file_holds_the_bytes_of_the_folder(make: Make, tmp_path: Path) -> None:
    url = make("one")
    fill(url)
    assert export(url, tmp_path / "folder") == export(url, tmp_path / "whole.jsonl")
    names = ["database.json", *(f"{name}.jsonl" for name in TABLES)]
    whole = b"".join((tmp_path / "folder" / name).read_bytes() for name in names)
    assert whole == (tmp_path / "whole.jsonl").read_bytes()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["folder", "one.db", "whole.jsonl"]


def test_nothing_is_written_over(make: Make, tmp_path: Path) -> None:
    url = make("one")
    (tmp_path / "empty").mkdir()
    export(url, tmp_path / "empty")
    (tmp_path / "there.jsonl").write_text("mine")
    (tmp_path / "away").symlink_to(tmp_path / "nowhere")
    for name in ("empty", "there.jsonl", "away"):
        with pytest.raises(UsageError, match="is there already; name another"):
            export(url, tmp_path / name)
    with pytest.raises(UsageError, match=r"cannot be written \(No such file or directory\)"):
        export(url, tmp_path / "no" / "folder")
    assert (tmp_path / "there.jsonl").read_text() == "mine"


def test_a_number_that_json_has_not_is_said(make: Make, tmp_path: Path) -> None:
    url = make("one")
    fill(url)
    with make_engine(locate(url)).begin() as connection:
        connection.execute(text("UPDATE exchanges SET decode_rate = 9e999 WHERE exchange = 1"))
    with pytest.raises(DatabaseError, match="table exchanges: holds NaN or infinity"):
        export(url, tmp_path / "out")
    assert [one.name for one in tmp_path.iterdir()] == ["one.db"]


def test_two_reviewers_meet(database_url: str, make: Make, tmp_path: Path) -> None:
    """Revisions meet by digest and are numbered anew, and a run keeps the text that it was made for."""
    other = make("other")
    claim(database_url, "one", "mine")
    run(database_url, replace(RUN, claim_revision=2))
    claim(other, "yours", "one")
    run(other, replace(RUN, run_id="run-2", started_ns=NOW - 1))
    run(other, replace(RUN, run_id="run-3", claim_revision=2))
    export(other, tmp_path / "out")
    merged = take(database_url, tmp_path / "out")
    assert merged.renumbered == ["revision 1 of claim fork is 3 here", "revision 2 of claim fork is 1 here"]
    assert (merged.added["runs"], merged.present["claim_revisions"], merged.conflicts) == (2, 1, [])
    with open_store(database_url) as store:
        texts = {one.run_id: store.claim_text("fork", one.claim_revision) for one in store.runs()}
        assert store.claim_text("fork") == "mine"
    assert texts == {"run-1": "mine", "run-2": "yours", "run-3": "one"}
    with make_engine(locate(database_url)).connect() as connection:
        seen = connection.execute(text("SELECT first_seen_ns, last_seen_ns FROM servers")).one()
    assert tuple(seen) == (NOW - 1, NOW)
    before = digest(database_url, tmp_path)
    assert take(database_url, tmp_path / "out").added.total() == 0
    assert digest(database_url, tmp_path) == before


def test_later_verdicts_and_amendments_are_appended_and_earlier_ones_change_nothing(make: Make, tmp_path: Path) -> None:
    old, new = make("old"), make("new")
    for url in (old, new):
        claim(url, "one")
        run(url)
        amend(url, REPLY)
    export(old, tmp_path / "old")
    run(new, replace(RUN, folder="elsewhere"), verdict=replace(VERDICT, digest="d2"), delivered=999)
    amend(new, REPLY, replace(REPLY, seq=2, kind="withdrawal", digest="e2"))
    export(new, tmp_path / "new")
    before = digest(new, tmp_path)
    assert take(new, tmp_path / "old").added.total() == 0
    assert digest(new, tmp_path) == before
    merged = take(old, tmp_path / "new")
    assert merged.extended == ["run-1"]
    assert merged.added == {"verdicts": 1, "amendments": 1}
    assert digest(old, tmp_path) == before


def otherwise(what: str) -> Callable[[str], None]:
    """Makes the database say something else of what `fill` stores."""

    def of_verdict(url: str) -> None:
        claim(url, "one")
        run(url, verdict=replace(VERDICT, digest="other"))

    def of_plan(url: str) -> None:
        claim(url, "one")
        run(url, replace(RUN, plan_digest="q" * 64))

    def of_rows(url: str) -> None:
        claim(url, "one")
        run(url, delivered=1)
        run(url, verdict=replace(VERDICT, digest="d2"), delivered=1)

    def of_amendment(url: str) -> None:
        claim(url, "one")
        run(url)
        amend(url, replace(REPLY, digest="other"))

    def of_import(url: str) -> None:
        with open_store(url) as store:
            store.save_import(replace(IMPORT, bytes=8))

    found: dict[str, Callable[[str], None]] = {
        "run run-1: its verdicts here and in the files part": of_verdict,
        "run run-1: the database holds another run with this id, of claim fork": of_plan,
        "run run-1: the same verdicts, but the database has other exchanges, ledgers": of_rows,
        "run run-1: its amendments here and in the files part": of_amendment,
        "import reports/i: the database has another bytes": of_import,
    }
    return found[what]


@pytest.mark.parametrize(
    "words",
    [
        "run run-1: its verdicts here and in the files part",
        "run run-1: the database holds another run with this id, of claim fork",
        "run run-1: the same verdicts, but the database has other exchanges, ledgers",
        "run run-1: its amendments here and in the files part",
        "import reports/i: the database has another bytes",
    ],
)
def test_conflict_is_said_and_nothing_is_written_over(make: Make, tmp_path: Path, words: str) -> None:
    source, target = make("source"), make("target")
    fill(source)
    export(source, tmp_path / "out")
    otherwise(words)(target)
    before = digest(target, tmp_path)
    assert take(target, tmp_path / "out").conflicts == [words]
    assert digest(target, tmp_path) == before
    assert take(target, tmp_path / "out", skip=True).conflicts == [words]
    with open_store(target) as store:
        assert {one.run_id for one in store.runs()} == set(IDS)
    again = take(target, tmp_path / "out", skip=True)
    assert (again.added.total(), again.conflicts) == (0, [words])


@pytest.fixture
def written(make: Make, tmp_path: Path) -> Path:
    """An export of a filled database."""
    fill(make("source"))
    export(f"sqlite:///{tmp_path / 'source.db'}", tmp_path / "out")
    return tmp_path / "out"


def rewrite(folder: Path, table: str, change: Callable[[list[Any]], list[Any]]) -> None:
    """Change the rows of a table and make the digests right again, as a forger would."""
    file, first = folder / f"{table}.jsonl", folder / "database.json"
    rows = change([json.loads(line) for line in file.read_bytes().splitlines()])
    data = b"".join(
        row if isinstance(row, bytes) else json.dumps(row, sort_keys=True, separators=(",", ":")).encode() + b"\n"
        for row in rows
    )
    file.write_bytes(data)
    manifest = json.loads(first.read_bytes())
    manifest["tables"][table] = {"rows": len(rows), "bytes": len(data), "sha256": sha256(data)}
    first.write_bytes(json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode() + b"\n")


def first_with(**values: Any) -> Callable[[list[Any]], list[Any]]:
    return lambda rows: [{**rows[0], **values}, *rows[1:]]


NOT_OURS = "is no line that this tool writes"


@pytest.mark.parametrize(
    ("table", "change", "words"),
    [
        ("runs", first_with(extra=1), "runs.jsonl:1: has other columns than runs: extra"),
        ("runs", first_with(started_ns=2**63), "runs.jsonl:1: started_ns is nothing that the table runs holds"),
        ("runs", first_with(started_ns=True), "started_ns is nothing"),
        ("runs", first_with(quick=1), "quick is nothing"),
        ("runs", first_with(folder=None), "folder is nothing"),
        ("runs", first_with(folder="a\0b"), "folder is nothing"),
        ("runs", first_with(folder="\ud800"), "folder is nothing"),
        ("runs", first_with(status="x" * 51), "status is nothing"),
        ("runs", first_with(run_id="R\x1b[31m"), "run_id is nothing"),
        ("runs", first_with(claim_revision=9), "its revision of its claim is not in the files"),
        ("verdicts", first_with(document=[]), "document is nothing"),
        ("verdicts", first_with(document=json.loads('{"a":' * 900 + "1" + "}" * 900)), "document is nothing"),
        ("verdicts", first_with(delivered=1), "delivered is nothing"),
        ("exchanges", first_with(decode_rate=float("inf")), NOT_OURS),
        ("exchanges", first_with(decode_rate=float("nan")), NOT_OURS),
        ("exchanges", first_with(run_id="A"), "exchanges holds a row of a run_id that is not in the files"),
        ("exchanges", lambda rows: rows[::-1], "exchanges.jsonl:2: a row of exchanges is there twice or out of order"),
        ("exchanges", lambda rows: [rows[0], *rows], "a row of exchanges is there twice or out of order"),
        ("servers", first_with(url="http://elsewhere/"), "its id is not the digest of address, kind and version"),
        ("claims", first_with(current=9), "claim fork: its current revision is not in the files"),
        ("imports", lambda rows: [b'{"a":1,"a":1}\n'], NOT_OURS),
        ("imports", lambda rows: [b"[" * 100_000 + b"\n"], NOT_OURS),
        ("imports", lambda rows: [b"9" * 5000 + b"\n"], NOT_OURS),
        ("imports", lambda rows: [b"\xff\n"], NOT_OURS),
        ("imports", lambda rows: [b"null\n"], NOT_OURS),
        ("imports", lambda rows: [b"{} \n"], NOT_OURS),
    ],
)
def test_forged_rows_are_refused(
    make: Make, written: Path, table: str, change: Callable[[list[Any]], list[Any]], words: str
) -> None:
    rewrite(written, table, change)
    assert words in refused(make("target"), written)


def test_changed_or_cut_files_are_refused(make: Make, written: Path) -> None:
    target, file = make("target"), written / "findings.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"what it must be", b"what it MUST be", 1))
    assert "findings.jsonl: the rows of findings are not those that were exported" in refused(target, written)
    file.write_bytes(whole[:-1])
    assert "findings.jsonl: is cut off, longer than it was, or missing" in refused(target, written)
    file.unlink()
    assert "is cut off, longer than it was, or missing" in refused(target, written)
    file.symlink_to("/dev/zero")
    assert "is cut off, longer than it was, or missing" in refused(target, written)
    file.unlink()
    os.mkfifo(file)
    assert "is cut off, longer than it was, or missing" in refused(target, written)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"audit_database": 2}, "is no export of a database that this version reads"),
        ({"revision": "9999"}, f"was written at revision 9999, this version knows none after {REVISION}; upgrade"),
        ({"revision": "0001"}, "names other tables than revision 0001 has"),
        ({"revision": "../../x"}, "is no export"),
        ({"tables": {}}, "names other tables than revision"),
        ({"more": 1}, "is no export"),
    ],
)
def test_other_first_lines_are_refused(make: Make, written: Path, change: dict[str, Any], words: str) -> None:
    first = written / "database.json"
    manifest = {**json.loads(first.read_bytes()), **change}
    first.write_text(json.dumps(manifest, sort_keys=True, separators=(",", ":")) + "\n")
    assert words in refused(make("target"), written)


def test_a_first_line_of_other_spelling_is_refused(make: Make, written: Path) -> None:
    first = written / "database.json"
    first.write_bytes(first.read_bytes().replace(b":", b": ", 1))
    assert "its first line is not as this tool writes it" in refused(make("target"), written)


@pytest.mark.parametrize("suffix", ["", ".jsonl"])
def test_files_of_an_earlier_revision_are_brought_to_the_newest(
    make: Make, tmp_path: Path, audit: Callable[..., Any], tomorrow: Path, suffix: str
) -> None:
    fill(make("source"))
    for path in ("older", f"out{suffix}"):
        export(f"sqlite:///{tmp_path / 'source.db'}", tmp_path / path)
    done = audit("db", "import", f"out{suffix}", package=tomorrow)
    assert (done.returncode, done.stderr) == (0, "")
    done = audit("db", "export", "newer", package=tomorrow)
    assert (done.returncode, done.stderr) == (0, "")
    for name in TABLES:
        made = [json.loads(line) for line in (tmp_path / "newer" / f"{name}.jsonl").read_bytes().splitlines()]
        assert made
        if name == "runs":
            assert [row.pop("reviewer") for row in made] == [None] * len(made)
        assert made == [json.loads(line) for line in (tmp_path / "older" / f"{name}.jsonl").read_bytes().splitlines()]
    assert "upgrade the auditor" in audit("db", "import", "newer").stderr


def test_any_other_file_is_refused(make: Make, tmp_path: Path) -> None:
    target = make("target")
    (tmp_path / "empty").mkdir()
    for name, data in (("text", b"hello\n"), ("nothing", b""), ("deep", b"[" * 2_000_000), ("binary", os.urandom(99))):
        (tmp_path / name).write_bytes(data)
        assert "is no export of a database that this version reads" in refused(target, tmp_path / name)
    for name in ("empty", "nowhere"):
        assert "there is no such file; name what `audit db export` wrote" in refused(target, tmp_path / name)


def test_the_words_of_the_commands(written: Path, tmp_path: Path, audit: Callable[..., Any]) -> None:
    done = audit("db", "import", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("audit.db: ")
    assert "rows of out added, 0 were there\n  table" in done.stdout
    shutil.copytree(written, tmp_path / "forged")
    rewrite(tmp_path / "forged", "imports", first_with(bytes=8))
    done = audit("db", "import", "forged")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "conflict: import reports/i: the database has another bytes",
        "audit.db: nothing was imported; --skip-conflicts imports the rest",
    ]
    done = audit("db", "import", "forged", "--skip-conflicts", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["imported"], len(found["conflicts"])) == (0, True, 1)
    done = audit("db", "export", "again", "--json")
    assert json.loads(done.stdout)["digest"] == sha256((written / "database.json").read_bytes())
    assert audit("db", "export", "again").returncode == 2
